//! Query routing by a chat model.

use super::choice_parsing::parse_choice;
use crate::error::{Error, ErrorKind, Result};
use crate::model::ChatModel;
use crate::prompt::{PromptTemplate, PromptVariables};
use crate::rag::metering::{meter_discarded_error, prompt_model};
use crate::rag::prompt::{Prompt, hanging_indent};
use crate::rag::{Query, QueryRouter, Route};
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;

/// A query router that lets a chat model choose among routes by their descriptions.
///
/// The prompt lists the numbered descriptions, and the model answers with one or several numbers. The chosen
/// routes are queried in the order in which they were added. The [`RoutingFallback`] applies if the answer is
/// ambiguous, if a number is out of range, or if the model fails. All fallbacks but [`RoutingFallback::Fail`]
/// log a warning with `tracing`.
///
/// # Examples
///
/// ```
/// use ai_services::rag::{
///     DefaultRetrievalAugmentor, LanguageModelQueryRouter, Query, RetrievedContent, Route,
///     RoutingFallback,
/// };
/// # use ai_services::testing::ScriptedChatModel;
///
/// # fn main() -> ai_services::Result<()> {
/// # let model = ScriptedChatModel::replies([""; 0]);
/// # let cats = |_: Query| async { Ok(vec![RetrievedContent::from("Cats sleep a lot.")]) };
/// # let dogs = |_: Query| async { Ok(vec![RetrievedContent::from("Dogs bark.")]) };
/// let router = LanguageModelQueryRouter::builder(model)
///     .route(Route::new(cats), "articles about cats")
///     .route(Route::new(dogs), "articles about dogs")
///     .fallback(RoutingFallback::RouteToAll)
///     .build()?;
/// let augmentor = DefaultRetrievalAugmentor::builder().query_router(router).build()?;
/// # let _ = augmentor;
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// The prompt is worded differently. Punctuation and filler words around the numbers are accepted if the
/// answer is still clear. The order is that of the routes, not of the answer.
#[derive(Clone)]
pub struct LanguageModelQueryRouter {
    model: Arc<dyn ChatModel>,
    prompt: Prompt,
    routes: Vec<(Route, Box<str>)>,
    fallback: RoutingFallback,
}

/// Reaction to a model that fails to choose a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RoutingFallback {
    /// Queries no route: the query has no results.
    #[default]
    DoNotRoute,
    /// Queries all routes.
    RouteToAll,
    /// Fails the call.
    Fail,
}

/// Name of the prompt in errors.
const PROMPT_NAME: &str = "prompt of the query router";

impl LanguageModelQueryRouter {
    /// The built-in prompt, with the variables `options` and `query`.
    pub const DEFAULT_PROMPT: &str = "\
Decide where the answer to a query is to be looked up. These are the options; indented lines continue the one \
above:
{{options}}

The query:
{{query}}

Reply with the number of the option that fits best. If the answer needs several, reply with their numbers, \
separated by commas. Reply with nothing else.";

    /// Starts building a router.
    pub fn builder(model: impl ChatModel + 'static) -> LanguageModelQueryRouterBuilder {
        LanguageModelQueryRouterBuilder(Self {
            model: Arc::new(model),
            prompt: Prompt::BuiltIn(Self::DEFAULT_PROMPT),
            routes: Vec::new(),
            fallback: RoutingFallback::default(),
        })
    }

    /// Lets the model choose the routes.
    async fn choose_routes(&self, query: &Query) -> Result<Vec<Route>> {
        let options = self.routes.iter().zip(1..);
        let options = options
            .map(|((_, description), number)| format!("{number}: {}", hanging_indent(description)));
        let options = options.collect::<Vec<_>>().join("\n");
        let values = PromptVariables::new().with("options", options).with("query", query.text());
        let answer = prompt_model(&*self.model, self.prompt.render(&values)?, query.turn()).await?;
        let Some(choice) = parse_choice(&answer, self.routes.len()) else {
            let options = self.routes.len();
            return Err(Error::new(
                ErrorKind::InvalidResponse,
                format!("the model's choice among the {options} routes of the query is ambiguous"),
            ));
        };
        let routes = self.routes.iter().zip(1..);
        let routes = routes.filter(|(_, number)| choice.contains(number));
        Ok(routes.map(|((route, _), _)| route.clone()).collect())
    }
}

#[async_trait]
impl QueryRouter for LanguageModelQueryRouter {
    async fn route(&self, query: &Query) -> Result<Vec<Route>> {
        let error = match self.choose_routes(query).await {
            Ok(routes) => return Ok(routes),
            Err(error) => error,
        };
        let routes = match self.fallback {
            RoutingFallback::DoNotRoute => Vec::new(),
            RoutingFallback::RouteToAll => {
                self.routes.iter().map(|(route, _)| route.clone()).collect()
            }
            RoutingFallback::Fail => {
                let failed = error.replied(format!("the query could not be routed: {error}"));
                let usage = error.usage().copied().unwrap_or_default();
                return Err(failed.with_usage(usage).with_source(error));
            }
        };
        meter_discarded_error(&error, query.turn());
        let (kind, fallback) = (error.kind(), self.fallback);
        tracing::warn!(?kind, ?fallback, "the model did not route a query; using the fallback");
        Ok(routes)
    }
}

impl fmt::Debug for LanguageModelQueryRouter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LanguageModelQueryRouter")
            .field("model", &self.model.name())
            .field("routes", &self.routes)
            .field("fallback", &self.fallback)
            .finish_non_exhaustive()
    }
}

/// Builds a [`LanguageModelQueryRouter`].
#[derive(Clone, Debug)]
#[must_use]
pub struct LanguageModelQueryRouterBuilder(LanguageModelQueryRouter);

impl LanguageModelQueryRouterBuilder {
    /// Adds a route. The description is sent to the model and states the kind of texts the route finds.
    pub fn route(mut self, route: Route, description: impl Into<Box<str>>) -> Self {
        self.0.routes.push((route, description.into()));
        self
    }

    /// Sets the prompt. It must contain `{{options}}` and `{{query}}`.
    pub fn prompt_template(mut self, template: PromptTemplate) -> Self {
        self.0.prompt = Prompt::Custom(template);
        self
    }

    /// Sets the reaction to a model that fails to choose. Default: [`RoutingFallback::DoNotRoute`].
    #[doc(alias = "FallbackStrategy")]
    pub fn fallback(mut self, fallback: RoutingFallback) -> Self {
        self.0.fallback = fallback;
        self
    }

    /// Builds the router.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`] without routes, if a route has an empty description, or if the
    /// prompt lacks a variable or has an unknown one.
    pub fn build(self) -> Result<LanguageModelQueryRouter> {
        let router = self.0;
        router.prompt.check(PROMPT_NAME, &["options", "query"], &[])?;
        if router.routes.is_empty() {
            return Err(Error::configuration(
                "the query router has no routes; call `.route(route, description)`",
            ));
        }
        if router.routes.iter().any(|(_, description)| description.trim().is_empty()) {
            return Err(Error::configuration(
                "a route of the query router has an empty description; the model needs it to choose",
            ));
        }
        Ok(router)
    }
}

//! A model decides who is asked.

use super::choice::chosen;
use crate::error::{Error, ErrorKind, Result};
use crate::model::ChatModel;
use crate::prompt::{PromptTemplate, PromptVariables};
use crate::rag::prompt::{Prompt, hanging};
use crate::rag::spending::{ask, write_off};
use crate::rag::{Query, QueryRouter, Route};
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;

/// Has a model choose among routes by their descriptions.
///
/// The model is shown the descriptions, numbered, and answers with one or several numbers. Those routes are
/// asked, in the order in which they were added. An answer that is not clear, a number that no route has, and
/// an error of the model lead to the [`RoutingFallback`]; all but failing is a warning of `tracing`.
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
/// The prompt has other words. Marks and words around the numbers are forgiven if the answer is clear all the
/// same; the order is that of the routes, not of the answer.
#[derive(Clone)]
pub struct LanguageModelQueryRouter {
    model: Arc<dyn ChatModel>,
    prompt: Prompt,
    routes: Vec<(Route, Box<str>)>,
    fallback: RoutingFallback,
}

/// What happens to a query when the model does not say where it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RoutingFallback {
    /// Nobody is asked: nothing is found for it.
    #[default]
    DoNotRoute,
    /// All are asked.
    RouteToAll,
    /// The call fails.
    Fail,
}

/// Whose prompt it is, in errors.
const PROMPT: &str = "prompt of the query router";

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

    /// Starts a router.
    pub fn builder(model: impl ChatModel + 'static) -> LanguageModelQueryRouterBuilder {
        LanguageModelQueryRouterBuilder(Self {
            model: Arc::new(model),
            prompt: Prompt::BuiltIn(Self::DEFAULT_PROMPT),
            routes: Vec::new(),
            fallback: RoutingFallback::default(),
        })
    }

    /// What the model is asked, and what it answers.
    async fn ask(&self, query: &Query) -> Result<Vec<Route>> {
        let options = self.routes.iter().zip(1..);
        let options =
            options.map(|((_, description), number)| format!("{number}: {}", hanging(description)));
        let options = options.collect::<Vec<_>>().join("\n");
        let values = PromptVariables::new().with("options", options).with("query", query.text());
        let answer = ask(&*self.model, self.prompt.render(&values)?, query.turn()).await?;
        let Some(chosen) = chosen(&answer, self.routes.len()) else {
            let options = self.routes.len();
            return Err(Error::new(
                ErrorKind::InvalidResponse,
                format!("the model did not clearly choose among the {options} routes of a query"),
            ));
        };
        let routes = self.routes.iter().zip(1..);
        let routes = routes.filter(|(_, number)| chosen.contains(number));
        Ok(routes.map(|((route, _), _)| route.clone()).collect())
    }
}

#[async_trait]
impl QueryRouter for LanguageModelQueryRouter {
    async fn route(&self, query: &Query) -> Result<Vec<Route>> {
        let error = match self.ask(query).await {
            Ok(routes) => return Ok(routes),
            Err(error) => error,
        };
        let routes = match self.fallback {
            RoutingFallback::DoNotRoute => Vec::new(),
            RoutingFallback::RouteToAll => {
                self.routes.iter().map(|(route, _)| route.clone()).collect()
            }
            RoutingFallback::Fail => {
                let failed = error.replied(format!("a query could not be routed: {error}"));
                let usage = error.usage().copied().unwrap_or_default();
                return Err(failed.with_usage(usage).with_source(error));
            }
        };
        write_off(&error, query.turn());
        let (kind, fallback) = (error.kind(), self.fallback);
        tracing::warn!(?kind, ?fallback, "the model did not route a query");
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
    /// Adds a route, and what the model is told is found there.
    pub fn route(mut self, route: Route, description: impl Into<Box<str>>) -> Self {
        self.0.routes.push((route, description.into()));
        self
    }

    /// Sets the prompt. It must have `{{options}}` and `{{query}}` in it.
    pub fn prompt_template(mut self, template: PromptTemplate) -> Self {
        self.0.prompt = Prompt::Given(template);
        self
    }

    /// Sets what happens to a query when the model does not say where it goes.
    #[doc(alias = "FallbackStrategy")]
    pub fn fallback(mut self, fallback: RoutingFallback) -> Self {
        self.0.fallback = fallback;
        self
    }

    /// The router.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`] if there is no route, if a route has no description, and if the prompt
    /// lacks a variable or has another one.
    pub fn build(self) -> Result<LanguageModelQueryRouter> {
        let router = self.0;
        router.prompt.check(PROMPT, &["options", "query"], &[])?;
        if router.routes.is_empty() {
            return Err(Error::configuration(
                "the query router has no routes; call `.route(route, description)`",
            ));
        }
        if router.routes.iter().any(|(_, description)| description.trim().is_empty()) {
            return Err(Error::configuration(
                "a route of the query router has no description; the model chooses by it",
            ));
        }
        Ok(router)
    }
}

//! Routing requests among models.

use super::started_stream::{flatten, with_model_name};
use crate::error::{Error, Result};
use crate::model::{
    Capabilities, ChatModel, ChatRequest, ChatResponse, ModelEndpoint, ModelStreamEvent,
};
use crate::trace;
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

type RouteFn = dyn Fn(&ChatRequest) -> Cow<'static, str> + Send + Sync;

/// A model that sends each request to the model that a function chooses.
///
/// The function gets the whole request and should be fast. It is called for every request, including the
/// requests between tool calls: to use one model for a whole turn, choose by values that do not change within
/// a turn.
///
/// The [capabilities](ChatModel::capabilities) are those that all models share, unless they are set
/// [explicitly](RouterModelBuilder::capabilities). The answer's [`model`](ChatResponse::model) is the name of
/// the model that answered.
///
/// # Errors
///
/// Returns the errors of the model, and [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if the
/// function chooses an unknown name.
///
/// # Examples
///
/// ```
/// use ai_services::combinators::RouterModel;
/// use ai_services::message::ChatMessage;
/// use ai_services::model::{ChatModel, ChatRequest};
/// use ai_services::testing::ScriptedChatModel;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let model = RouterModel::builder()
///     .model("small", ScriptedChatModel::replies(["I am small."]))
///     .model("large", ScriptedChatModel::replies(["I am large."]))
///     .route(|request: &ChatRequest| match request.message_count() {
///         0..20 => "small",
///         _ => "large",
///     })
///     .build()?;
/// let response = model.chat(&ChatRequest::new([ChatMessage::user("Hi!")])).await?;
/// assert_eq!(response.message.text(), Some("I am small."));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RouterModel(Arc<Inner>);

struct Inner {
    models: Vec<(Box<str>, Arc<dyn ChatModel>)>,
    route: Box<RouteFn>,
    capabilities: Option<Capabilities>,
    name: Box<str>,
}

impl RouterModel {
    /// Starts building a router.
    pub fn builder() -> RouterModelBuilder {
        RouterModelBuilder {
            models: Vec::new(),
            route: None,
            capabilities: None,
            name: "router".into(),
        }
    }

    fn choose(&self, request: &ChatRequest) -> Result<&dyn ChatModel> {
        let chosen = (self.0.route)(request);
        let mut models = self.0.models.iter();
        let found = models.find_map(|(name, model)| (**name == *chosen).then_some(&**model));
        found.ok_or_else(|| {
            let names: Vec<_> = self.names().map(|name| format!("`{name}`")).collect();
            Error::configuration(format!(
                "the route chose the unknown model `{chosen}`; the router has {}",
                names.join(", ")
            ))
        })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.models.iter().map(|(name, _)| &**name)
    }
}

#[async_trait]
impl ChatModel for RouterModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let model = self.choose(request)?;
        let mut response = trace::chat(model, request).await?;
        response.model.get_or_insert_with(|| model.name().into());
        Ok(response)
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        flatten(async move {
            let model = self.choose(request)?;
            Ok(with_model_name(trace::stream(model, request), model.name()))
        })
    }

    fn capabilities(&self) -> Capabilities {
        let all = || {
            let all = self.0.models.iter().map(|(_, model)| model.capabilities());
            all.reduce(Capabilities::intersection).unwrap_or_default()
        };
        self.0.capabilities.unwrap_or_else(all)
    }

    fn name(&self) -> &str {
        &self.0.name
    }

    fn endpoint(&self) -> ModelEndpoint<'_> {
        let first = self.0.models.first();
        first.map(|(_, model)| model.endpoint()).unwrap_or_default().delegating()
    }
}

impl fmt::Debug for RouterModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RouterModel").field(&self.names().collect::<Vec<_>>()).finish()
    }
}

/// Builds a [`RouterModel`].
#[must_use]
pub struct RouterModelBuilder {
    models: Vec<(Box<str>, Arc<dyn ChatModel>)>,
    route: Option<Box<RouteFn>>,
    capabilities: Option<Capabilities>,
    name: Box<str>,
}

impl RouterModelBuilder {
    /// Adds a model with a name for the route.
    pub fn model(mut self, name: impl Into<Box<str>>, model: impl ChatModel + 'static) -> Self {
        self.models.push((name.into(), Arc::new(model)));
        self
    }

    /// Sets the function that chooses a model by name.
    pub fn route<C: Into<Cow<'static, str>>>(
        mut self,
        route: impl Fn(&ChatRequest) -> C + Send + Sync + 'static,
    ) -> Self {
        self.route = Some(Box::new(move |request| route(request).into()));
        self
    }

    /// Sets the capabilities of the router, in place of those that all models share.
    ///
    /// Use this if the route sends requests only to models with the necessary capabilities.
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// Sets the name for traces. Default: `router`.
    pub fn name(mut self, name: impl Into<Box<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Builds the model.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) without a model or without a
    /// route, or if two models have the same name.
    pub fn build(self) -> Result<RouterModel> {
        let Self { models, route, capabilities, name } = self;
        if models.is_empty() {
            return Err(Error::configuration("the router has no models; call `.model(...)`"));
        }
        let route = route
            .ok_or_else(|| Error::configuration("the router has no route; call `.route(...)`"))?;
        let mut seen = HashSet::new();
        if let Some((twice, _)) = models.iter().find(|(name, _)| !seen.insert(&**name)) {
            return Err(Error::configuration(format!("the router has two models named `{twice}`")));
        }
        Ok(RouterModel(Arc::new(Inner { models, route, capabilities, name })))
    }
}

impl fmt::Debug for RouterModelBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.models.iter().map(|(name, _)| name).collect();
        f.debug_struct("RouterModelBuilder").field("models", &names).finish_non_exhaustive()
    }
}

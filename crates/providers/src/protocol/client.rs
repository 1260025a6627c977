//! The chat client of all protocols.
//!
//! A [`Client`] checks a request against the capabilities of its model, encodes the request, sends it,
//! and reads the answer whole or as a stream. A [`Protocol`] supplies the parts that differ between
//! providers: the endpoint, the body of a request, and the [`Assembly`] that reads answers.

use super::request_prefix::{Delivery, RequestPrefixes};
use super::stream::{Assembly, assemble};
use crate::http::Endpoint;
use ai_services_core::model::{
    Capabilities, Capability, ChatModel, ChatRequest, ChatRequestParameters, ChatResponse,
    ModelEndpoint, ModelStreamEvent, in_one_piece, report_body,
};
use ai_services_core::{Error, Result, boxed};
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use std::borrow::Cow;
use std::fmt;
use std::future;
use std::sync::Arc;

/// A chat protocol at one server.
pub(crate) trait Protocol: Send + Sync + 'static {
    /// The encoded parameters of a request. Shared by all requests with the same parameters.
    type Prefix: Send + Sync;

    /// The reader of answers, whole and streamed.
    type Assembly: Assembly;

    /// The name of the provider in OpenTelemetry's conventions. A compatible server has the same name.
    const PROVIDER: &'static str;

    /// Returns the capabilities that a request is checked against, given those of the model.
    ///
    /// A protocol adds the kinds of content that it lacks: encoding such a message fails with an
    /// error that names the provider's limits.
    fn checked_capabilities(model: Capabilities) -> Capabilities {
        model
    }

    /// Fails if the protocol lacks one of the parameters. The request wins over `defaults`.
    fn check_parameters(
        _request: &ChatRequestParameters,
        _defaults: &ChatRequestParameters,
    ) -> Result<()> {
        Ok(())
    }

    /// Returns the endpoint for whole answers of the client's model.
    fn endpoint(&self) -> &Endpoint;

    /// Returns the endpoint of a request. `model` is the model that the request names, if any. The
    /// default is [`endpoint`](Self::endpoint) for all requests.
    fn endpoint_of(&self, _model: Option<&str>, _delivery: Delivery) -> Result<Cow<'_, Endpoint>> {
        Ok(Cow::Borrowed(self.endpoint()))
    }

    /// Encodes parameters. `model` is the model of parameters that name none.
    fn prefix(
        &self,
        parameters: &ChatRequestParameters,
        model: &str,
        delivery: Delivery,
    ) -> Self::Prefix;

    /// Returns the body of a request: the prefix, the messages and the tools.
    fn body(&self, request: &ChatRequest, prefix: &Self::Prefix) -> Result<Vec<u8>>;

    /// Adds advice to the error of a request for `model`. The default adds none.
    fn advise(&self, _model: &str, error: Error) -> impl Future<Output = Error> + Send {
        future::ready(error)
    }

    /// Adds advice to the error of a stream. The default adds none.
    fn advise_stream<'a>(
        &'a self,
        _model: &'a str,
        events: BoxStream<'a, Result<ModelStreamEvent>>,
    ) -> BoxStream<'a, Result<ModelStreamEvent>> {
        events
    }
}

/// A chat model behind a server. Clones share connections and settings.
pub(crate) struct Client<P: Protocol>(Arc<Inner<P>>);

struct Inner<P: Protocol> {
    protocol: P,
    prefixes: RequestPrefixes<P::Prefix>,
    model: Box<str>,
    capabilities: Capabilities,
}

impl<P: Protocol> Client<P> {
    /// Creates a client for `model`, whose requests have these parameters unless they set others.
    pub(crate) fn new(
        protocol: P,
        model: Box<str>,
        parameters: ChatRequestParameters,
        capabilities: Capabilities,
    ) -> Self {
        let prefixes = RequestPrefixes::new(parameters, |parameters, delivery| {
            protocol.prefix(parameters, &model, delivery)
        });
        Self(Arc::new(Inner { protocol, prefixes, model, capabilities }))
    }

    /// Returns the protocol.
    pub(crate) fn protocol(&self) -> &P {
        &self.0.protocol
    }

    /// Formats a public model under its own name.
    pub(crate) fn fmt_as(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("model", &self.0.model)
            .field("endpoint", self.0.protocol.endpoint())
            .finish_non_exhaustive()
    }
}

impl<P: Protocol> Inner<P> {
    /// Returns the endpoint and the body of a request.
    fn prepare(
        &self,
        request: &ChatRequest,
        delivery: Delivery,
    ) -> Result<(Cow<'_, Endpoint>, Vec<u8>)> {
        let defaults = self.prefixes.defaults();
        let capabilities = P::checked_capabilities(self.capabilities);
        capabilities.check(request, defaults, self.model_of(request))?;
        P::check_parameters(request.parameters(), defaults)?;
        let endpoint =
            self.protocol.endpoint_of(request.parameters().model.as_deref(), delivery)?;
        let prefix = self.prefixes.of(request, delivery, |parameters| {
            self.protocol.prefix(parameters, &self.model, delivery)
        });
        let body = self.protocol.body(request, &prefix)?;
        report_body(&body);
        Ok((endpoint, body))
    }

    /// Returns the model of a request, or the default model of the client.
    fn model_of<'a>(&'a self, request: &'a ChatRequest) -> &'a str {
        request.parameters().model.as_deref().unwrap_or(&self.model)
    }

    /// Sends a request and reads the whole answer.
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let (endpoint, body) = self.prepare(request, Delivery::Whole)?;
        match endpoint.post(body).await {
            Ok(answer) => P::Assembly::read_whole(&answer),
            Err(error) => Err(self.protocol.advise(self.model_of(request), error).await),
        }
    }
}

#[async_trait]
impl<P: Protocol> ChatModel for Client<P> {
    fn chat<'a, 'b, 'future>(
        &'a self,
        request: &'b ChatRequest,
    ) -> BoxFuture<'future, Result<ChatResponse>>
    where
        'a: 'future,
        'b: 'future,
        Self: 'future,
    {
        // The future of an exchange is large, and an `async fn` would copy it.
        boxed(|| self.0.chat(request))
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        let inner = &*self.0;
        if !inner.capabilities.contains(Capability::Streaming) {
            return in_one_piece(self, request);
        }
        match inner.prepare(request, Delivery::Stream) {
            Ok((endpoint, body)) => {
                let events = assemble(endpoint.into_owned(), body, P::Assembly::new());
                inner.protocol.advise_stream(inner.model_of(request), events)
            }
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities
    }

    fn name(&self) -> &str {
        &self.0.model
    }

    fn endpoint(&self) -> ModelEndpoint<'_> {
        self.0.protocol.endpoint().of_provider(P::PROVIDER)
    }
}

impl<P: Protocol> Clone for Client<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Implements the constructors and traits of a public chat model, which is a tuple of its
/// [`Client`].
///
/// The boxed future of the client is returned unchanged, so that a call allocates one future.
macro_rules! chat_model {
    (
        $Model:ident, built by $Builder:ident;

        $(#[$from_env:meta])*
        from_env
    ) => {
        impl $Model {
            /// Starts a builder.
            pub fn builder() -> $Builder {
                $Builder::default()
            }

            $(#[$from_env])*
            pub fn from_env() -> ai_services_core::Result<Self> {
                $Builder::from_env($crate::protocol::connection::environment)
            }
        }

        impl ai_services_core::model::ChatModel for $Model {
            fn chat<'a, 'b, 'future>(
                &'a self,
                request: &'b ai_services_core::model::ChatRequest,
            ) -> futures_util::future::BoxFuture<
                'future,
                ai_services_core::Result<ai_services_core::model::ChatResponse>,
            >
            where
                'a: 'future,
                'b: 'future,
                Self: 'future,
            {
                ai_services_core::model::ChatModel::chat(&self.0, request)
            }

            fn stream<'a>(
                &'a self,
                request: &'a ai_services_core::model::ChatRequest,
            ) -> futures_util::stream::BoxStream<
                'a,
                ai_services_core::Result<ai_services_core::model::ModelStreamEvent>,
            > {
                ai_services_core::model::ChatModel::stream(&self.0, request)
            }

            fn capabilities(&self) -> ai_services_core::model::Capabilities {
                ai_services_core::model::ChatModel::capabilities(&self.0)
            }

            fn name(&self) -> &str {
                ai_services_core::model::ChatModel::name(&self.0)
            }

            fn endpoint(&self) -> ai_services_core::model::ModelEndpoint<'_> {
                ai_services_core::model::ChatModel::endpoint(&self.0)
            }
        }

        impl std::fmt::Debug for $Model {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt_as(stringify!($Model), f)
            }
        }
    };
}

pub(crate) use chat_model;

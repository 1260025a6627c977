//! Ollama's own protocol: chats, embeddings, and the models that a server has.
//!
//! It can do what the protocol that Ollama shares with OpenAI cannot: set the length of the context,
//! say how long a model stays in memory, switch thinking on and off, and list models.
//!
//! # What is sent
//!
//! | message | becomes |
//! |---|---|
//! | system | `role: system` |
//! | user | `role: user` with its texts, one below the other, and its images (base64) beside them; the protocol has no place for a name |
//! | assistant | `role: assistant` with content, `tool_calls`, whose arguments become `{}` if they are no JSON object, and `thinking` as far as [`thinking_replay`](OllamaChatModelBuilder::thinking_replay) says; a refusal only where there is nothing else |
//! | tool result | `role: tool` with `tool_name` and the id of its call, its texts, and its images beside them; there is no mark for errors, so an error is sent as its text |
//! | custom | its attributes as they are |
//!
//! What the protocol cannot carry (images behind URLs, recordings, videos, PDF documents) is
//! [`ErrorKind::Unsupported`](ai_services_core::ErrorKind::Unsupported) before anything is sent.
//!
//! There is no tool choice in the protocol. A schema binds every token that the model writes, so that
//! it could not call tools beside it: both are missing in the
//! [capabilities](OllamaChatModelBuilder::capabilities). The server ignores parameters that a model
//! does not know, and cuts conversations that are longer than
//! [`context_length`](OllamaChatModelBuilder::context_length) without a word.
//!
//! # Streams
//!
//! JSON documents, one a line. Text and thinking are handed over as they come, tool calls whole. A
//! stream is complete when the server says that it is `done`; an answer that just ends, a connection
//! that breaks, an error of the server in the middle, more than 128 tool calls are errors. They keep the
//! usage known so far, and a [`PartialAnswer`](ai_services_core::model::PartialAnswer) with what had come. Dropping
//! a stream closes its connection, which stops the model.
//!
//! # Failures
//!
//! An error because no server answers says how to start one; an error because there is no such model
//! says how to fetch it, and which models there are. A model that has to be loaded first may be silent
//! for minutes, which the default limits allow. Retries are as everywhere in
//! [`providers`](crate).

mod answer;
mod assembly;
mod builder;
mod embedding;
mod hint;
mod host;
mod message;
mod models;
mod options;
mod parameters;
mod request;
mod server;

pub use crate::ThinkingReplay;
pub use builder::OllamaChatModelBuilder;
pub use embedding::{LongTexts, OllamaEmbeddingModel, OllamaEmbeddingModelBuilder};
pub use models::{OllamaModel, OllamaModelDetails};
pub use options::{KeepAlive, Think};
pub use server::{OllamaServer, OllamaServerBuilder};

use crate::http::Endpoint;
use crate::protocol::frames::{Delivery, Frames};
use crate::protocol::stream::ask_for_stream;
use ai_services_core::Result;
use ai_services_core::model::{
    Capabilities, Capability, ChatModel, ChatRequest, ChatResponse, ModelStreamEvent, in_one_piece,
};
use assembly::OllamaAssembly;
use async_trait::async_trait;
use futures_util::stream::{BoxStream, StreamExt};
use options::Options;
use parameters::Frame;
use std::fmt;
use std::sync::Arc;

/// A chat model behind an Ollama server.
///
/// Clones share connections and settings. Answers come whole with [`chat`](ChatModel::chat), and as
/// they are written with [`stream`](ChatModel::stream).
///
/// # Examples
///
/// ```no_run
/// use ai_services::message::ChatMessage;
/// use ai_services::model::{ChatModel, ChatRequest};
/// use ai_services::providers::ollama::OllamaChatModel;
///
/// # async fn run() -> ai_services::Result<()> {
/// let model = OllamaChatModel::builder().model("llama3.2").build()?;
/// let answer = model.chat(&ChatRequest::new([ChatMessage::user("Hello!")])).await?;
/// println!("{}", answer.message.text().unwrap_or_default());
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// Failed requests are retried with growing pauses. The server is found as Ollama's own client finds
/// it, and errors say what to do if it is not there. Results of tools carry their images and ids.
#[derive(Clone)]
pub struct OllamaChatModel(Arc<Inner>);

struct Inner {
    server: OllamaServer,
    endpoint: Endpoint,
    options: Options,
    frames: Frames<Frame>,
    model: Box<str>,
    capabilities: Capabilities,
}

impl OllamaChatModel {
    /// Starts a model.
    pub fn builder() -> OllamaChatModelBuilder {
        OllamaChatModelBuilder::default()
    }

    /// A model as the environment describes it.
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `OLLAMA_MODEL` | the model, for example `llama3.2` |
    /// | `OLLAMA_HOST`, `OLLAMA_API_KEY` | the server, as in [`OllamaServer::from_env`] |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if a variable is missing or
    /// wrong; the message names it.
    pub fn from_env() -> Result<Self> {
        OllamaChatModelBuilder::from_env(|name| std::env::var(name).ok())
    }

    /// The server that is asked.
    #[must_use]
    pub fn server(&self) -> OllamaServer {
        self.0.server.clone()
    }

    /// The same model, said to be able to do this. Only for one that nobody shares yet.
    fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.capabilities = capabilities;
        }
        self
    }
}

/// All events of a streamed answer whose bytes are there already, split like this.
#[cfg(feature = "_fuzzing")]
pub(crate) fn read_pieces(
    pieces: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<Result<ModelStreamEvent>> {
    crate::protocol::stream::read_pieces(OllamaAssembly::default(), pieces)
}

impl Inner {
    fn body(&self, request: &ChatRequest, delivery: Delivery) -> Result<Vec<u8>> {
        self.capabilities.check(request, self.frames.defaults(), self.name(request))?;
        let frame = self.frames.of(request, delivery, |parameters| {
            Frame::new(parameters, &self.model, &self.options, delivery)
        });
        request::body(request, &frame, self.options.replay())
    }

    /// The model that a request is for.
    fn name<'a>(&'a self, request: &'a ChatRequest) -> &'a str {
        let own = request.parameters().model.as_deref();
        own.or(self.frames.defaults().model.as_deref()).unwrap_or(&self.model)
    }
}

#[async_trait]
impl ChatModel for OllamaChatModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let inner = &*self.0;
        match inner.endpoint.post(inner.body(request, Delivery::Whole)?).await {
            Ok(answer) => answer::read(&answer),
            Err(error) => Err(hint::explain(&inner.server, inner.name(request), error).await),
        }
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        let inner = &*self.0;
        if !inner.capabilities.include(Capability::Streaming) {
            return in_one_piece(self, request);
        }
        let body = inner.body(request, Delivery::Stream);
        let answer = ask_for_stream(&inner.endpoint, body, OllamaAssembly::new());
        let explain = move |event| async move {
            match event {
                Ok(event) => Ok(event),
                // Boxed, because it is rare and large.
                Err(error) => {
                    Err(Box::pin(hint::explain(&inner.server, inner.name(request), error)).await)
                }
            }
        };
        answer.then(explain).boxed()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities
    }

    fn name(&self) -> &str {
        &self.0.model
    }
}

impl fmt::Debug for OllamaChatModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OllamaChatModel")
            .field("model", &self.0.model)
            .field("endpoint", &self.0.endpoint)
            .finish_non_exhaustive()
    }
}

/// What most models can do. A schema binds all that the model writes, so that it cannot call tools
/// beside it; and it cannot be made to call one, or none.
fn default_capabilities() -> Capabilities {
    Capabilities::of([
        Capability::Tools,
        Capability::JsonSchema,
        Capability::JsonObject,
        Capability::Streaming,
        Capability::Images,
    ])
}

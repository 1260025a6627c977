//! Clients of Ollama's own API: chats, embeddings, and the models of a server.
//!
//! Ollama also implements OpenAI's API. Its own API additionally sets the length of the context and how
//! long a model stays loaded, turns thinking on and off, and lists models.
//!
//! # Requests
//!
//! | message | encoding |
//! |---|---|
//! | system | `role: system` |
//! | user | `role: user` with its texts, joined by line breaks, and its images (base64); names are not sent, because the API has none |
//! | assistant | `role: assistant` with content, `tool_calls`, whose arguments become `{}` if they are not a JSON object, and `thinking` depending on [`thinking_replay`](OllamaChatModelBuilder::thinking_replay); a refusal only if there is no other content |
//! | tool result | `role: tool` with `tool_name`, the id of the call, the texts and the images; the API has no error flag, so an error is sent as text |
//! | custom | its attributes unchanged |
//!
//! Images behind URLs, recordings, videos and PDF documents fail with
//! [`ErrorKind::Unsupported`](ai_services_core::ErrorKind::Unsupported) before anything is sent.
//!
//! The API has no tool choice. A schema constrains every token of the answer, so that a model with a
//! schema cannot call tools. Both are missing from the default
//! [capabilities](OllamaChatModelBuilder::capabilities). The server ignores unknown parameters, and
//! silently truncates conversations beyond
//! [`context_length`](OllamaChatModelBuilder::context_length).
//!
//! # Streams
//!
//! A stream consists of JSON documents, one per line. Text and thinking are delivered as they arrive,
//! tool calls whole. A stream is complete once a document has `done`. It fails if the answer ends early,
//! the connection breaks, the server reports an error, or the answer has more than 128 tool calls. The
//! error has the usage known so far and the received part of the answer as a
//! [`PartialAnswer`](ai_services_core::model::PartialAnswer). Dropping a stream closes its connection,
//! which stops the model.
//!
//! # Failures
//!
//! If no server answers, the error explains how to start one. If the model is missing, the error
//! explains how to pull it and lists the models of the server. Loading a model can take minutes, which
//! the default limits allow. Retries are described in [`providers`](crate).

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
pub use embedding::{OllamaEmbeddingModel, OllamaEmbeddingModelBuilder, OllamaTruncation};
pub use models::{OllamaModel, OllamaModelDetails};
pub use options::{KeepAlive, Think};
pub use server::{OllamaServer, OllamaServerBuilder};

use crate::http::Endpoint;
use crate::protocol::client::{Client, Protocol, chat_model};
use crate::protocol::request_body::ListPrefix;
use crate::protocol::request_prefix::Delivery;
#[cfg(doc)]
use ai_services_core::model::ChatModel;
use ai_services_core::model::{
    Capabilities, Capability, ChatRequest, ChatRequestParameters, ModelStreamEvent,
};
use ai_services_core::{Error, Result};
use assembly::OllamaAssembly;
use futures_util::stream::{BoxStream, StreamExt};
use options::Options;

/// A chat model behind an Ollama server.
///
/// Clones share connections and settings. [`chat`](ChatModel::chat) returns whole answers,
/// [`stream`](ChatModel::stream) delivers them as they are written.
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
/// Failed requests are retried with an exponential back-off. The server is located as by Ollama's own
/// client, and errors explain how to start it. Results of tools are sent with their images and ids.
#[derive(Clone)]
pub struct OllamaChatModel(Client<Chat>);

chat_model! {
    OllamaChatModel, built by OllamaChatModelBuilder;

    /// Creates a model from environment variables.
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `OLLAMA_MODEL` | the model, for example `llama3.2` |
    /// | `OLLAMA_HOST`, `OLLAMA_API_KEY` | the server, as in [`OllamaServer::from_env`] |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if a variable is missing
    /// or invalid; the message names the variable.
    from_env
}

impl OllamaChatModel {
    /// Returns the server of the model.
    #[must_use]
    pub fn server(&self) -> OllamaServer {
        self.0.protocol().server.clone()
    }
}

/// The chat API at one server.
struct Chat {
    server: OllamaServer,
    endpoint: Endpoint,
    options: Options,
}

impl Protocol for Chat {
    type Prefix = ListPrefix;
    type Assembly = OllamaAssembly;

    const PROVIDER: &'static str = "ollama";

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn prefix(
        &self,
        parameters: &ChatRequestParameters,
        model: &str,
        delivery: Delivery,
    ) -> ListPrefix {
        parameters::prefix(parameters, model, &self.options, delivery)
    }

    fn body(&self, request: &ChatRequest, prefix: &ListPrefix) -> Result<Vec<u8>> {
        request::body(request, prefix, self.options.replay())
    }

    async fn advise(&self, model: &str, error: Error) -> Error {
        self.server.explain(model, error).await
    }

    fn advise_stream<'a>(
        &'a self,
        model: &'a str,
        events: BoxStream<'a, Result<ModelStreamEvent>>,
    ) -> BoxStream<'a, Result<ModelStreamEvent>> {
        let advise = move |event| async move {
            match event {
                Ok(event) => Ok(event),
                // Boxed, because the future is large and errors are rare.
                Err(error) => Err(Box::pin(self.advise(model, error)).await),
            }
        };
        events.then(advise).boxed()
    }
}

/// Returns the capabilities of most models. A schema constrains the whole answer, so that a model
/// cannot call tools beside it; the API has no tool choice.
fn default_capabilities() -> Capabilities {
    Capabilities::of([
        Capability::Tools,
        Capability::JsonSchema,
        Capability::JsonObject,
        Capability::Streaming,
        Capability::Images,
    ])
}

/// Returns the events of a streamed answer that is already in memory.
#[cfg(feature = "_fuzzing")]
pub(crate) fn read_pieces(
    pieces: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<Result<ModelStreamEvent>> {
    crate::protocol::stream::read_pieces(OllamaAssembly::default(), pieces)
}

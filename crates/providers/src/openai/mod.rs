//! OpenAI's models, and every server that is compatible with them.
//!
//! | client | API |
//! |---|---|
//! | [`OpenAiChatModel`] | chat completions, which most servers have; this page is about them |
//! | [`OpenAiResponsesModel`] | responses, for models that reason |
//! | [`OpenAiEmbeddingModel`] | embeddings |
//! | [`OpenAiModerationModel`] | moderation |
//!
//! [`OpenAiChatModel`] talks to OpenAI itself and, with
//! [`base_url`](OpenAiChatModelBuilder::base_url), to vLLM, llama.cpp, Ollama
//! (`http://localhost:11434/v1`), Azure, OpenRouter, Groq, Mistral, DeepSeek and others.
//!
//! # What is sent
//!
//! | message | becomes |
//! |---|---|
//! | system | `role: system` |
//! | user | `role: user` with `name`, a text or parts: text, `image_url` (URL or data URL), `input_audio` (base64), `file` (PDF as base64) |
//! | assistant | `role: assistant` with content and `tool_calls`; arguments that are no JSON object become `{}`; a refusal only where there is nothing else; `reasoning_content` if [`thinking_replay`](OpenAiChatModelBuilder::thinking_replay) says so |
//! | tool result | `role: tool`; OpenAI has no mark for errors, so an error is sent as its text |
//! | media in tool results | mentioned there, and said in one `role: user` behind the last result of the round, each below the id of its call |
//! | custom | its attributes as they are |
//!
//! What compatible servers must be told again, OpenRouter's `reasoning_details` and the signatures in
//! Gemini's `extra_content`, is kept with the answer
//! ([`provider_content`](ai_services_core::message::AiMessage::provider_content)) and sent back as it came to every
//! server but OpenAI's and Azure's, where some models refuse members that they do not know, unless
//! [`provider_extensions`](OpenAiChatModelBuilder::provider_extensions) says otherwise; beside `reasoning_details` there is no
//! `reasoning_content`.
//!
//! What the protocol cannot carry (videos, and media behind URLs other than images) is
//! [`ErrorKind::Unsupported`](ai_services_core::ErrorKind::Unsupported) before anything is sent.
//!
//! # Streams
//!
//! A request for a stream also has `"stream": true` and, unless
//! [`stream_usage`](OpenAiChatModelBuilder::stream_usage) says otherwise,
//! `"stream_options": {"include_usage": true}`. It is sent when the stream is first polled.
//!
//! Text, thinking and tool calls are handed over as they come; nothing is read before it is asked
//! for, so that a slow reader slows the server down. A stream is complete when the server gave a
//! reason why the model stopped *and* sent `[DONE]`. Everything else is an error: an answer that just
//! ends, a connection that breaks, an error of the server in the middle, more than 128 tool calls,
//! text that is not UTF-8. It keeps the usage known so far, and a
//! [`PartialAnswer`](ai_services_core::model::PartialAnswer) with what had come. Dropping a stream closes its
//! connection; one that is read to its end leaves it for the next request.
//!
//! | limit | default |
//! |---|---|
//! | [`timeout`](OpenAiChatModelBuilder::timeout): from connecting to the end of the stream | 600 s |
//! | [`stream_idle_timeout`](OpenAiChatModelBuilder::stream_idle_timeout): silence of the server | 300 s |
//! | [`max_stream_bytes`](OpenAiChatModelBuilder::max_stream_bytes): the whole stream | 64 MiB |
//! | one event, with the comments before it | 4 MiB |
//!
//! Servers that answer a request for a stream with one document are understood, too: it comes as one
//! piece.
//!
//! # Failures
//!
//! Statuses 408, 409, 429 and 5xx, and connections that fail before an answer begins, are retried
//! twice by default, after what `retry-after` asks for or a growing pause. An answer that breaks
//! after it began is never requested again, because it may have been paid for. The error keeps
//! status, code, request id, attempts and the time to wait. A retried request may be billed twice;
//! [`ChatResponse::attempts`](ai_services_core::model::ChatResponse::attempts) makes that visible.

mod account;
mod builder;
mod embedding;
mod message;
mod moderation;
mod options;
mod parameters;
mod part;
mod request;
mod response;
mod responses;
mod round;
mod stream;
mod strict;
mod wire;
mod words;

pub use crate::ThinkingReplay;
pub use builder::OpenAiChatModelBuilder;
pub use embedding::{OpenAiEmbeddingModel, OpenAiEmbeddingModelBuilder};
pub use moderation::{OpenAiModerationModel, OpenAiModerationModelBuilder};
pub use options::{MaxTokensField, ProviderExtensions, SchemaMode, StreamUsage};
pub use responses::{
    EncryptedReasoning, OpenAiResponsesModel, OpenAiResponsesModelBuilder, ParallelCalls,
    ReasoningSummary, ResponseStorage,
};

use crate::http::Endpoint;
use crate::protocol::frames::{Delivery, Frames};
use crate::protocol::stream::ask_for_stream;
use ai_services_core::Result;
use ai_services_core::model::{
    Capabilities, Capability, ChatModel, ChatRequest, ChatResponse, ModelStreamEvent, in_one_piece,
};
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use options::Options;
use parameters::Frame;
use std::fmt;
use std::sync::Arc;
use stream::ChatAssembly;

/// The name under which messages keep what only servers of this protocol understand.
const PROTOCOL: &str = "openai-chat";

/// A chat model behind OpenAI's chat completions or a compatible server.
///
/// Clones share connections and settings. Answers come whole with [`chat`](ChatModel::chat), and as
/// they are written with [`stream`](ChatModel::stream).
///
/// # Examples
///
/// ```
/// use ai_services::providers::openai::OpenAiChatModel;
///
/// let local = OpenAiChatModel::builder()
///     .base_url("http://localhost:11434/v1")
///     .model("llama3.2")
///     .build()?;
/// # Ok::<(), ai_services::Error>(())
/// ```
///
/// ```no_run
/// use ai_services::message::ChatMessage;
/// use ai_services::model::{ChatModel, ChatRequest};
/// use ai_services::providers::openai::OpenAiChatModel;
///
/// # async fn run() -> ai_services::Result<()> {
/// let model = OpenAiChatModel::from_env()?;
/// let answer = model.chat(&ChatRequest::new([ChatMessage::user("Hello!")])).await?;
/// println!("{}", answer.message.text().unwrap_or_default());
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// Failed requests are retried with growing pauses that respect `retry-after`, redirects are not
/// followed. At OpenAI and Azure an answer with a schema is kept to it by the provider; tools are not
/// strict unless asked for.
#[derive(Clone)]
pub struct OpenAiChatModel(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    options: Options,
    frames: Frames<Frame>,
    model: Box<str>,
    capabilities: Capabilities,
}

impl OpenAiChatModel {
    /// Starts a model.
    pub fn builder() -> OpenAiChatModelBuilder {
        OpenAiChatModelBuilder::default()
    }

    /// A model as the environment describes it.
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `OPENAI_API_KEY` | the key; may be missing if `OPENAI_BASE_URL` is not OpenAI's |
    /// | `OPENAI_BASE_URL` | the server, `https://api.openai.com/v1` by default |
    /// | `OPENAI_ORG_ID`, `OPENAI_PROJECT_ID` | whom OpenAI bills |
    /// | `OPENAI_MODEL` | the model, `gpt-4o-mini` by default |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if a variable is missing or
    /// wrong; the message names it.
    pub fn from_env() -> Result<Self> {
        OpenAiChatModelBuilder::from_env(|name| std::env::var(name).ok())
    }
}

#[cfg(feature = "_fuzzing")]
pub(crate) use responses::read_pieces as read_response_pieces;

/// All events of a streamed answer whose bytes are there already, split like this.
#[cfg(feature = "_fuzzing")]
pub(crate) fn read_chat_pieces(
    pieces: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<Result<ModelStreamEvent>> {
    crate::protocol::stream::read_pieces(ChatAssembly::default(), pieces)
}

impl Inner {
    fn body(&self, request: &ChatRequest, delivery: Delivery) -> Result<Vec<u8>> {
        // What the protocol has no words for is found where messages are written.
        let can = self.capabilities.with(Capability::Videos);
        can.check(request, self.frames.defaults(), &self.model)?;
        let frame = self.frames.of(request, delivery, |parameters| {
            Frame::new(parameters, &self.model, &self.options, delivery)
        });
        request::body(request, &frame, &self.options)
    }
}

#[async_trait]
impl ChatModel for OpenAiChatModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let inner = &*self.0;
        let answer = inner.endpoint.post(inner.body(request, Delivery::Whole)?).await?;
        response::read(&answer)
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        let inner = &*self.0;
        if !inner.capabilities.include(Capability::Streaming) {
            return in_one_piece(self, request);
        }
        ask_for_stream(
            &inner.endpoint,
            inner.body(request, Delivery::Stream),
            ChatAssembly::default(),
        )
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities
    }

    fn name(&self) -> &str {
        &self.0.model
    }
}

impl fmt::Debug for OpenAiChatModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiChatModel")
            .field("model", &self.0.model)
            .field("endpoint", &self.0.endpoint)
            .finish_non_exhaustive()
    }
}

/// What a server can do as far as its host tells. llama.cpp, for one, refuses a schema beside tools.
fn default_capabilities(is_genuine: bool) -> Capabilities {
    let all = Capabilities::of([
        Capability::Tools,
        Capability::JsonSchema,
        Capability::JsonObject,
        Capability::Streaming,
        Capability::Images,
        Capability::Audio,
        Capability::Pdfs,
        Capability::ToolChoice,
    ]);
    if is_genuine { all.with(Capability::JsonSchemaWithTools) } else { all }
}

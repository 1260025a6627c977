//! Anthropic's messages, and every server that is compatible with them.
//!
//! [`AnthropicChatModel`] talks to Anthropic itself and, with
//! [`base_url`](AnthropicChatModelBuilder::base_url), to llama.cpp, vLLM, gateways, and other
//! providers that offer the same protocol.
//!
//! # What is sent
//!
//! | message | becomes |
//! |---|---|
//! | system | a block of `system`, wherever it stands |
//! | user | `role: user` with blocks: text, image and PDF document, each as base64 or URL; its name has no place and is not sent |
//! | assistant | `role: assistant` with the blocks of the answer as they came, thoughts with their signatures included; else a text and `tool_use` blocks; a refusal only where there is nothing else |
//! | tool result | a `tool_result` block of `role: user`, with `is_error`; text, images and PDF documents |
//! | custom | its attributes `role`, `user` or `assistant`, and `content`, a text or blocks as the API has them |
//!
//! Neighbours of one role are one message, so that roles take turns. Texts of white space alone, which
//! the API refuses, are left out; a user message that would be empty then is sent as
//! `(empty message)`. Arguments that are no JSON object become `{}`. Ids of calls that other
//! providers gave are written in the characters that the API accepts.
//!
//! What the protocol cannot carry (recordings, videos, images other than PNG, JPEG, GIF and WebP),
//! parameters that it has no place for (penalties, a seed), and a conversation that does not begin
//! with the user are [`ErrorKind::Unsupported`](ai_services_core::ErrorKind::Unsupported) before anything is
//! sent. Members of [`extra`](ai_services_core::model::ChatRequestParameters::extra) replace what is written
//! here, `tools` and `system` too.
//!
//! # Answers by a schema
//!
//! A schema is sent as `output_config.format`, in the form that the API enforces: objects closed, and
//! bounds of numbers and lengths put into the descriptions. One that cannot be enforced (with maps,
//! tuples, recursive types, values of any form, more than 24 optional members or more than 16 of
//! several types) is told to the model in one more block of `system`.
//!
//! # What is kept of an answer
//!
//! Text, thoughts and calls are in the message. Where it would lose something (signatures, redacted
//! thoughts, citations, what the provider's own tools did, a text behind a call) the blocks are in its
//! [`provider_content`](ai_services_core::message::AiMessage::provider_content) as they came, under the name
//! `anthropic`, and are sent back so. Thoughts behind which nothing came, because the answer was cut
//! off, are not sent back: the API refuses them.
//!
//! # Streams
//!
//! A request for a stream also has `"stream": true`. It is sent when the stream is first polled.
//!
//! Text, thinking and tool calls are handed over as they come; nothing is read before it is asked
//! for. A stream is complete when the server gave a reason why the model stopped *and* sent
//! `message_stop`. Everything else is an error: an answer that just ends, a connection that breaks, an
//! error of the server in the middle, more than 128 tool calls, more than 4096 blocks, text that is
//! not UTF-8. It keeps the usage known so far, and a
//! [`PartialAnswer`](ai_services_core::model::PartialAnswer) with what had come. Dropping a stream closes its
//! connection; one that is read to its end leaves it for the next request.
//!
//! Time and size are limited as in [`providers`](crate); an answer that may be long should
//! be streamed, or given more than the 600 s of [`timeout`](AnthropicChatModelBuilder::timeout).
//!
//! # Failures
//!
//! Statuses 408, 409, 429 and 5xx, 529 (overloaded) among them, and connections that fail before an
//! answer begins, are retried twice by default, after what `retry-after` asks for or a growing pause.
//! An answer that breaks after it began is never requested again. The error keeps status, type,
//! request id, attempts and the time to wait.

mod block;
mod builder;
mod content;
mod message;
mod options;
mod parameters;
mod request;
mod response;
mod schema;
mod stream;
mod wire;

pub use builder::AnthropicChatModelBuilder;
pub use options::{CacheLifetime, ParallelToolCalls, PromptCaching, Thinking};

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
use stream::MessageAssembly;

/// A chat model behind Anthropic's messages or a compatible server.
///
/// Clones share connections and settings. Answers come whole with [`chat`](ChatModel::chat), and as
/// they are written with [`stream`](ChatModel::stream).
///
/// # Examples
///
/// ```
/// use ai_services::providers::anthropic::AnthropicChatModel;
///
/// let local = AnthropicChatModel::builder()
///     .base_url("http://localhost:8080")
///     .model("qwen3")
///     .build()?;
/// # Ok::<(), ai_services::Error>(())
/// ```
///
/// ```no_run
/// use ai_services::message::ChatMessage;
/// use ai_services::model::{ChatModel, ChatRequest};
/// use ai_services::providers::anthropic::AnthropicChatModel;
///
/// # async fn run() -> ai_services::Result<()> {
/// let model = AnthropicChatModel::from_env()?;
/// let answer = model.chat(&ChatRequest::new([ChatMessage::user("Hello!")])).await?;
/// println!("{}", answer.message.text().unwrap_or_default());
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// Thoughts, citations and the order of blocks are always kept and sent back. An answer with a schema
/// is kept to it by the provider. Failed requests are retried with growing pauses that respect
/// `retry-after`.
#[derive(Clone)]
pub struct AnthropicChatModel(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    options: Options,
    frames: Frames<Frame>,
    model: Box<str>,
    capabilities: Capabilities,
}

impl AnthropicChatModel {
    /// Starts a model.
    pub fn builder() -> AnthropicChatModelBuilder {
        AnthropicChatModelBuilder::default()
    }

    /// A model as the environment describes it.
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `ANTHROPIC_API_KEY` | the key; may be missing if `ANTHROPIC_BASE_URL` is not Anthropic's |
    /// | `ANTHROPIC_BASE_URL` | the server, `https://api.anthropic.com` by default |
    /// | `ANTHROPIC_MODEL` | the model, `claude-haiku-4-5` by default |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if a variable is missing or
    /// wrong; the message names it.
    pub fn from_env() -> Result<Self> {
        AnthropicChatModelBuilder::from_env(|name| std::env::var(name).ok())
    }
}

/// All events of a streamed answer whose bytes are there already, split like this.
#[cfg(feature = "_fuzzing")]
pub(crate) fn read_pieces(
    pieces: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<Result<ModelStreamEvent>> {
    crate::protocol::stream::read_pieces(MessageAssembly::default(), pieces)
}

impl Inner {
    fn body(&self, request: &ChatRequest, delivery: Delivery) -> Result<Vec<u8>> {
        // What the protocol has no words for is found where messages are written.
        let can = self.capabilities.with(Capability::Audio).with(Capability::Videos);
        let can = can.without(Capability::JsonObject);
        can.check(request, self.frames.defaults(), &self.model)?;
        parameters::check(request.parameters(), self.frames.defaults())?;
        let frame = self.frames.of(request, delivery, |parameters| {
            Frame::new(parameters, &self.model, &self.options, delivery)
        });
        request::body(request, &frame, &self.options)
    }
}

#[async_trait]
impl ChatModel for AnthropicChatModel {
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
            MessageAssembly::default(),
        )
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities
    }

    fn name(&self) -> &str {
        &self.0.model
    }
}

impl fmt::Debug for AnthropicChatModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnthropicChatModel")
            .field("model", &self.0.model)
            .field("endpoint", &self.0.endpoint)
            .finish_non_exhaustive()
    }
}

/// What a server can do as far as its host and the options tell.
fn default_capabilities(is_anthropic: bool, options: &Options) -> Capabilities {
    let can = Capabilities::of([
        Capability::Tools,
        Capability::Streaming,
        Capability::Images,
        Capability::Pdfs,
    ]);
    let can = match is_anthropic {
        true => can.with(Capability::JsonSchema).with(Capability::JsonSchemaWithTools),
        false => can,
    };
    // The API refuses a model that thinks and has to call a tool.
    match options.thinking.is_some_and(Thinking::is_on) {
        true => can,
        false => can.with(Capability::ToolChoice),
    }
}

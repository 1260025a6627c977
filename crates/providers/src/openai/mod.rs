//! Clients of OpenAI and of servers with compatible APIs.
//!
//! | client | API |
//! |---|---|
//! | [`OpenAiChatModel`] | chat completions, which most servers implement; described on this page |
//! | [`OpenAiResponsesModel`] | responses, for reasoning models |
//! | [`OpenAiEmbeddingModel`] | embeddings |
//! | [`OpenAiModerationModel`] | moderation |
//!
//! [`OpenAiChatModel`] connects to OpenAI, and with
//! [`base_url`](OpenAiChatModelBuilder::base_url) to vLLM, llama.cpp, Ollama
//! (`http://localhost:11434/v1`), Azure, OpenRouter, Groq, Mistral, DeepSeek and others.
//!
//! # Requests
//!
//! | message | encoding |
//! |---|---|
//! | system | `role: system` |
//! | user | `role: user` with `name`, and a text or parts: text, `image_url` (URL or data URL), `input_audio` (base64), `file` (PDF as base64) |
//! | assistant | `role: assistant` with content and `tool_calls`; arguments that are not a JSON object become `{}`; a refusal only if there is no other content; `reasoning_content` depending on [`thinking_replay`](OpenAiChatModelBuilder::thinking_replay) |
//! | tool result | `role: tool`; the API has no error flag, so an error is sent as text |
//! | media in tool results | a reference in the result, and one `role: user` message after the last result of the round, with each medium below the id of its call |
//! | custom | its attributes unchanged |
//!
//! Some compatible servers require fields of their earlier answers: OpenRouter its `reasoning_details`,
//! Gemini's endpoint the signatures in `extra_content`. They are kept with the answer
//! ([`provider_content`](ai_services_core::message::AiMessage::provider_content)) and sent back
//! unchanged, except to OpenAI and Azure, where some models reject unknown fields.
//! [`provider_extensions`](OpenAiChatModelBuilder::provider_extensions) overrides this default. A message
//! with `reasoning_details` has no `reasoning_content`.
//!
//! Videos, and media behind URLs other than images, fail with
//! [`ErrorKind::Unsupported`](ai_services_core::ErrorKind::Unsupported) before anything is sent.
//!
//! # Streams
//!
//! The request of a stream is sent when the stream is first polled. It adds `"stream": true` and, unless
//! [`stream_usage`](OpenAiChatModelBuilder::stream_usage) is turned off,
//! `"stream_options": {"include_usage": true}`.
//!
//! Text, thinking and tool calls are delivered as they arrive. Back-pressure: the client reads only
//! while the stream is polled. A stream is complete once the server sent a finish reason *and*
//! `[DONE]`. Perplexity and others do not send `[DONE]`: there, a stream is complete if the body ends after
//! the finish reason and the final usage, or after `chat.completion.done`. It fails if the answer ends
//! early, the connection breaks, the server reports an error, the answer has more than 128 tool calls, or
//! the text is not UTF-8. The error has the usage known so far and the received part of the answer as a
//! [`PartialAnswer`](ai_services_core::model::PartialAnswer).
//! Dropping a stream closes its connection; a stream that was read to its end returns the connection to
//! the pool.
//!
//! | limit | default |
//! |---|---|
//! | [`timeout`](OpenAiChatModelBuilder::timeout): from connecting to the end of the stream | 600 s |
//! | [`stream_idle_timeout`](OpenAiChatModelBuilder::stream_idle_timeout): time without data | 300 s |
//! | [`max_stream_bytes`](OpenAiChatModelBuilder::max_stream_bytes): the whole stream | 64 MiB |
//! | one event, with the comments before it | 4 MiB |
//!
//! A server may answer the request of a stream with a single document. The stream then delivers the
//! whole answer at once.
//!
//! # Failures
//!
//! The client retries statuses 408, 409, 429 and 5xx, and connections that fail before an answer begins:
//! twice by default, after `retry-after` or an exponential back-off. An answer that breaks off is not
//! requested again, because it may have been billed. The error has the status, code, request id, number
//! of attempts and `retry-after`. A retried request may be billed twice;
//! [`ChatResponse::attempts`](ai_services_core::model::ChatResponse::attempts) counts the attempts.

mod account;
mod builder;
mod chat_completions;
mod embedding;
mod extensions;
mod message;
mod moderation;
mod options;
mod parameters;
mod part;
mod request;
mod response;
mod responses;
mod stream;
mod strict;
mod tool_media;
mod tools;
mod wire;

pub use crate::ThinkingReplay;
pub use crate::protocol::parallel_tool_calls::ParallelToolCalls;
pub use builder::OpenAiChatModelBuilder;
pub use embedding::{OpenAiEmbeddingModel, OpenAiEmbeddingModelBuilder};
pub use moderation::{OpenAiModerationModel, OpenAiModerationModelBuilder};
pub use options::{MaxTokensField, ProviderExtensions, SchemaMode, StreamUsage};
pub use responses::{
    EncryptedReasoning, OpenAiResponsesModel, OpenAiResponsesModelBuilder, ReasoningSummary,
    ResponseStorage,
};

#[cfg(feature = "_fuzzing")]
pub(crate) use chat_completions::read_pieces as read_chat_pieces;
#[cfg(feature = "_fuzzing")]
pub(crate) use responses::read_pieces as read_response_pieces;

use crate::protocol::client::{Client, chat_model};
#[cfg(doc)]
use ai_services_core::model::ChatModel;
use chat_completions::ChatCompletions;

/// The name under which messages keep fields that only servers of this protocol understand.
const PROTOCOL: &str = "openai-chat";

/// A chat model behind OpenAI's chat completions or a compatible server.
///
/// Clones share connections and settings. [`chat`](ChatModel::chat) returns whole answers,
/// [`stream`](ChatModel::stream) delivers them as they are written.
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
/// Failed requests are retried with an exponential back-off that respects `retry-after`. Redirects are
/// not followed. At OpenAI and Azure, the provider enforces the schema of an answer; schemas of tools
/// are strict only if requested.
#[derive(Clone)]
pub struct OpenAiChatModel(Client<ChatCompletions>);

chat_model! {
    OpenAiChatModel, built by OpenAiChatModelBuilder;

    /// Creates a model from environment variables.
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `OPENAI_API_KEY` | the key; optional if `OPENAI_BASE_URL` is not OpenAI's |
    /// | `OPENAI_BASE_URL` | the server. Default: `https://api.openai.com/v1` |
    /// | `OPENAI_ORG_ID`, `OPENAI_PROJECT_ID` | the organization and project that OpenAI bills |
    /// | `OPENAI_MODEL` | the model. Default: `gpt-4o-mini` |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if a variable is missing
    /// or invalid; the message names the variable.
    from_env
}

//! Clients of Anthropic's messages API and of compatible servers.
//!
//! [`AnthropicChatModel`] connects to Anthropic, and with
//! [`base_url`](AnthropicChatModelBuilder::base_url) to llama.cpp, vLLM, gateways and other providers
//! with the same API.
//!
//! # Requests
//!
//! | message | encoding |
//! |---|---|
//! | system | a block of `system`, whatever its position |
//! | user | `role: user` with blocks: text, images and PDF documents, each as base64 or URL; names are not sent, because the API has none |
//! | assistant | `role: assistant` with the blocks of the answer unchanged, signed thinking included; else a text and `tool_use` blocks; a refusal only if there is no other content |
//! | tool result | a `tool_result` block of `role: user`, with `is_error`; text, images and PDF documents |
//! | custom | its attributes `role`, `user` or `assistant`, and `content`, a text or blocks of the API |
//!
//! Consecutive messages of one role are merged, because roles must alternate. Blank texts, which the API
//! rejects, are left out; a user message that would be empty is sent as `(empty message)`. Arguments that
//! are not a JSON object become `{}`. Call ids of other providers are rewritten to the characters that
//! the API accepts.
//!
//! Recordings, videos, images other than PNG, JPEG, GIF and WebP, penalties, a seed, and a conversation
//! that does not begin with the user fail with
//! [`ErrorKind::Unsupported`](ai_services_core::ErrorKind::Unsupported) before anything is sent. Members
//! of [`extra`](ai_services_core::model::ChatRequestParameters::extra) replace members of the request,
//! `tools` and `system` too.
//!
//! # Deferred tools
//!
//! A tool with [`ToolLoading::Deferred`](ai_services_core::model::ToolLoading) is sent with `defer_loading`, which keeps
//! it out of the prompt. The result of a search is sent as `tool_reference` blocks, from which the API loads the
//! definitions; it is a text if one of the tools that it names is not a deferred tool of the request. The forms are those
//! of `ToolParam` and `ToolReferenceBlockParam` in Anthropic's SDK for Python, version 2.12, and of the section "custom
//! tool search" of the documentation of the tool search tool. By default, models of Anthropic's own server from version
//! 4.5 on have [`Capability::DeferredTools`], except for Haiku; models of other servers do not.
//!
//! # Answers by a schema
//!
//! A schema is sent as `output_config.format` in the subset that the API enforces: objects closed, and
//! bounds of numbers and lengths in the descriptions. A schema that cannot be enforced is sent as text in
//! one more block of `system`: one with maps, tuples, recursive types, values of any type, more than 24
//! optional members or more than 16 unions.
//!
//! # Provider content
//!
//! Text, thinking and calls are in the message. If the message would lose information (signatures,
//! redacted thinking, citations, blocks of built-in tools, a text behind a call), its
//! [`provider_content`](ai_services_core::message::AiMessage::provider_content) has the blocks unchanged
//! under the name `anthropic`, and they are sent back. Thinking at the end of a truncated answer is not
//! sent back, because the API rejects it.
//!
//! # Streams
//!
//! The request of a stream is sent when the stream is first polled, with `"stream": true`.
//!
//! Text, thinking and tool calls are delivered as they arrive. Back-pressure: the client reads only while
//! the stream is polled. A stream is complete once the server sent a stop reason *and* `message_stop`, or
//! if the body ends after the stop reason, the usage and the ends of all blocks. A block waits for the end of
//! earlier blocks of its kind. The stream fails if the answer ends early, the connection breaks, the server
//! reports an error, the answer has more than 128 tool calls or 4096 blocks, or the text is not UTF-8. The
//! error has the usage known so far and the received part of the answer as a
//! [`PartialAnswer`](ai_services_core::model::PartialAnswer).
//! Dropping a stream closes its connection; a stream that was read to its end returns the connection to
//! the pool.
//!
//! Time and size are limited as described in [`providers`](crate). Stream long answers, or raise the
//! [`timeout`](AnthropicChatModelBuilder::timeout) of 600 seconds.
//!
//! # Failures
//!
//! The client retries statuses 408, 409, 429 and 5xx, 529 (overloaded) included, and connections that fail
//! before an answer begins: twice by default, after `retry-after` or an exponential back-off. An answer
//! that breaks off is not requested again. The error has the status, type, request id, number of attempts
//! and `retry-after`.

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

pub use crate::protocol::parallel_tool_calls::ParallelToolCalls;
pub use builder::AnthropicChatModelBuilder;
pub use options::{CacheLifetime, PromptCaching, Thinking};

use crate::http::Endpoint;
use crate::protocol::client::{Client, Protocol, chat_model};
use crate::protocol::request_prefix::Delivery;
use ai_services_core::Result;
#[cfg(doc)]
use ai_services_core::model::ChatModel;
use ai_services_core::model::{Capabilities, Capability, ChatRequest, ChatRequestParameters};
use options::Options;
use parameters::MessagesPrefix;
use stream::MessageAssembly;

/// A chat model behind Anthropic's messages API or a compatible server.
///
/// Clones share connections and settings. [`chat`](ChatModel::chat) returns whole answers,
/// [`stream`](ChatModel::stream) delivers them as they are written.
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
/// Thinking, citations and the order of blocks are always kept and sent back. The provider enforces the
/// schema of an answer. Failed requests are retried with an exponential back-off that respects
/// `retry-after`.
#[derive(Clone)]
pub struct AnthropicChatModel(Client<Messages>);

chat_model! {
    AnthropicChatModel, built by AnthropicChatModelBuilder;

    /// Creates a model from environment variables.
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `ANTHROPIC_API_KEY` | the key; optional if `ANTHROPIC_BASE_URL` is not Anthropic's |
    /// | `ANTHROPIC_BASE_URL` | the server. Default: `https://api.anthropic.com` |
    /// | `ANTHROPIC_MODEL` | the model. Default: `claude-haiku-4-5` |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if a variable is missing
    /// or invalid; the message names the variable.
    from_env
}

/// The messages API at one server.
struct Messages {
    endpoint: Endpoint,
    options: Options,
}

impl Protocol for Messages {
    type Prefix = MessagesPrefix;
    type Assembly = MessageAssembly;

    const PROVIDER: &'static str = "anthropic";

    fn checked_capabilities(model: Capabilities) -> Capabilities {
        let model = model.with(Capability::Audio).with(Capability::Videos);
        // The API has no JSON mode without a schema.
        model.without(Capability::JsonObject)
    }

    fn check_parameters(
        request: &ChatRequestParameters,
        defaults: &ChatRequestParameters,
    ) -> Result<()> {
        parameters::check(request, defaults)
    }

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn prefix(
        &self,
        parameters: &ChatRequestParameters,
        model: &str,
        delivery: Delivery,
    ) -> MessagesPrefix {
        MessagesPrefix::new(parameters, model, &self.options, delivery)
    }

    fn body(&self, request: &ChatRequest, prefix: &MessagesPrefix) -> Result<Vec<u8>> {
        request::body(request, prefix, self.options.caching)
    }
}

/// Returns the capabilities of a server.
fn default_capabilities(is_official: bool, model: &str, options: &Options) -> Capabilities {
    let mut capabilities = Capabilities::of([
        Capability::Tools,
        Capability::Streaming,
        Capability::Images,
        Capability::Pdfs,
    ]);
    if is_official {
        let schemas = [Capability::JsonSchema, Capability::JsonSchemaWithTools];
        capabilities = schemas.into_iter().fold(capabilities, Capabilities::with);
        if loads_tools(model) {
            capabilities = capabilities.with(Capability::DeferredTools);
        }
    }
    // While the model thinks, the API rejects a forced call.
    let thinks = options.thinking.is_some_and(Thinking::is_on);
    capabilities.with(if thinks { Capability::ForbidTools } else { Capability::ToolChoice })
}

/// Returns `true` for models that load definitions from references: version 4.5 and later ones, except for Haiku.
fn loads_tools(model: &str) -> bool {
    let Some((family, version)) =
        model.strip_prefix("claude-").and_then(|rest| rest.split_once('-'))
    else {
        return false;
    };
    let mut numbers = version.split('-').map(|part| part.parse::<u32>().ok());
    // `claude-3-7-sonnet` begins with its version, and `claude-sonnet-4-20250514` ends with a date.
    let Some(major) = numbers.next().flatten().filter(|_| family.parse::<u32>().is_err()) else {
        return false;
    };
    let minor = numbers.next().flatten().filter(|minor| *minor < 100).unwrap_or_default();
    family != "haiku" && (major, minor) >= (4, 5)
}

/// Returns the events of a streamed answer that is already in memory.
#[cfg(feature = "_fuzzing")]
pub(crate) fn read_pieces(
    pieces: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<Result<ai_services_core::model::ModelStreamEvent>> {
    crate::protocol::stream::read_pieces(MessageAssembly::default(), pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_from_version_4_5_on_load_tools() {
        for model in ["claude-sonnet-4-5", "claude-opus-4-6-20260101", "claude-sonnet-5"] {
            assert!(loads_tools(model), "{model}");
        }
        for model in [
            "claude-haiku-4-5",
            "claude-opus-4-1",
            "claude-sonnet-4-20250514",
            "claude-sonnet-4-0",
            "claude-3-7-sonnet-20250219",
            "claude-instant",
            "qwen3",
        ] {
            assert!(!loads_tools(model), "{model}");
        }
    }
}

//! OpenAI's responses API.

mod builder;
mod calls;
mod item;
mod loaded_tools;
mod options;
mod parameters;
mod request;
mod response;
mod stream;
mod wire;

pub use builder::OpenAiResponsesModelBuilder;
pub use options::{EncryptedReasoning, ReasoningSummary, ResponseStorage};

use crate::http::Endpoint;
use crate::protocol::client::{Client, Protocol, chat_model};
use crate::protocol::request_body::ListPrefix;
use crate::protocol::request_prefix::Delivery;
use ai_services_core::Result;
use ai_services_core::model::{Capabilities, Capability, ChatRequest, ChatRequestParameters};
use options::Options;
use stream::ResponseAssembly;

/// The name under which messages keep the items of this protocol.
const PROTOCOL: &str = "openai-responses";

/// A chat model behind OpenAI's responses API or a compatible server.
///
/// Use it for reasoning models: their reasoning is sent back in encrypted form, so that they continue
/// where they called a tool. For other models [`OpenAiChatModel`](super::OpenAiChatModel) is equivalent
/// and supports more servers.
///
/// Clones share connections and settings.
///
/// # Requests
///
/// | message | encoding |
/// |---|---|
/// | system | a message item of the role `system` at its position; [`extra`](ai_services_core::model::ChatRequestParameters::extra) can set `instructions` |
/// | user | a message item with a text or parts: `input_text`, `input_image` (URL or data URL), `input_file` (PDF as base64 or URL), `input_audio` (base64); the API has no names |
/// | assistant | all items of the answer unchanged, if the answer had more than a text and calls; else a message item and `function_call` items. Arguments that are not a JSON object become `{}`; a refusal is sent only if there is no other content |
/// | tool result | `function_call_output` with a text or parts, including images and PDF documents; the API has no error flag, so an error is sent as text |
/// | custom | its attributes as an item |
///
/// The provider stores nothing unless [`storage`](OpenAiResponsesModelBuilder::storage) is set: each
/// request has `"store": false`, the whole history and, for reasoning models,
/// `"include": ["reasoning.encrypted_content"]`. An answer with reasoning, calls of built-in tools or a
/// phase keeps its items in
/// [`AiMessage::provider_content`](ai_services_core::message::AiMessage::provider_content). They are
/// sent back in the same order, with their ids, before the results of the calls. Text and calls are sent
/// instead if reasoning is known only by id, which a server without storage rejects, if the answer was
/// truncated, and if arguments are not JSON.
///
/// Videos and the parameters `stop`, `seed`, `top_k`, `frequency_penalty` and `presence_penalty` fail
/// with [`ErrorKind::Unsupported`](ai_services_core::ErrorKind::Unsupported) before anything is sent. If
/// such a parameter is set for the model, building the model fails. Members of `extra` replace members
/// of the request; the members of its objects `text` and `reasoning` do so one by one.
///
/// # Deferred tools
///
/// A tool with [`ToolLoading::Deferred`](ai_services_core::model::ToolLoading) is not in the list of tools. A
/// `tool_search_call` and a `tool_search_output` with its definition, executed by the client, follow the output of the
/// search that has found it. This form follows the types of OpenAI's SDKs; its documentation shows the search by the server
/// only. By default, no model has [`Capability::DeferredTools`]: try it with yours, and set the
/// [`capabilities`](OpenAiResponsesModelBuilder::capabilities).
///
/// # Answers
///
/// Thinking is the reasoning itself at servers of open models, else its
/// [summary](OpenAiResponsesModelBuilder::reasoning_summary), with an empty line between two thoughts.
/// Texts of several messages are joined. Unknown items are kept and otherwise ignored.
///
/// # Streams
///
/// A stream is complete with `response.completed` or `response.incomplete`; `[DONE]` may follow. The last
/// event repeats the whole answer, and the stream delivers the parts that are still missing. If the last
/// event contradicts the delivered pieces, the pieces count, because they may have been displayed, and
/// the items are dropped.
///
/// # Compatible servers
///
/// llama.cpp and others ignore `text.format`, so that by default only OpenAI and Azure receive schemas;
/// see [`capabilities`](OpenAiResponsesModelBuilder::capabilities). llama.cpp treats the choice of one
/// tool as a free choice.
///
/// Limits, retries and failures are those of [`OpenAiChatModel`](super::OpenAiChatModel).
///
/// # Examples
///
/// ```no_run
/// use ai_services::message::ChatMessage;
/// use ai_services::model::{ChatModel, ChatRequest};
/// use ai_services::providers::openai::{OpenAiResponsesModel, ReasoningSummary};
///
/// # async fn run() -> ai_services::Result<()> {
/// let model = OpenAiResponsesModel::builder()
///     .model("gpt-5-mini")
///     .reasoning_summary(ReasoningSummary::Auto)
///     .build()?;
/// let answer = model.chat(&ChatRequest::new([ChatMessage::user("Hello!")])).await?;
/// println!("{}", answer.message.text().unwrap_or_default());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OpenAiResponsesModel(Client<Responses>);

chat_model! {
    OpenAiResponsesModel, built by OpenAiResponsesModelBuilder;

    /// Creates a model from the environment variables of
    /// [`OpenAiChatModel::from_env`](super::OpenAiChatModel::from_env).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if a variable is missing
    /// or invalid; the message names the variable.
    from_env
}

/// The responses API at one server.
struct Responses {
    endpoint: Endpoint,
    options: Options,
}

impl Protocol for Responses {
    type Prefix = ListPrefix;
    type Assembly = ResponseAssembly;

    const PROVIDER: &'static str = "openai";

    fn checked_capabilities(model: Capabilities) -> Capabilities {
        model.with(Capability::Videos)
    }

    fn check_parameters(
        request: &ChatRequestParameters,
        _defaults: &ChatRequestParameters,
    ) -> Result<()> {
        parameters::check(request)
    }

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
        request::body(request, prefix, &self.options)
    }
}

/// Returns the capabilities of a server.
fn default_capabilities(is_official: bool) -> Capabilities {
    let all = Capabilities::of([
        Capability::Tools,
        Capability::Streaming,
        Capability::Images,
        Capability::Pdfs,
        Capability::ToolChoice,
    ]);
    if is_official {
        all.with(Capability::JsonSchema)
            .with(Capability::JsonSchemaWithTools)
            .with(Capability::JsonObject)
    } else {
        all
    }
}

/// Returns the events of a streamed answer that is already in memory.
#[cfg(feature = "_fuzzing")]
pub(crate) fn read_pieces(
    pieces: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<Result<ai_services_core::model::ModelStreamEvent>> {
    crate::protocol::stream::read_pieces(ResponseAssembly::default(), pieces)
}

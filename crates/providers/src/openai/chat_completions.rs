//! OpenAI's chat completions.

use super::OpenAiChatModelBuilder;
use super::options::Options;
use super::stream::ChatAssembly;
use super::{parameters, request};
use crate::http::Endpoint;
use crate::protocol::client::{Client, Protocol, chat_model};
use crate::protocol::request_body::ListPrefix;
use crate::protocol::request_prefix::Delivery;
use ai_services_core::Result;
#[cfg(doc)]
use ai_services_core::model::ChatModel;
use ai_services_core::model::{Capabilities, Capability, ChatRequest, ChatRequestParameters};

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
pub struct OpenAiChatModel(pub(super) Client<ChatCompletions>);

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

/// The protocol of chat completions at one server.
pub(super) struct ChatCompletions {
    pub(super) endpoint: Endpoint,
    pub(super) options: Options,
}

impl Protocol for ChatCompletions {
    type Prefix = ListPrefix;
    type Assembly = ChatAssembly;

    fn checked_capabilities(model: Capabilities) -> Capabilities {
        model.with(Capability::Videos)
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

/// Returns the capabilities of a server. llama.cpp, for example, rejects a schema beside tools.
pub(super) fn default_capabilities(is_official: bool) -> Capabilities {
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
    if is_official { all.with(Capability::JsonSchemaWithTools) } else { all }
}

/// Returns the events of a streamed answer that is already in memory.
#[cfg(feature = "_fuzzing")]
pub(crate) fn read_pieces(
    pieces: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<Result<ai_services_core::model::ModelStreamEvent>> {
    crate::protocol::stream::read_pieces(ChatAssembly::default(), pieces)
}

//! OpenAI's responses API.

mod builder;
mod calls;
mod item;
mod options;
mod parameters;
mod request;
mod response;
mod stream;
mod wire;

pub use builder::OpenAiResponsesModelBuilder;
pub use options::{EncryptedReasoning, ParallelCalls, ReasoningSummary, ResponseStorage};

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
use stream::ResponseAssembly;

/// The name under which answers are kept in the words of this protocol.
const PROTOCOL: &str = "openai-responses";

/// A chat model behind OpenAI's responses API, or a server that is compatible with it.
///
/// It is the API for models that reason: what they thought is sent back to them, encrypted, so that they
/// go on where they were when they called a tool. For everything else
/// [`OpenAiChatModel`](super::OpenAiChatModel) does the same, at more servers.
///
/// Clones share connections and settings.
///
/// # What is sent
///
/// | message | becomes |
/// |---|---|
/// | system | a message item of the role `system`, where it stands; `instructions` are left to [`extra`](ai_services_core::model::ChatRequestParameters::extra) |
/// | user | a message item of a text or of parts: `input_text`, `input_image` (URL or data URL), `input_file` (PDF as base64 or URL), `input_audio` (base64); the API has no place for names |
/// | assistant | all items of the answer as they came, if the answer had more than a text and calls; else a message item and `function_call` items. Arguments that are no JSON object become `{}`, a refusal is sent only where there is nothing else |
/// | tool result | `function_call_output` with a text or parts, images and PDF documents too; the API has no mark for errors, so an error is sent as its text |
/// | custom | its attributes as an item |
///
/// Nothing is stored at the provider unless [`storage`](OpenAiResponsesModelBuilder::storage) says so:
/// each request has `"store": false`, the whole history, and, for models that reason,
/// `"include": ["reasoning.encrypted_content"]`. An answer with reasoning, with calls of the provider's
/// own tools or with a phase keeps all of its items in
/// [`AiMessage::provider_content`](ai_services_core::message::AiMessage::provider_content), and they are sent back in
/// the same order, ids included, before the results of the calls. If some of the reasoning is only an id,
/// which a server that stored nothing would refuse, text and calls are sent instead. So it is for answers
/// that were cut off, and for calls whose arguments are not JSON.
///
/// What the API has no place for is [`ErrorKind::Unsupported`](ai_services_core::ErrorKind::Unsupported) before
/// anything is sent: videos, and the parameters `stop`, `seed`, `top_k`, `frequency_penalty` and
/// `presence_penalty`; when they are set for the model, building it fails. Members of `extra` win over
/// what is written here, those of its objects `text` and `reasoning` one by one.
///
/// # Answers
///
/// Thinking is what the server shows of it: the reasoning itself at servers of open models, else its
/// [summary](OpenAiResponsesModelBuilder::reasoning_summary), with an empty line between two thoughts.
/// Texts of several messages are joined. Items that are not understood are kept, but say nothing.
///
/// # Streams
///
/// A stream is complete with `response.completed` or `response.incomplete`; `[DONE]` may follow. That
/// last event says everything again: what has not come before is handed over then. If it contradicts
/// what came in pieces, the pieces count, because they have been shown already, and the items are not
/// kept.
///
/// # Compatible servers
///
/// llama.cpp and others ignore `text.format`, so that by default only OpenAI and Azure are asked for
/// answers by a schema; see [`capabilities`](OpenAiResponsesModelBuilder::capabilities). llama.cpp treats
/// the choice of one tool as a free choice.
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
pub struct OpenAiResponsesModel(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    options: Options,
    frames: Frames<Frame>,
    model: Box<str>,
    capabilities: Capabilities,
}

impl OpenAiResponsesModel {
    /// Starts a model.
    pub fn builder() -> OpenAiResponsesModelBuilder {
        OpenAiResponsesModelBuilder::default()
    }

    /// A model as the environment describes it: as
    /// [`OpenAiChatModel::from_env`](super::OpenAiChatModel::from_env), with the same variables.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if a variable is missing or
    /// wrong; the message names it.
    pub fn from_env() -> Result<Self> {
        OpenAiResponsesModelBuilder::from_env(|name| std::env::var(name).ok())
    }
}

/// All events of a streamed answer whose bytes are there already, split like this.
#[cfg(feature = "_fuzzing")]
pub(crate) fn read_pieces(
    pieces: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<Result<ModelStreamEvent>> {
    crate::protocol::stream::read_pieces(ResponseAssembly::default(), pieces)
}

impl Inner {
    fn body(&self, request: &ChatRequest, delivery: Delivery) -> Result<Vec<u8>> {
        // What the protocol has no words for is found where messages are written.
        let can = self.capabilities.with(Capability::Videos);
        can.check(request, self.frames.defaults(), &self.model)?;
        parameters::check(request.parameters())?;
        let frame = self.frames.of(request, delivery, |parameters| {
            Frame::new(parameters, &self.model, &self.options, delivery)
        });
        request::body(request, &frame, &self.options)
    }
}

#[async_trait]
impl ChatModel for OpenAiResponsesModel {
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
            ResponseAssembly::default(),
        )
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities
    }

    fn name(&self) -> &str {
        &self.0.model
    }
}

impl fmt::Debug for OpenAiResponsesModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiResponsesModel")
            .field("model", &self.0.model)
            .field("endpoint", &self.0.endpoint)
            .finish_non_exhaustive()
    }
}

/// What a server can do as far as its host tells.
fn default_capabilities(is_genuine: bool) -> Capabilities {
    let all = Capabilities::of([
        Capability::Tools,
        Capability::Streaming,
        Capability::Images,
        Capability::Pdfs,
        Capability::ToolChoice,
    ]);
    match is_genuine {
        true => all
            .with(Capability::JsonSchema)
            .with(Capability::JsonSchemaWithTools)
            .with(Capability::JsonObject),
        false => all,
    }
}

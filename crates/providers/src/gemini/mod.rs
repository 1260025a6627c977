//! Google's Gemini, by its own protocol.
//!
//! [`GeminiChatModel`] asks `models/…:generateContent` and `:streamGenerateContent?alt=sse`,
//! [`GeminiEmbeddingModel`] `:batchEmbedContents`.
//!
//! # What is sent
//!
//! | message | becomes |
//! |---|---|
//! | system | a part of `systemInstruction`, wherever it stands |
//! | user | `role: user`; media as `inlineData` (base64) or `fileData` (URL); a name and the detail of an image have no place here |
//! | assistant | `role: model` with text and `functionCall`s, without what the model thought; or the parts as this protocol had them, see below |
//! | tool result | `functionResponse` with `{"output": …}`, or `{"error": …}` if the tool failed; always as a text, because numbers of the protocol are too short for large integers |
//! | media in tool results | within the result for Gemini 3 and later, if they are PNG, JPEG, WebP or PDF as base64; else mentioned there, and said right behind it |
//! | custom | the list under `parts`, or its attributes as one part; of the user, unless `role` is `model` |
//!
//! Neighbours of one role are sent as one content. URLs are fetched by the provider: files of its own
//! storage, and for newer models public ones, for which it wants to be told the media type. Where that is
//! not known, it is told by the end of the URL.
//!
//! # Thinking
//!
//! With [`thought_summaries`](GeminiChatModelBuilder::thought_summaries), summaries come as
//! [`thinking`](ai_services_core::message::AiMessage::thinking). The model signs its thoughts, and wants the signatures
//! back on the parts on which they came. So an answer with signatures, or with parts that a message has no
//! words for, keeps all its parts as
//! [`provider_content`](ai_services_core::message::AiMessage::provider_content), and they are sent back as they are. To
//! calls that another provider's model made, Gemini 3 and later are sent the word that Google has for this
//! in place of a signature.
//!
//! # Calls without ids
//!
//! Most models give their calls no ids. Then they are given ids here, which are unlike those of any other
//! answer, and which the provider is never sent.
//!
//! # Schemas
//!
//! The API has a dialect of its own for schemas, which all models know and in which not everything can be
//! said, and JSON Schema for models since Gemini 2.5. By default each schema is sent in the first if that
//! can say it, else in the second: [`SchemaDialect`].
//!
//! # Streams
//!
//! A stream has no last event: it is complete when the model gave a reason why it stopped, and the body
//! ended. Calls come in one piece. An answer that just ends, a connection that breaks, and an error in the
//! middle are errors that keep the usage known so far, and a
//! [`PartialAnswer`](ai_services_core::model::PartialAnswer).
//!
//! # Failures
//!
//! A request that the filter does not let through is [`ErrorKind::Refused`](ai_services_core::ErrorKind::Refused) with
//! the reason as its [`code`](ai_services_core::Error::code). An answer that the filter stopped is an answer, with
//! [`FinishReason::ContentFilter`](ai_services_core::model::FinishReason::ContentFilter). Statuses 408, 409, 429 and
//! 5xx are retried, after the pause for which the error asks.

mod builder;
mod calls;
mod embedding;
mod message;
mod name;
mod options;
mod parameters;
mod part;
mod request;
mod response;
mod said;
mod schema;
mod server;
mod wire;

pub use builder::GeminiChatModelBuilder;
pub use embedding::{GeminiEmbeddingModel, GeminiEmbeddingModelBuilder};
pub use options::{HarmCategory, HarmThreshold, SchemaDialect, ThoughtSummaries};

use crate::http::{Endpoint, Server};
use crate::protocol::frames::{Delivery, Frames};
use crate::protocol::stream::ask_for_stream;
use ai_services_core::Result;
use ai_services_core::model::{
    Capabilities, Capability, ChatModel, ChatRequest, ChatResponse, ModelStreamEvent, in_one_piece,
};
use async_trait::async_trait;
use calls::Ids;
use futures_util::stream::{self as streams, BoxStream, StreamExt};
use name::{Generation, ModelName};
use options::Options;
use parameters::Frame;
use response::GeminiAssembly;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The name under which an answer's own parts are kept.
const PROTOCOL: &str = "gemini";

/// A chat model behind Google's Gemini API.
///
/// Clones share connections and settings. Answers come whole with [`chat`](ChatModel::chat), and as
/// they are written with [`stream`](ChatModel::stream).
///
/// # Examples
///
/// ```no_run
/// use ai_services::message::ChatMessage;
/// use ai_services::model::{ChatModel, ChatRequest};
/// use ai_services::providers::gemini::GeminiChatModel;
///
/// # async fn run() -> ai_services::Result<()> {
/// let model = GeminiChatModel::from_env()?;
/// let answer = model.chat(&ChatRequest::new([ChatMessage::user("Hello!")])).await?;
/// println!("{}", answer.message.text().unwrap_or_default());
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// Thought signatures are always kept and sent back. Results of tools are sent under `output` and
/// `error`, the names that the API has for them. A schema that the API's own dialect cannot say is sent
/// as JSON Schema, not cut down.
#[derive(Clone)]
pub struct GeminiChatModel(Arc<Inner>);

struct Inner {
    server: Arc<Server>,
    /// Where requests go that name no model of their own.
    target: Target,
    frames: Frames<Frame>,
    options: Options,
    model: Box<str>,
    capabilities: Capabilities,
}

/// One model.
#[derive(Clone)]
struct Target {
    whole: Endpoint,
    stream: Endpoint,
    generation: Generation,
}

impl Target {
    fn of(server: &Arc<Server>, name: ModelName<'_>) -> Self {
        let stream = server.endpoint(&name.method("streamGenerateContent"));
        Self {
            whole: server.endpoint(&name.method("generateContent")),
            stream: stream.with_query("alt", "sse"),
            generation: name.generation(),
        }
    }
}

impl GeminiChatModel {
    /// Starts a model.
    pub fn builder() -> GeminiChatModelBuilder {
        GeminiChatModelBuilder::default()
    }

    /// A model as the environment describes it.
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `GEMINI_API_KEY`, else `GOOGLE_API_KEY` | the key; may be missing if `GEMINI_BASE_URL` is not Google's |
    /// | `GEMINI_BASE_URL` | the server, `https://generativelanguage.googleapis.com/v1beta` by default |
    /// | `GEMINI_MODEL` | the model, `gemini-flash-latest` by default |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if a variable is missing or
    /// wrong; the message names it.
    pub fn from_env() -> Result<Self> {
        GeminiChatModelBuilder::from_env(|name| std::env::var(name).ok())
    }
}

/// All events of a streamed answer whose bytes are there already, split like this.
#[cfg(feature = "_fuzzing")]
pub(crate) fn read_pieces(
    pieces: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<Result<ModelStreamEvent>> {
    crate::protocol::stream::read_pieces(GeminiAssembly::new(Ids::fixed()), pieces)
}

impl Inner {
    /// Where a request goes, and its body.
    fn prepare(&self, request: &ChatRequest) -> Result<(Cow<'_, Target>, Vec<u8>)> {
        self.capabilities.check(request, self.frames.defaults(), &self.model)?;
        let target = match request.parameters().model.as_deref() {
            Some(model) => Cow::Owned(Target::of(&self.server, ModelName::of(model)?)),
            None => Cow::Borrowed(&self.target),
        };
        let generation = target.generation;
        // What is sent is the same, however the answer comes.
        let frame = self.frames.of(request, Delivery::Whole, |parameters| {
            Frame::new(parameters, generation, &self.options)
        });
        let body = request::body(request, &frame, generation, self.options.schemas)?;
        Ok((target, body))
    }
}

#[async_trait]
impl ChatModel for GeminiChatModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let (target, body) = self.0.prepare(request)?;
        response::read(&target.whole.post(body).await?)
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        if !self.0.capabilities.include(Capability::Streaming) {
            return in_one_piece(self, request);
        }
        match self.0.prepare(request) {
            Ok((target, body)) => {
                let answer = GeminiAssembly::new(Ids::random());
                ask_for_stream(&target.stream, Ok(body), answer)
            }
            Err(error) => streams::iter([Err(error)]).boxed(),
        }
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities
    }

    fn name(&self) -> &str {
        &self.0.model
    }
}

impl fmt::Debug for GeminiChatModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GeminiChatModel")
            .field("model", &self.0.model)
            .field("endpoint", &self.0.target.whole)
            .finish_non_exhaustive()
    }
}

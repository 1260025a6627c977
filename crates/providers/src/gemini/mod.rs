//! Clients of Google's Gemini API.
//!
//! [`GeminiChatModel`] uses `models/…:generateContent` and `:streamGenerateContent?alt=sse`,
//! [`GeminiEmbeddingModel`] `:batchEmbedContents`.
//!
//! # Requests
//!
//! | message | encoding |
//! |---|---|
//! | system | a part of `systemInstruction`, whatever its position |
//! | user | `role: user`; media as `inlineData` (base64) or `fileData` (URL); names and the detail of images are not sent, because the API has none |
//! | assistant | `role: model` with text and `functionCall`s, without thinking; or the parts of the answer unchanged, see below |
//! | tool result | `functionResponse` with `{"output": …}`, or `{"error": …}` if the tool failed; always a text, because numbers of the API would round large integers |
//! | media in tool results | within the result for Gemini 3 and later, if they are PNG, JPEG, WebP or PDF as base64; else a reference in the result and the media right behind it |
//! | custom | the list under `parts`, or its attributes as one part; of the user, unless `role` is `model` |
//!
//! Consecutive messages of one role are merged. The provider fetches URLs: files of its own storage, and
//! for newer models public ones, which need a media type. If the media type is unknown, the end of the
//! URL decides.
//!
//! # Thinking
//!
//! With [`thought_summaries`](GeminiChatModelBuilder::thought_summaries), summaries are returned as
//! [`thinking`](ai_services_core::message::AiMessage::thinking). The model signs its thoughts, and requires
//! the signatures on the same parts in later requests. An answer with signatures, or with parts that a
//! message cannot represent, keeps all parts as
//! [`provider_content`](ai_services_core::message::AiMessage::provider_content), and they are sent back
//! unchanged. Calls of other providers' models are sent to Gemini 3 and later with the placeholder that
//! Google defines for missing signatures.
//!
//! # Calls without ids
//!
//! Most models return calls without ids. The client creates random ids for them and does not send these
//! to the provider.
//!
//! # Schemas
//!
//! The API has a schema dialect of its own, which all models know and which cannot express every schema,
//! and JSON Schema for models since Gemini 2.5. By default a schema is sent in the first dialect if that
//! can express it, else as JSON Schema: [`SchemaDialect`].
//!
//! # Streams
//!
//! A stream has no last event: it is complete once the model returned a finish reason and the body
//! ended. Calls arrive in one piece. An answer that ends early, a broken connection and an error of the
//! server fail the stream. The error has the usage known so far and the received part of the answer as a
//! [`PartialAnswer`](ai_services_core::model::PartialAnswer).
//!
//! # Failures
//!
//! A request that the content filter blocks fails with
//! [`ErrorKind::Refused`](ai_services_core::ErrorKind::Refused) and the reason as its
//! [`code`](ai_services_core::Error::code). An answer that the filter stopped is an answer, with
//! [`FinishReason::ContentFilter`](ai_services_core::model::FinishReason::ContentFilter). The client
//! retries statuses 408, 409, 429 and 5xx, after the delay that the error requests.

mod answer_parts;
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
mod schema;
mod server;
mod wire;

pub use builder::GeminiChatModelBuilder;
pub use embedding::{GeminiEmbeddingModel, GeminiEmbeddingModelBuilder};
pub use options::{HarmCategory, HarmThreshold, SchemaDialect, ThoughtSummaries};

use crate::http::{Endpoint, Server};
use crate::protocol::client::{Client, Protocol, chat_model};
use crate::protocol::request_prefix::Delivery;
use ai_services_core::Result;
#[cfg(doc)]
use ai_services_core::model::ChatModel;
use ai_services_core::model::{ChatRequest, ChatRequestParameters};
use name::ModelName;
use options::Options;
use parameters::ContentsPrefix;
use response::GeminiAssembly;
use std::borrow::Cow;
use std::sync::Arc;

/// The name under which messages keep the parts of an answer.
const PROTOCOL: &str = "gemini";

/// A chat model behind Google's Gemini API.
///
/// Clones share connections and settings. [`chat`](ChatModel::chat) returns whole answers,
/// [`stream`](ChatModel::stream) delivers them as they are written.
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
/// `error`, the names of the API. A schema that the API's own dialect cannot express is sent as JSON
/// Schema instead of being reduced.
#[derive(Clone)]
pub struct GeminiChatModel(Client<GenerateContent>);

chat_model! {
    GeminiChatModel, built by GeminiChatModelBuilder;

    /// Creates a model from environment variables.
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `GEMINI_API_KEY`, else `GOOGLE_API_KEY` | the key; optional if `GEMINI_BASE_URL` is not Google's |
    /// | `GEMINI_BASE_URL` | the server. Default: `https://generativelanguage.googleapis.com/v1beta` |
    /// | `GEMINI_MODEL` | the model. Default: `gemini-flash-latest` |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if a variable is missing
    /// or invalid; the message names the variable.
    from_env
}

/// The protocol of `generateContent` at one server.
struct GenerateContent {
    server: Arc<Server>,
    /// The endpoints of requests that name no model of their own.
    endpoints: ModelEndpoints,
    options: Options,
}

/// The endpoints of one model.
struct ModelEndpoints {
    whole: Endpoint,
    stream: Endpoint,
}

impl GenerateContent {
    fn new(server: Arc<Server>, model: ModelName<'_>, options: Options) -> Self {
        let [whole, stream] = [Delivery::Whole, Delivery::Stream]
            .map(|delivery| model_endpoint(&server, model, delivery));
        Self { server, endpoints: ModelEndpoints { whole, stream }, options }
    }
}

fn model_endpoint(server: &Arc<Server>, model: ModelName<'_>, delivery: Delivery) -> Endpoint {
    match delivery {
        Delivery::Whole => server.endpoint(&model.method("generateContent")),
        Delivery::Stream => {
            server.endpoint(&model.method("streamGenerateContent")).with_query("alt", "sse")
        }
    }
}

impl Protocol for GenerateContent {
    type Prefix = ContentsPrefix;
    type Assembly = GeminiAssembly;

    const PROVIDER: &'static str = "gcp.gemini";

    fn endpoint(&self) -> &Endpoint {
        &self.endpoints.whole
    }

    fn endpoint_of(&self, model: Option<&str>, delivery: Delivery) -> Result<Cow<'_, Endpoint>> {
        if let Some(model) = model {
            let model = ModelName::of(model)?;
            return Ok(Cow::Owned(model_endpoint(&self.server, model, delivery)));
        }
        Ok(Cow::Borrowed(match delivery {
            Delivery::Whole => &self.endpoints.whole,
            Delivery::Stream => &self.endpoints.stream,
        }))
    }

    fn prefix(
        &self,
        parameters: &ChatRequestParameters,
        model: &str,
        _delivery: Delivery,
    ) -> ContentsPrefix {
        ContentsPrefix::new(parameters, model, &self.options)
    }

    fn body(&self, request: &ChatRequest, prefix: &ContentsPrefix) -> Result<Vec<u8>> {
        request::body(request, prefix, self.options.schemas)
    }
}

/// Returns the events of a streamed answer that is already in memory.
#[cfg(feature = "_fuzzing")]
pub(crate) fn read_pieces(
    pieces: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<Result<ai_services_core::model::ModelStreamEvent>> {
    crate::protocol::stream::read_pieces(GeminiAssembly::with_ids(calls::Ids::fixed()), pieces)
}

//! The types of OpenAI Responses. The SDKs expect all fields, those without a value included.

use ai_services_core::model::TokenUsage;
use serde::Serialize;

/// A server-sent event.
#[derive(Serialize)]
pub(super) struct Event<T> {
    pub(super) r#type: &'static str,
    pub(super) sequence_number: u64,
    #[serde(flatten)]
    pub(super) body: T,
}

/// The response, complete or not.
#[derive(Serialize)]
pub(super) struct ResponseObject<'a> {
    pub(super) id: &'a str,
    pub(super) object: &'static str,
    pub(super) created_at: u64,
    pub(super) status: &'static str,
    pub(super) error: Option<ResponseError<'a>>,
    pub(super) incomplete_details: Option<IncompleteDetails>,
    pub(super) instructions: Option<()>,
    pub(super) metadata: Metadata,
    pub(super) model: &'a str,
    pub(super) output: &'a [MessageItem],
    pub(super) parallel_tool_calls: bool,
    pub(super) temperature: Option<()>,
    pub(super) tool_choice: &'static str,
    pub(super) tools: [(); 0],
    pub(super) top_p: Option<()>,
    pub(super) conversation: ConversationObject<'a>,
    pub(super) usage: Option<Usage>,
}

#[derive(Serialize)]
pub(super) struct ResponseError<'a> {
    pub(super) code: &'a str,
    pub(super) message: &'a str,
}

#[derive(Serialize)]
pub(super) struct IncompleteDetails {
    pub(super) reason: &'static str,
}

#[derive(Serialize)]
pub(super) struct Metadata {}

#[derive(Serialize)]
pub(super) struct ConversationObject<'a> {
    pub(super) id: &'a str,
}

/// A message of the answer.
#[derive(Serialize)]
pub(super) struct MessageItem {
    r#type: &'static str,
    pub(super) id: String,
    status: &'static str,
    role: &'static str,
    content: Vec<OutputText>,
}

#[derive(Clone, Serialize)]
pub(super) struct OutputText {
    r#type: &'static str,
    text: String,
    annotations: [(); 0],
    logprobs: [(); 0],
}

impl MessageItem {
    /// Creates a message that has no content yet.
    pub(super) fn begun(id: String) -> Self {
        Self::new(id, "in_progress", Vec::new())
    }

    pub(super) fn complete(id: String, text: OutputText) -> Self {
        Self::new(id, "completed", vec![text])
    }

    fn new(id: String, status: &'static str, content: Vec<OutputText>) -> Self {
        Self { r#type: "message", id, status, role: "assistant", content }
    }
}

impl OutputText {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { r#type: "output_text", text: text.into(), annotations: [], logprobs: [] }
    }
}

#[derive(Serialize)]
pub(super) struct ResponseBody<'a> {
    pub(super) response: ResponseObject<'a>,
}

#[derive(Serialize)]
pub(super) struct ItemBody<'a> {
    pub(super) output_index: usize,
    pub(super) item: &'a MessageItem,
}

/// The place of a text, and its field.
#[derive(Serialize)]
pub(super) struct ContentBody<'a, T> {
    pub(super) item_id: &'a str,
    pub(super) output_index: usize,
    pub(super) content_index: u32,
    #[serde(flatten)]
    pub(super) field: T,
}

#[derive(Serialize)]
pub(super) struct PartField<'a> {
    pub(super) part: &'a OutputText,
}

#[derive(Serialize)]
pub(super) struct DeltaField<'a> {
    pub(super) delta: &'a str,
    pub(super) logprobs: [(); 0],
}

#[derive(Serialize)]
pub(super) struct TextField<'a> {
    pub(super) text: &'a str,
    pub(super) logprobs: [(); 0],
}

#[derive(Serialize)]
pub(super) struct Usage {
    input_tokens: u64,
    input_tokens_details: InputDetails,
    output_tokens: u64,
    output_tokens_details: OutputDetails,
    total_tokens: u64,
}

#[derive(Serialize)]
struct InputDetails {
    cached_tokens: u64,
}

#[derive(Serialize)]
struct OutputDetails {
    reasoning_tokens: u64,
}

impl From<TokenUsage> for Usage {
    /// Counts that the provider did not report are 0, because the fields are required.
    fn from(usage: TokenUsage) -> Self {
        let cached_tokens = usage.cached_input.unwrap_or_default();
        let reasoning_tokens = usage.reasoning.unwrap_or_default();
        Self {
            input_tokens: usage.input.unwrap_or_default(),
            input_tokens_details: InputDetails { cached_tokens },
            output_tokens: usage.output.unwrap_or_default(),
            output_tokens_details: OutputDetails { reasoning_tokens },
            total_tokens: usage.total().unwrap_or_default(),
        }
    }
}

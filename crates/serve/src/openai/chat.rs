//! Chat completions.

use super::{finish_reason, json, now};
use crate::answer::{Encoder, texts};
use crate::endpoint::{Received, check_role, last_message, name_conversation};
use crate::frames::Frames;
use crate::problem::Problem;
use crate::state::ServerState;
use crate::turn::{Conversation, UserTurn, media, media_of};
use ai_services_core::answer::StreamEvent;
use ai_services_core::message::Content;
use ai_services_core::model::TokenUsage;
use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;
use uuid::Uuid;

/// Separates the text of an answer that called tools from the next text.
const PARAGRAPH: &str = "\n\n";

/// A request. The sampling settings of clients are not read.
#[derive(Deserialize)]
struct CompletionRequest<'a> {
    model: String,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    n: Option<u64>,
    #[serde(default, borrow)]
    tools: Option<Vec<&'a RawValue>>,
    #[serde(default, borrow)]
    functions: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    response_format: Option<ResponseFormat>,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct ResponseFormat {
    r#type: String,
}

#[derive(Deserialize)]
struct WireMessage {
    role: String,
    content: WireContents,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WireContents {
    Text(String),
    Parts(Vec<WirePart>),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WirePart {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
    File { file: WireFile },
}

#[derive(Deserialize)]
struct ImageUrl {
    url: String,
}

#[derive(Deserialize)]
struct WireFile {
    file_data: String,
}

/// Answers a request, whole or as a stream.
pub(crate) async fn chat_completions(
    State(server): State<Arc<ServerState>>,
    request: Request,
) -> Result<Response, Problem> {
    let received = Received::new(&server, request).await?;
    let request: CompletionRequest<'_> = received.json()?;
    check_supported(&request)?;
    let service = server.service(&request.model)?;
    let conversation = match received.head.headers.get(&server.conversation_header) {
        Some(name) => {
            let name = name
                .to_str()
                .map_err(|_| Problem::invalid("the name of the conversation is not ASCII"))?;
            Conversation::named(name)?
        }
        None => Conversation::new(),
    };
    let memory_id = server.memory_id(&received.principal, &conversation);
    let contents = contents(&request)?;
    let turn = UserTurn::new(received.principal.clone(), conversation, memory_id, contents)?;
    let mut answer = server.answer(service, &turn)?;
    let writer = ChatWriter::new(request.model.clone(), wants_usage(&request));
    let mut response = if request.stream.unwrap_or(false) {
        // An error before the first event still gets a status of its own.
        let first = answer.next().await?;
        answer.into_response(writer, Some(first))
    } else {
        let answer = answer.complete().await?;
        let reason = finish_reason(answer.finish_reason.as_ref());
        let text = texts(&answer).collect::<Vec<_>>().join(PARAGRAPH);
        json(&writer.completion(&text, reason, answer.token_usage))
    };
    name_conversation(&mut response, turn.conversation());
    Ok(response)
}

fn wants_usage(request: &CompletionRequest<'_>) -> bool {
    request.stream_options.as_ref().and_then(|options| options.include_usage).unwrap_or(false)
}

/// Refuses requests whose answer would silently differ from what the client expects.
fn check_supported(request: &CompletionRequest<'_>) -> Result<(), Problem> {
    let refused = |what: &'static str| {
        Err(Problem::new(StatusCode::BAD_REQUEST, "unsupported_parameter", what))
    };
    let has = |list: &Option<Vec<&RawValue>>| list.as_ref().is_some_and(|list| !list.is_empty());
    if has(&request.tools) || has(&request.functions) {
        return refused("the tools are the server's: `tools` and `functions` are not supported");
    }
    if request.n.is_some_and(|n| n != 1) {
        return refused("`n` must be 1");
    }
    if request.response_format.as_ref().is_some_and(|format| format.r#type != "text") {
        return refused("the form of the answer is the service's: `response_format` must be text");
    }
    Ok(())
}

fn contents(request: &CompletionRequest<'_>) -> Result<Vec<Content>, Problem> {
    let message: WireMessage = last_message(&request.messages)?;
    check_role(&message.role)?;
    match message.content {
        WireContents::Text(text) => Ok(vec![text.into()]),
        WireContents::Parts(parts) => parts.into_iter().map(content).collect(),
    }
}

fn content(part: WirePart) -> Result<Content, Problem> {
    match part {
        WirePart::Text { text } => Ok(text.into()),
        WirePart::ImageUrl { image_url } => media(&image_url.url),
        WirePart::File { file } if file.file_data.starts_with("data:") => media(&file.file_data),
        WirePart::File { file } => media_of("application/pdf", &file.file_data),
    }
}

/// Writes an answer in the form of chat completions.
struct ChatWriter {
    id: String,
    created: u64,
    model: String,
    wants_usage: bool,
    text: TextState,
}

/// The texts that were sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextState {
    None,
    /// Text since the last tool call.
    Current,
    /// Text before the last tool call only.
    Earlier,
}

#[derive(Serialize)]
struct Completion<'a, C> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: &'a [C],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

#[derive(Serialize)]
struct ChunkChoice<'a> {
    index: u32,
    delta: Delta<'a>,
    finish_reason: Option<&'static str>,
}

#[derive(Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
}

#[derive(Serialize)]
struct WholeChoice<'a> {
    index: u32,
    message: AnswerMessage<'a>,
    finish_reason: &'static str,
    logprobs: Option<()>,
}

#[derive(Serialize)]
struct AnswerMessage<'a> {
    role: &'static str,
    content: &'a str,
    refusal: Option<()>,
}

#[derive(Serialize)]
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    prompt_tokens_details: PromptDetails,
    completion_tokens_details: CompletionDetails,
}

#[derive(Serialize)]
struct PromptDetails {
    cached_tokens: u64,
}

#[derive(Serialize)]
struct CompletionDetails {
    reasoning_tokens: u64,
}

impl From<TokenUsage> for Usage {
    /// Counts that the provider did not report are 0, because the fields are required.
    fn from(usage: TokenUsage) -> Self {
        Self {
            prompt_tokens: usage.input.unwrap_or_default(),
            completion_tokens: usage.output.unwrap_or_default(),
            total_tokens: usage.total().unwrap_or_default(),
            prompt_tokens_details: PromptDetails {
                cached_tokens: usage.cached_input.unwrap_or_default(),
            },
            completion_tokens_details: CompletionDetails {
                reasoning_tokens: usage.reasoning.unwrap_or_default(),
            },
        }
    }
}

impl ChatWriter {
    fn new(model: String, wants_usage: bool) -> Self {
        let id = format!("chatcmpl-{}", Uuid::new_v4().simple());
        Self { id, created: now(), model, wants_usage, text: TextState::None }
    }

    fn completion(&self, text: &str, finish_reason: &'static str, usage: TokenUsage) -> Value {
        let message = AnswerMessage { role: "assistant", content: text, refusal: None };
        let choice = WholeChoice { index: 0, message, finish_reason, logprobs: None };
        let completion = Completion {
            id: &self.id,
            object: "chat.completion",
            created: self.created,
            model: &self.model,
            choices: &[choice],
            usage: Some(usage.into()),
        };
        serde_json::to_value(completion).unwrap_or_default()
    }

    fn chunk(&self, delta: Delta<'_>, finish_reason: Option<&'static str>, out: &mut Frames) {
        self.write(&[ChunkChoice { index: 0, delta, finish_reason }], None, out);
    }

    fn write(&self, choices: &[ChunkChoice<'_>], usage: Option<Usage>, out: &mut Frames) {
        out.data(&Completion {
            id: &self.id,
            object: "chat.completion.chunk",
            created: self.created,
            model: &self.model,
            choices,
            usage,
        });
    }

    fn write_text(&mut self, text: &str, out: &mut Frames) {
        if self.text == TextState::Earlier {
            self.chunk(Delta { content: Some(PARAGRAPH), ..Delta::default() }, None, out);
        }
        self.text = TextState::Current;
        self.chunk(Delta { content: Some(text), ..Delta::default() }, None, out);
    }
}

impl Encoder for ChatWriter {
    fn begin(&mut self, out: &mut Frames) {
        self.chunk(Delta { role: Some("assistant"), content: Some("") }, None, out);
    }

    fn event(&mut self, event: StreamEvent, out: &mut Frames) {
        match event {
            StreamEvent::Text(text) => self.write_text(&text, out),
            StreamEvent::ToolStarted(_) | StreamEvent::ToolFinished(_)
                if self.text == TextState::Current =>
            {
                self.text = TextState::Earlier;
            }
            StreamEvent::Completed(response) => {
                // The result of a tool can be the answer, without a text of the model.
                if self.text != TextState::Current && !response.value.is_empty() {
                    self.write_text(&response.value, out);
                }
                let reason = finish_reason(response.finish_reason.as_ref());
                self.chunk(Delta::default(), Some(reason), out);
                if self.wants_usage {
                    self.write(&[], Some(response.token_usage.into()), out);
                }
                out.done();
            }
            StreamEvent::Pending(pending) => {
                self.failed(&Problem::of_call(&(*pending).into(), None), out);
            }
            _ => {}
        }
    }

    fn failed(&mut self, problem: &Problem, out: &mut Frames) {
        out.data(&problem.body());
    }
}

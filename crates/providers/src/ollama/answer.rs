//! Answers, whole and streamed. Both have the same form.

use crate::http::Answer;
use crate::protocol::in_place::{List, object, read_slice};
use crate::protocol::tolerant::{Text, unquoted};
use ai_services_core::message::{AiMessage, ToolCall};
use ai_services_core::model::{ChatResponse, FinishReason, TokenUsage};
use ai_services_core::{Error, ErrorKind, Result};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::mem::take;

object! {
    /// A whole answer, or one line of a stream.
    pub(super) struct Reply<'a> {
        pub(super) model: Text<'a> = "model",
        pub(super) message: Option<Message<'a>> = "message",
        pub(super) done: Option<bool> = "done",
        pub(super) done_reason: Text<'a> = "done_reason",
        prompt_eval_count: Option<u64> = "prompt_eval_count",
        eval_count: Option<u64> = "eval_count",
        pub(super) error: Option<&'a RawValue> = "error",
    }

    pub(super) struct Message<'a> {
        pub(super) content: Text<'a> = "content",
        pub(super) thinking: Text<'a> = "thinking",
        pub(super) tool_calls: List<Call<'a>> = "tool_calls",
    }

    pub(super) struct Call<'a> {
        id: Text<'a> = "id",
        function: Function<'a> = "function",
    }

    struct Function<'a> {
        name: Text<'a> = "name",
        arguments: Option<&'a RawValue> = "arguments",
    }
}

impl Reply<'_> {
    pub(super) fn usage(&self) -> Option<TokenUsage> {
        let mut usage = TokenUsage::default();
        usage.input = self.prompt_eval_count;
        usage.output = self.eval_count;
        Some(usage).filter(|usage| !usage.is_empty())
    }
}

impl Call<'_> {
    /// Returns the call, with an id from `ids` if the server sent none.
    pub(super) fn take_call(&mut self, ids: &mut Ids) -> ToolCall {
        // An object by the protocol, a string at some imitating servers.
        let arguments = unquoted(self.function.arguments);
        let name = take(&mut self.function.name).into_owned().unwrap_or_default();
        let id = take(&mut self.id).into_some().map(Into::into);
        ToolCall::new(id.unwrap_or_else(|| ids.next()), name, arguments)
    }
}

/// Generated ids for calls without any. Ids differ between answers, because other providers that
/// continue the conversation require it.
#[derive(Default)]
pub(super) struct Ids {
    seed: u32,
    count: usize,
}

impl Ids {
    pub(super) fn random() -> Self {
        // The system seeds the state, which differs for every value.
        Self { seed: RandomState::new().hash_one(0_u8) as u32, count: 0 }
    }

    fn next(&mut self) -> Box<str> {
        self.count += 1;
        format!("call_{:08x}_{}", self.seed, self.count).into()
    }
}

/// Builds the message of an answer.
pub(super) fn message(text: String, thinking: String, calls: Vec<ToolCall>) -> AiMessage {
    let mut builder = AiMessage::builder();
    // Answers with calls have a text, which is usually empty.
    if calls.is_empty() || !text.is_empty() {
        builder = builder.text(text);
    }
    if !thinking.is_empty() {
        builder = builder.thinking(thinking);
    }
    builder.tool_calls(calls).build()
}

/// Returns the finish reason. Old servers send none.
pub(super) fn finish_reason(reason: Option<&str>, has_calls: bool) -> FinishReason {
    match reason.unwrap_or("stop") {
        "stop" | "" if has_calls => FinishReason::ToolExecution,
        "stop" | "" => FinishReason::Stop,
        "length" => FinishReason::Length,
        other => FinishReason::Other(other.into()),
    }
}

/// Reads a whole answer.
///
/// # Errors
///
/// The error that the answer reports, and [`ErrorKind::InvalidResponse`] for anything else that is
/// not an answer.
pub(super) fn read(answer: &Answer) -> Result<ChatResponse> {
    let mut reply = Reply::default();
    read_slice(&answer.body, &mut reply).map_err(|error| answer.unreadable(error))?;
    if reply.error.is_some() {
        return Err(answer.reported());
    }
    let usage = reply.usage().unwrap_or_default();
    let invalid = |message| {
        let error = Error::new(ErrorKind::InvalidResponse, message);
        answer.annotate(error.with_usage(usage))
    };
    if reply.done == Some(false) {
        return Err(invalid("the answer was cut off"));
    }
    let parts = reply.message.as_mut().ok_or_else(|| invalid("the answer has no message"))?;
    let mut ids = Ids::random();
    let calls: Vec<_> = parts.tool_calls.iter_mut().map(|call| call.take_call(&mut ids)).collect();
    let text = |text: &mut Text<'_>| text.0.take().map(Cow::into_owned).unwrap_or_default();
    let reason = reply.done_reason.into_some();
    Ok(ChatResponse {
        finish_reason: Some(finish_reason(reason.as_deref(), !calls.is_empty())),
        usage,
        model: reply.model.into_owned(),
        attempts: Some(answer.attempts),
        ..ChatResponse::new(message(text(&mut parts.content), text(&mut parts.thinking), calls))
    })
}

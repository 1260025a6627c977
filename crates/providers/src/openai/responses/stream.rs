//! Streamed answers of the responses API, event by event.

use super::calls::{Calls, Place};
use super::response::{self, FAILED, MISSING};
use super::wire::{AnswerContent, BETWEEN_THOUGHTS, Item, Items, Outcome, Response};
use crate::http::{Answer, Framing};
use crate::protocol::in_place::{object, read_str};
use crate::protocol::stream::{Assembly, EventError, MAX_CALLS, Progress};
use crate::protocol::tolerant::{Index, Text, unquoted};
use ai_services_core::message::ProviderContent;
use ai_services_core::model::{
    ChatResponse, FinishReason, ModelStreamEvent, PartialAnswer, TokenUsage,
};
use ai_services_core::{Error, ErrorKind, Result};
use serde_json::value::RawValue;
use std::mem::take;

/// The data of an additional last event of some servers.
const DONE: &str = "[DONE]";

object! {
    struct Event<'a> {
        kind: Text<'a> = "type",
        delta: Text<'a> = "delta",
        arguments: Option<&'a RawValue> = "arguments",
        item: Option<&'a RawValue> = "item",
        item_id: Text<'a> = "item_id",
        output_index: Index = "output_index",
        summary_index: Index = "summary_index",
        content_index: Index = "content_index",
        response: Option<&'a RawValue> = "response",
        error: Option<&'a RawValue> = "error",
    }
}

impl Event<'_> {
    fn place(&self) -> Place<'_> {
        Place { number: self.output_index.0, id: self.item_id.0.as_deref() }
    }
}

/// The identity of a thought: its form, its item and its number within the item.
#[derive(PartialEq)]
struct Thought {
    is_summary: bool,
    item: Option<u64>,
    /// The id of the item, if items have no numbers.
    item_id: Box<str>,
    number: Option<u64>,
}

/// The answer received so far.
#[derive(Default)]
pub(in crate::openai) struct ResponseAssembly {
    id: Option<Box<str>>,
    model: Option<Box<str>>,
    text: Option<String>,
    thinking: String,
    /// The thought that is being received.
    thought: Option<Thought>,
    refusal: String,
    calls: Calls,
    /// The finished items as raw JSON.
    items: Vec<Box<str>>,
    kept_items: Option<ProviderContent>,
    usage: TokenUsage,
    finish_reason: Option<FinishReason>,
}

type Emit<'a> = &'a mut dyn FnMut(ModelStreamEvent);

impl Assembly for ResponseAssembly {
    const FRAMING: Framing = Framing::Events;

    fn new() -> Self {
        Self::default()
    }

    fn add(&mut self, data: &str, emit: Emit<'_>) -> Result<Progress, EventError> {
        let data = data.trim_ascii();
        match data {
            "" => return Ok(Progress::More),
            DONE => return Ok(Progress::Done),
            _ => {}
        }
        let mut event = Event::default();
        read_str(data, &mut event).map_err(EventError::Unreadable)?;
        let kind = event.kind.0.as_deref().unwrap_or_default();
        if kind == "error" || (kind.is_empty() && event.error.is_some()) {
            return Err(EventError::Reported);
        }
        match kind {
            "response.output_text.delta" => self.add_text(&mut event.delta, emit),
            "response.refusal.delta" => {
                self.refusal.push_str(event.delta.0.as_deref().unwrap_or_default());
            }
            "response.reasoning_summary_text.delta" => self.add_thought(&mut event, true, emit),
            "response.reasoning_text.delta" => self.add_thought(&mut event, false, emit),
            "response.function_call_arguments.delta" => {
                let piece = event.delta.0.as_deref().unwrap_or_default();
                let new = self.calls.add_piece(&event.place(), piece);
                new.into_iter().for_each(|delta| emit(ModelStreamEvent::ToolCall(delta)));
            }
            "response.function_call_arguments.done" => {
                let new = self.calls.end(&event.place(), &unquoted(event.arguments));
                new.into_iter().for_each(|delta| emit(ModelStreamEvent::ToolCall(delta)));
            }
            "response.output_item.added" => self.add_item(&event, emit)?,
            "response.output_item.done" => {
                self.add_item(&event, emit)?;
                self.items.extend(event.item.map(|item| item.get().into()));
            }
            "response.created" | "response.in_progress" | "response.queued" => {
                self.read_head(event.response)?;
            }
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled"
            | "response.done" => {
                self.end(kind, event.response, emit)?;
                return Ok(Progress::Done);
            }
            // Repeated content, built-in tools, and unknown events.
            _ => {}
        }
        Ok(Progress::More)
    }

    fn is_complete(&self) -> bool {
        self.finish_reason.is_some()
    }

    fn usage(&self) -> TokenUsage {
        self.usage
    }

    fn into_response(self, attempts: u32) -> ChatResponse {
        let content = AnswerContent {
            text: self.text,
            thinking: self.thinking,
            refusal: self.refusal,
            calls: self.calls.into_calls(),
        };
        ChatResponse {
            usage: self.usage,
            finish_reason: self.finish_reason,
            model: self.model,
            id: self.id,
            attempts: Some(attempts),
            ..ChatResponse::new(content.into_message(self.kept_items))
        }
    }

    fn into_partial(self) -> PartialAnswer {
        PartialAnswer::new(self.text.unwrap_or_default())
            .with_thinking(self.thinking)
            .with_tool_calls(self.calls.into_calls())
    }

    fn read_whole(answer: &Answer) -> Result<ChatResponse> {
        response::read(answer)
    }
}

impl ResponseAssembly {
    fn add_text(&mut self, delta: &mut Text<'_>, emit: Emit<'_>) {
        let Some(text) = delta.0.take() else { return };
        self.text.get_or_insert_default().push_str(&text);
        if !text.is_empty() {
            emit(ModelStreamEvent::Text(text.into_owned()));
        }
    }

    fn add_thought(&mut self, event: &mut Event<'_>, is_summary: bool, emit: Emit<'_>) {
        let number = if is_summary { event.summary_index.0 } else { event.content_index.0 };
        let item = event.output_index.0;
        let item_id = event.item_id.0.take().filter(|_| item.is_none()).unwrap_or_default().into();
        let thought = Thought { is_summary, item, item_id, number };
        let Some(piece) = take(&mut event.delta).into_some() else { return };
        // A server that sends both forms of a thought is read in the form that arrived first.
        let is_other_form = |last: &Thought| {
            let is_same = last.item == thought.item && last.item_id == thought.item_id;
            is_same && last.is_summary != is_summary
        };
        if self.thought.as_ref().is_some_and(is_other_form) {
            return;
        }
        let is_next = self.thought.as_ref().is_some_and(|last| *last != thought);
        let piece = if is_next && !self.thinking.is_empty() {
            [BETWEEN_THOUGHTS, &piece].concat()
        } else {
            piece.into_owned()
        };
        self.thought = Some(thought);
        self.thinking.push_str(&piece);
        emit(ModelStreamEvent::Thinking(piece));
    }

    /// Adds a call that starts or ends. Other content of items arrives in its own events or with
    /// the last event.
    fn add_item(&mut self, event: &Event<'_>, emit: Emit<'_>) -> Result<(), EventError> {
        let Some(raw) = event.item else { return Ok(()) };
        let mut item = Item::default();
        read_str(raw.get(), &mut item).map_err(EventError::Unreadable)?;
        if item.kind() == "function_call"
            && let Some(delta) = self.calls.add_item(event.output_index.0, &mut item)?
        {
            emit(ModelStreamEvent::ToolCall(delta));
        }
        Ok(())
    }

    fn read_head(&mut self, raw: Option<&RawValue>) -> Result<(), EventError> {
        let Some(raw) = raw else { return Ok(()) };
        let mut response = Response::default();
        read_str(raw.get(), &mut response).map_err(EventError::Unreadable)?;
        self.keep(&response);
        Ok(())
    }

    fn keep(&mut self, response: &Response<'_>) {
        let some = |text: &Text<'_>| {
            let text = text.0.as_deref().filter(|text| !text.is_empty());
            text.map(Box::from)
        };
        self.id = some(&response.id).or(self.id.take());
        self.model = some(&response.model).or(self.model.take());
        self.usage = response.usage().unwrap_or(self.usage);
    }

    /// Ends the answer with the last event, which repeats the whole answer.
    fn end(
        &mut self,
        kind: &str,
        raw: Option<&RawValue>,
        emit: Emit<'_>,
    ) -> Result<(), EventError> {
        let failed = |kind, message| Err(EventError::Failed(Error::new(kind, message)));
        let raw = raw.map_or("{}", RawValue::get);
        let mut response = Response::default();
        read_str(raw, &mut response).map_err(EventError::Unreadable)?;
        self.keep(&response);
        let mut outcome = response.outcome();
        if response.status.0.is_none() {
            outcome = match kind {
                "response.failed" => Outcome::Failed,
                "response.cancelled" => Outcome::Missing,
                "response.incomplete" => {
                    response.status = Text(Some("incomplete".into()));
                    response.outcome()
                }
                _ => outcome,
            };
        }
        let stopped = match outcome {
            Outcome::Completed => None,
            Outcome::Incomplete(reason) => Some(reason),
            Outcome::Failed if response.error.is_some() => return Err(EventError::Reported),
            Outcome::Failed => return failed(ErrorKind::Unavailable, FAILED),
            Outcome::Missing => return failed(ErrorKind::InvalidResponse, MISSING),
        };
        let finished = take(&mut self.items);
        let finished: Items<'_> = finished.iter().map(|item| &**item).collect();
        let kept_items =
            self.extend(&response.take_items().unwrap_or_default(), &finished, emit)?;
        // Items of a truncated answer are not sent back.
        self.kept_items = kept_items.filter(|_| stopped.is_none());
        self.finish_reason = Some(stopped.unwrap_or_else(|| self.stopped_by_itself()));
        Ok(())
    }

    fn stopped_by_itself(&self) -> FinishReason {
        if self.calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolExecution }
    }

    /// Adds the missing parts of the answer from the items of the last event, or else from the
    /// finished items. Items that contradict the delivered pieces are ignored. Returns the items to
    /// keep.
    fn extend(
        &mut self,
        last: &Items<'_>,
        finished: &Items<'_>,
        emit: Emit<'_>,
    ) -> Result<Option<ProviderContent>, EventError> {
        for items in [last, finished] {
            if !items.is_empty() && self.add_rest(items.content(), emit)? {
                return Ok(items.to_keep());
            }
        }
        Ok(None)
    }

    /// Adds the missing parts of a whole answer. Returns whether the answer begins with the
    /// received pieces.
    fn add_rest(&mut self, whole: AnswerContent, emit: Emit<'_>) -> Result<bool, EventError> {
        if whole.calls.len() > MAX_CALLS {
            return Err(EventError::TooManyCalls);
        }
        let text = whole.text.as_deref().unwrap_or_default();
        let came = self.text.as_deref().unwrap_or_default();
        let Some(text_rest) = text.strip_prefix(came) else { return Ok(false) };
        let Some(calls) = self.calls.extend(&whole.calls) else { return Ok(false) };
        // The whole answer may have another form of the thinking than the pieces.
        let thinking = whole.thinking.strip_prefix(&*self.thinking).unwrap_or_default();
        if !thinking.is_empty() {
            emit(ModelStreamEvent::Thinking(thinking.to_owned()));
        }
        if !text_rest.is_empty() {
            emit(ModelStreamEvent::Text(text_rest.to_owned()));
        }
        calls.into_iter().for_each(|delta| emit(ModelStreamEvent::ToolCall(delta)));
        self.thinking.push_str(thinking);
        self.text = whole.text;
        if !whole.refusal.is_empty() {
            self.refusal = whole.refusal;
        }
        Ok(true)
    }
}

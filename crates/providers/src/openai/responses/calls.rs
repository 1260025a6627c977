//! Tool calls of streamed responses.

use super::wire::Item;
use crate::protocol::stream::{EventError, MAX_CALLS};
use ai_services_core::message::ToolCall;
use ai_services_core::model::ToolCallDelta;
use std::mem::take;

/// The calls received so far, in order of their first piece.
#[derive(Default)]
pub(super) struct Calls(Vec<PartialFunctionCall>);

/// The item that an event refers to. Either member may be missing or wrong: some servers do not
/// number their items, and some give an item another id with every event.
#[derive(Default)]
pub(super) struct Place<'a> {
    pub(super) number: Option<u64>,
    pub(super) id: Option<&'a str>,
}

struct PartialFunctionCall {
    number: Option<u64>,
    item: Box<str>,
    id: Box<str>,
    name: Box<str>,
    arguments: String,
}

impl PartialFunctionCall {
    fn is_at(&self, place: &Place<'_>) -> bool {
        match (self.number, place.number) {
            (Some(own), Some(number)) => own == number,
            _ => place.id.is_some_and(|id| *self.item == *id),
        }
    }
}

impl Calls {
    /// Adds the item of a call, at its start or end. Returns the new part of the call, if there is
    /// one.
    pub(super) fn add_item(
        &mut self,
        number: Option<u64>,
        item: &mut Item<'_>,
    ) -> Result<Option<ToolCallDelta>, EventError> {
        let item_id = item.id.0.as_deref().unwrap_or_default().to_owned();
        let place = Place { number, id: Some(&item_id) };
        let arguments = item.arguments();
        let call_id = item.take_call_id();
        let is_it = |call: &PartialFunctionCall| {
            call.is_at(&place) || (call.number.is_none() && *call.id == *call_id)
        };
        if let Some(index) = self.0.iter().rposition(is_it) {
            return Ok(self.complete(index, &arguments));
        }
        if self.0.len() >= MAX_CALLS {
            return Err(EventError::TooManyCalls);
        }
        let name = take(&mut item.name).into_owned().unwrap_or_default();
        let call = ToolCall::new(call_id, name, arguments);
        Ok(Some(self.begin(number, &item_id, &call)))
    }

    /// Adds a piece of arguments, by default to the last call. Without a started call, the piece is
    /// left to the item that follows.
    pub(super) fn add_piece(&mut self, place: &Place<'_>, piece: &str) -> Option<ToolCallDelta> {
        let index = self.position(place)?;
        self.push(index, piece)
    }

    /// Completes the arguments of a call.
    pub(super) fn end(&mut self, place: &Place<'_>, arguments: &str) -> Option<ToolCallDelta> {
        let index = self.position(place)?;
        self.complete(index, arguments)
    }

    /// Completes all calls. Returns the new parts, or `None` if `calls` contradict the received
    /// pieces.
    pub(super) fn extend(&mut self, calls: &[ToolCall]) -> Option<Vec<ToolCallDelta>> {
        let extends = |(own, call): (&PartialFunctionCall, &ToolCall)| {
            *own.id == *call.id()
                && *own.name == *call.name()
                && call.arguments().starts_with(&own.arguments)
        };
        if calls.len() < self.0.len() || !self.0.iter().zip(calls).all(extends) {
            return None;
        }
        let mut new = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            if index < self.0.len() {
                new.extend(self.complete(index, call.arguments()));
                continue;
            }
            new.push(self.begin(None, "", call));
        }
        Some(new)
    }

    fn begin(&mut self, number: Option<u64>, item: &str, call: &ToolCall) -> ToolCallDelta {
        let mut delta = ToolCallDelta::new(self.0.len()).with_arguments(call.arguments());
        if !call.id().is_empty() {
            delta = delta.with_id(call.id());
        }
        if !call.name().is_empty() {
            delta = delta.with_name(call.name());
        }
        self.0.push(PartialFunctionCall {
            number,
            item: item.into(),
            id: call.id().into(),
            name: call.name().into(),
            arguments: call.arguments().to_owned(),
        });
        delta
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn position(&self, place: &Place<'_>) -> Option<usize> {
        let named = self.0.iter().rposition(|call| call.is_at(place));
        named.or_else(|| {
            let last = self.0.len().checked_sub(1)?;
            let call = self.0.get(last)?;
            // Another number than that of the last call belongs to another item.
            (call.number.is_none() || place.number.is_none()).then_some(last)
        })
    }

    fn complete(&mut self, index: usize, arguments: &str) -> Option<ToolCallDelta> {
        let came = self.0.get(index)?.arguments.as_str();
        // Received pieces win over contradicting arguments.
        let rest = arguments.strip_prefix(came)?.to_owned();
        self.push(index, &rest)
    }

    fn push(&mut self, index: usize, piece: &str) -> Option<ToolCallDelta> {
        if piece.is_empty() {
            return None;
        }
        self.0.get_mut(index)?.arguments.push_str(piece);
        Some(ToolCallDelta::new(index).with_arguments(piece))
    }

    /// Returns the calls.
    pub(super) fn into_calls(self) -> Vec<ToolCall> {
        let call = |call: PartialFunctionCall| ToolCall::new(call.id, call.name, call.arguments);
        self.0.into_iter().map(call).collect()
    }
}

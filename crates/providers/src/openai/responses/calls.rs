//! Tool calls that come in pieces.

use super::wire::Item;
use crate::protocol::stream::{EventError, MAX_CALLS};
use ai_services_core::message::ToolCall;
use ai_services_core::model::ToolCallDelta;

/// The calls of an answer so far, in the order in which they began.
#[derive(Default)]
pub(super) struct Calls(Vec<Growing>);

/// Which item an event is about. Not all servers number their items, and some give an item another id
/// with every event, so that either may be missing or wrong.
#[derive(Default)]
pub(super) struct Place<'a> {
    pub(super) number: Option<u64>,
    pub(super) id: Option<&'a str>,
}

struct Growing {
    number: Option<u64>,
    item: Box<str>,
    id: Box<str>,
    name: Box<str>,
    arguments: String,
}

impl Growing {
    fn is_at(&self, place: &Place<'_>) -> bool {
        match (self.number, place.number) {
            (Some(own), Some(number)) => own == number,
            _ => place.id.is_some_and(|id| *self.item == *id),
        }
    }
}

impl Calls {
    /// Adds what an item says of a call at its beginning or end. Returns what is new, if anything is.
    pub(super) fn add_item(
        &mut self,
        number: Option<u64>,
        mut item: Item<'_>,
    ) -> Result<Option<ToolCallDelta>, EventError> {
        let item_id = item.id.0.as_deref().unwrap_or_default().to_owned();
        let place = Place { number, id: Some(&item_id) };
        let arguments = item.arguments();
        let call_id = item.take_call_id();
        let is_it =
            |call: &Growing| call.is_at(&place) || (call.number.is_none() && *call.id == *call_id);
        if let Some(index) = self.0.iter().rposition(is_it) {
            return Ok(self.complete(index, &arguments));
        }
        if self.0.len() >= MAX_CALLS {
            return Err(EventError::TooManyCalls);
        }
        let name = item.name.into_owned().unwrap_or_default();
        let call = ToolCall::new(call_id, name, arguments);
        Ok(Some(self.begin(number, &item_id, &call)))
    }

    /// Adds a piece of arguments, to the last call if it is not said to which. Without a call that has
    /// begun, it is left to the item that is yet to come.
    pub(super) fn add_piece(&mut self, place: &Place<'_>, piece: &str) -> Option<ToolCallDelta> {
        let index = self.position(place)?;
        self.push(index, piece)
    }

    /// Adds what is missing of arguments that are whole now.
    pub(super) fn end(&mut self, place: &Place<'_>, arguments: &str) -> Option<ToolCallDelta> {
        let index = self.position(place)?;
        self.complete(index, arguments)
    }

    /// Adds what is missing of calls that are all there now: `None` if they contradict what came, else
    /// what is new.
    pub(super) fn extend(&mut self, calls: &[ToolCall]) -> Option<Vec<ToolCallDelta>> {
        let extends = |(own, call): (&Growing, &ToolCall)| {
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
        self.0.push(Growing {
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
            // A number that is not the last call's belongs to something else.
            (call.number.is_none() || place.number.is_none()).then_some(last)
        })
    }

    fn complete(&mut self, index: usize, arguments: &str) -> Option<ToolCallDelta> {
        let came = self.0.get(index)?.arguments.as_str();
        // What came in pieces counts more than what contradicts it.
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

    /// The calls as they are.
    pub(super) fn into_calls(self) -> Vec<ToolCall> {
        let call = |call: Growing| ToolCall::new(call.id, call.name, call.arguments);
        self.0.into_iter().map(call).collect()
    }
}

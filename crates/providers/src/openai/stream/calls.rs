//! Tool calls that come in pieces.

use crate::openai::wire;
use crate::protocol::stream::{EventError, MAX_CALLS};
use ai_services_core::message::ToolCall;
use ai_services_core::model::ToolCallDelta;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The calls of an answer so far, in the order in which they began.
///
/// By the protocol every piece has the number of its call, and the first one its id and name. In
/// fact some servers number nothing, number everything 0, repeat id and name with every piece, or
/// give each piece an id of its own.
#[derive(Default)]
pub(super) struct Calls(Vec<Growing>);

#[derive(Default)]
struct Growing {
    /// The number that the server gave.
    index: Option<u64>,
    id: Box<str>,
    name: Box<str>,
    arguments: String,
    nesting: Nesting,
    extra_content: Option<Box<RawValue>>,
}

impl Calls {
    /// Adds a piece. Returns what is new in it, if anything is.
    pub(super) fn add(
        &mut self,
        piece: wire::Call<'_>,
    ) -> Result<Option<ToolCallDelta>, EventError> {
        let (index, arguments) = (piece.index.0, piece.arguments());
        if index.is_some_and(|index| index >= MAX_CALLS as u64) {
            return Err(EventError::TooManyCalls);
        }
        let id = piece.id.0.unwrap_or_default();
        let name = piece.function.name.0.unwrap_or_default();
        let position = match self.position(index, &id) {
            Some(at) if !self.begins_another(at, &id, &name, &arguments) => at,
            // A call begins with its first word.
            _ if id.is_empty() && name.is_empty() && arguments.is_empty() => return Ok(None),
            _ if self.0.len() >= MAX_CALLS => return Err(EventError::TooManyCalls),
            _ => {
                self.0.push(Growing { index, ..Growing::default() });
                self.0.len() - 1
            }
        };
        let Some(call) = self.0.get_mut(position) else { return Ok(None) };
        let mut delta = ToolCallDelta::new(position);
        if call.id.is_empty() && !id.is_empty() {
            call.id = id.as_ref().into();
            delta.id = Some(id.into());
        }
        if call.name.is_empty() && !name.is_empty() {
            call.name = name.as_ref().into();
            delta.name = Some(name.into());
        }
        if let Some(extra) = piece.extra_content {
            call.extra_content = Some(extra.to_owned());
        }
        call.arguments.push_str(&arguments);
        delta.arguments = Cow::into_owned(arguments);
        Ok(Some(delta).filter(|delta| *delta != ToolCallDelta::new(position)))
    }

    /// The call that a piece with this number and id seems to belong to.
    fn position(&self, index: Option<u64>, id: &str) -> Option<usize> {
        let last = |is_it: &dyn Fn(&Growing) -> bool| self.0.iter().rposition(is_it);
        match index {
            // The last one of that number: each call may be numbered 0.
            Some(_) => last(&|call| call.index == index),
            None if id.is_empty() => self.0.len().checked_sub(1),
            None => last(&|call| *call.id == *id)
                .or_else(|| last(&|_| true).filter(|last| self.is_without_id(*last))),
        }
    }

    fn is_without_id(&self, at: usize) -> bool {
        self.0.get(at).is_some_and(|call| call.id.is_empty())
    }

    /// Whether a piece is the first of a new call, although it looks like one of the call `at`.
    fn begins_another(&mut self, at: usize, id: &str, name: &str, arguments: &str) -> bool {
        let Some(call) = self.0.get_mut(at) else { return true };
        // Without a name it goes on with the last one, whatever its id: some servers give each
        // piece a new one.
        if name.is_empty() || call.name.is_empty() {
            return false;
        }
        if !id.is_empty() && !call.id.is_empty() {
            return *call.id != *id;
        }
        *call.name != *name || (!arguments.is_empty() && call.is_complete())
    }

    /// What the server said of each beside the protocol.
    pub(super) fn extra_contents(&self) -> Vec<Option<&RawValue>> {
        self.0.iter().map(|call| call.extra_content.as_deref()).collect()
    }

    /// The calls as they are.
    pub(super) fn into_calls(self) -> Vec<ToolCall> {
        let call = |call: Growing| ToolCall::new(call.id, call.name, call.arguments);
        self.0.into_iter().map(call).collect()
    }
}

impl Growing {
    /// Whether the arguments so far are a complete object.
    fn is_complete(&mut self) -> bool {
        self.nesting.read(&self.arguments)
    }
}

/// How deep a JSON text is nested at its end. Continues where it stopped, so that asking after each
/// piece costs no more than asking once.
#[derive(Default)]
struct Nesting {
    read: usize,
    depth: usize,
    is_text: bool,
    is_escaped: bool,
    has_begun: bool,
}

impl Nesting {
    /// Reads what is new in `text`, and says whether all that was opened is closed.
    fn read(&mut self, text: &str) -> bool {
        for byte in text.as_bytes().get(self.read..).unwrap_or_default() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_text => self.is_escaped = true,
                b'"' => self.is_text = !self.is_text,
                b'{' | b'[' if !self.is_text => {
                    self.depth += 1;
                    self.has_begun = true;
                }
                b'}' | b']' if !self.is_text => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.read = text.len();
        self.has_begun && self.depth == 0 && !self.is_text
    }
}

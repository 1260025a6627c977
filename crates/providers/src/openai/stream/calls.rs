//! Tool calls of streamed chat completions.

use crate::openai::wire;
use crate::protocol::stream::{EventError, MAX_CALLS};
use ai_services_core::message::ToolCall;
use ai_services_core::model::ToolCallDelta;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The calls received so far, in order of their first piece.
///
/// By the protocol every piece has the number of its call, and the first piece also the id and the
/// name. Some servers send no numbers, number every call 0, repeat the id and the name in every
/// piece, or give each piece another id.
#[derive(Default)]
pub(super) struct Calls(Vec<PartialCall>);

#[derive(Default)]
struct PartialCall {
    /// Number of the call, if the server sent one.
    index: Option<u64>,
    id: Box<str>,
    name: Box<str>,
    arguments: String,
    nesting: Nesting,
    extra_content: Option<Box<RawValue>>,
}

impl Calls {
    /// Adds a piece. Returns the new part of the call, if there is one.
    pub(super) fn add(
        &mut self,
        piece: &mut wire::Call<'_>,
    ) -> Result<Option<ToolCallDelta>, EventError> {
        let (index, arguments) = (piece.index.0, piece.arguments());
        if index.is_some_and(|index| index >= MAX_CALLS as u64) {
            return Err(EventError::TooManyCalls);
        }
        let id = piece.id.0.take().unwrap_or_default();
        let name = piece.function.name.0.take().unwrap_or_default();
        let position = match self.position(index, &id) {
            Some(at) if !self.starts_another(at, &id, &name, &arguments) => at,
            // An empty piece does not start a call.
            _ if id.is_empty() && name.is_empty() && arguments.is_empty() => return Ok(None),
            _ if self.0.len() >= MAX_CALLS => return Err(EventError::TooManyCalls),
            _ => {
                self.0.push(PartialCall { index, ..PartialCall::default() });
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

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the position of the call that a piece with this number and id probably belongs to.
    fn position(&self, index: Option<u64>, id: &str) -> Option<usize> {
        let last = |is_it: &dyn Fn(&PartialCall) -> bool| self.0.iter().rposition(is_it);
        match index {
            // The last call with the number, because every call may be numbered 0.
            Some(_) => last(&|call| call.index == index),
            None if id.is_empty() => self.0.len().checked_sub(1),
            None => last(&|call| *call.id == *id)
                .or_else(|| last(&|_| true).filter(|last| self.is_without_id(*last))),
        }
    }

    fn is_without_id(&self, at: usize) -> bool {
        self.0.get(at).is_some_and(|call| call.id.is_empty())
    }

    /// Returns whether a piece starts a new call, although it matches the call `at`.
    fn starts_another(&mut self, at: usize, id: &str, name: &str, arguments: &str) -> bool {
        let Some(call) = self.0.get_mut(at) else { return true };
        // A piece without a name continues the call whatever its id, because some servers give each
        // piece another id.
        if name.is_empty() || call.name.is_empty() {
            return false;
        }
        if !id.is_empty() && !call.id.is_empty() {
            return *call.id != *id;
        }
        *call.name != *name || (!arguments.is_empty() && call.is_complete())
    }

    /// Returns the `extra_content` of each call.
    pub(super) fn extra_contents(&self) -> Vec<Option<&RawValue>> {
        self.0.iter().map(|call| call.extra_content.as_deref()).collect()
    }

    /// Returns the calls.
    pub(super) fn into_calls(self) -> Vec<ToolCall> {
        let call = |call: PartialCall| ToolCall::new(call.id, call.name, call.arguments);
        self.0.into_iter().map(call).collect()
    }
}

impl PartialCall {
    /// Returns whether the arguments received so far are a complete object.
    fn is_complete(&mut self) -> bool {
        self.nesting.read(&self.arguments)
    }
}

/// The nesting depth at the end of a JSON text. Resumes at its last position, so that checking
/// after each piece takes linear time in total.
#[derive(Default)]
struct Nesting {
    read: usize,
    depth: usize,
    is_text: bool,
    is_escaped: bool,
    has_begun: bool,
}

impl Nesting {
    /// Reads the new part of `text`. Returns whether all brackets are closed.
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

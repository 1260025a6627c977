//! Playback of a recorded exchange.

use super::format::Exchange;
use ai_services_core::message::ToolCall;
use ai_services_core::model::{ModelStreamEvent, PartialAnswer, pieces};
use ai_services_core::{Error, ErrorKind, Result};

impl Exchange {
    /// Returns the events of a stream.
    pub(super) fn events(&self) -> Vec<Result<ModelStreamEvent>> {
        let recorded = self.pieces.iter().cloned().map(Ok);
        match &self.outcome {
            Ok(response) if self.pieces.is_empty() => {
                pieces(response.clone()).into_iter().map(Ok).collect()
            }
            Ok(response) => recorded
                .chain([Ok(ModelStreamEvent::Completed(Box::new(response.clone())))])
                .collect(),
            Err(_) => recorded.chain([Err(self.error())]).collect(),
        }
    }

    /// Returns the recorded error, with the partial answer that came before it.
    pub(super) fn error(&self) -> Error {
        let Err(recorded) = &self.outcome else {
            return Error::new(ErrorKind::Configuration, "the exchange has no error");
        };
        let error = recorded.to_error();
        if self.pieces.is_empty() {
            return error;
        }
        let (mut text, mut thinking) = (String::new(), String::new());
        let mut calls: Vec<(Box<str>, Box<str>, String)> = Vec::new();
        for piece in &self.pieces {
            match piece {
                ModelStreamEvent::Text(piece) => text.push_str(piece),
                ModelStreamEvent::Thinking(piece) => thinking.push_str(piece),
                ModelStreamEvent::ToolCall(delta) => {
                    if delta.index >= calls.len() {
                        calls.push(Default::default());
                    }
                    let Some(call) = calls.get_mut(delta.index) else { continue };
                    call.0 = delta.id.clone().unwrap_or(std::mem::take(&mut call.0));
                    call.1 = delta.name.clone().unwrap_or(std::mem::take(&mut call.1));
                    call.2.push_str(&delta.arguments);
                }
                ModelStreamEvent::Completed(_) => {}
            }
        }
        let calls =
            calls.into_iter().map(|(id, name, arguments)| ToolCall::new(id, name, arguments));
        let partial = PartialAnswer::new(text).with_thinking(thinking).with_tool_calls(calls);
        error.with_source(partial)
    }
}

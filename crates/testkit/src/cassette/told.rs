//! An exchange as a model tells it.

use super::format::Exchange;
use ai_services_core::message::ToolCall;
use ai_services_core::model::{ModelStreamEvent, PartialAnswer, pieces};
use ai_services_core::{Error, ErrorKind, Result};

impl Exchange {
    /// What a stream tells.
    pub(super) fn events(&self) -> Vec<Result<ModelStreamEvent>> {
        let told = self.pieces.iter().cloned().map(Ok);
        match &self.outcome {
            Ok(response) if self.pieces.is_empty() => {
                pieces(response.clone()).into_iter().map(Ok).collect()
            }
            Ok(response) => {
                told.chain([Ok(ModelStreamEvent::Completed(Box::new(response.clone())))]).collect()
            }
            Err(_) => told.chain([Err(self.error())]).collect(),
        }
    }

    /// The recorded error, with what had come before it.
    pub(super) fn error(&self) -> Error {
        let Err(fault) = &self.outcome else {
            return Error::new(ErrorKind::Configuration, "the exchange has no error");
        };
        let error = fault.to_error();
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

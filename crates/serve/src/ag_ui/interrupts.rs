//! The interrupts of a run.

use crate::decisions::Edits;
use crate::interrupt_id::{InterruptId, conversation_digest};
use ai_services_core::approval::{Elicitation, ElicitationKind, PendingCall, WaitsFor};
use ai_services_core::memory::MemoryId;
use serde_json::{Value, json};

/// Writes the calls of a turn that wait as interrupts.
pub(super) struct InterruptWriter {
    conversation: String,
    edits: Edits,
}

impl InterruptWriter {
    pub(super) fn new(memory_id: &MemoryId, edits: Edits) -> Self {
        Self { conversation: conversation_digest(memory_id), edits }
    }

    /// Returns the part of an id that names the conversation.
    pub(super) fn conversation(&self) -> &str {
        &self.conversation
    }

    /// Adds the interrupts of a call: one, or one for each of its questions.
    pub(super) fn write(&self, id: &InterruptId, call: &PendingCall, out: &mut Vec<Value>) {
        match &call.waits_for {
            WaitsFor::Approval => out.push(json!({
                "id": id.to_string(),
                "reason": "tool_call",
                "message": format!("`{}` needs approval", call.tool),
                "toolCallId": id.call_id,
                "responseSchema": self.approval_schema(),
            })),
            WaitsFor::Answers(questions) => {
                let questions = questions.iter().enumerate();
                out.extend(questions.map(|(index, asked)| question(&id.of_question(index), asked)));
            }
            // A task, which needs no decision.
            _ => out.push(json!({
                "id": id.to_string(),
                "reason": "ai-services:task",
                "message": format!("`{}` is still running", call.tool),
                "toolCallId": id.call_id,
            })),
        }
    }

    /// Returns the schema of a decision about a call. `editedArgs` is present if clients may edit.
    fn approval_schema(&self) -> Value {
        let mut properties = json!({
            "approved": { "type": "boolean" },
            "reason": { "type": "string", "description": "The reason of a denial." },
        });
        if let (Edits::Accepted, Some(properties)) = (self.edits, properties.as_object_mut()) {
            let description = "Replaces the arguments of the call.";
            let arguments = json!({ "type": "object", "description": description });
            properties.insert("editedArgs".to_owned(), arguments);
        }
        json!({ "type": "object", "properties": properties, "required": ["approved"] })
    }
}

/// Returns the interrupt of a question of a tool to the user.
fn question(id: &InterruptId, question: &Elicitation) -> Value {
    let Elicitation { server, message, kind, .. } = question;
    let mut interrupt = json!({
        "id": id.to_string(),
        "reason": "input_required",
        "message": format!("{server}: {message}"),
        "toolCallId": id.call_id,
    });
    if let Some(fields) = interrupt.as_object_mut() {
        match kind {
            ElicitationKind::Form { schema } => {
                fields.insert("responseSchema".to_owned(), schema.clone());
            }
            ElicitationKind::Url { url } => {
                fields.insert("metadata".to_owned(), json!({ "url": url }));
            }
            _ => {}
        }
    }
    interrupt
}

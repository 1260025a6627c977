//! Answers of the demonstration model.

use super::intent::{Intent, PlannedCall, introduced};
use ai_services::message::{AiMessage, ChatMessage, Content, ToolCall, ToolResult};
use ai_services::model::ChatRequest;
use serde_json::Value;

const HELP: &str = "\
I am the **offline demonstration model**, not a language model: I follow a few rules and understand
- `my name is Ann`, `what is my name?`, `what did I say?`
- `12*31`, `what is 17% of 340?`
- `what time is it?`
- `remember that …`, `list my notes`, `forget note 1`";

/// Number of earlier messages that are repeated.
const REPEATED_MESSAGES: usize = 5;

/// Returns the answer to a request.
pub(super) fn reply(request: &ChatRequest) -> AiMessage {
    let messages: Vec<&ChatMessage> = request.messages().collect();
    let Some(question) = messages.iter().rposition(|message| message.is_user()) else {
        return AiMessage::new(HELP);
    };
    let (before, turn) = messages.split_at(question);
    if turn.iter().any(|message| message.is_tool_result()) {
        return AiMessage::new(summarize_results(turn));
    }
    let text = turn.first().and_then(|message| message.text()).unwrap_or_default();
    match Intent::of(text) {
        Intent::Introduction(name) => AiMessage::new(format!("Nice to meet you, {name}.")),
        Intent::Name => AiMessage::new(match name_in(before) {
            Some(name) => format!("Your name is {name}."),
            None => "You have not told me your name.".to_owned(),
        }),
        Intent::History => AiMessage::new(history(before)),
        Intent::Greeting => AiMessage::new(match name_in(before) {
            Some(name) => format!("Hello {name}! I am the offline demonstration model."),
            None => "Hello! I am the offline demonstration model. Type `help` to begin.".into(),
        }),
        Intent::Tools(planned) => call(request, turn.len() + before.len(), &planned),
        Intent::Help => AiMessage::new(HELP),
    }
}

/// Calls the planned tools. Without one of them in the request, answers that it is missing.
fn call(request: &ChatRequest, at: usize, planned: &[PlannedCall]) -> AiMessage {
    let offered = |name: &str| request.tools().as_slice().iter().any(|tool| *tool.name == *name);
    if let Some(missing) = planned.iter().find(|call| !offered(call.tool)) {
        let tool = missing.tool;
        return AiMessage::new(format!("That needs the tool `{tool}`, which is not available."));
    }
    let calls = planned.iter().enumerate().map(|(index, call)| {
        ToolCall::new(format!("demo-{at}-{index}"), call.tool, call.arguments.to_string())
    });
    AiMessage::builder().tool_calls(calls).build()
}

/// Returns the last name that the user gave in the history.
fn name_in(history: &[&ChatMessage]) -> Option<String> {
    user_texts(history).rev().find_map(introduced)
}

fn history(before: &[&ChatMessage]) -> String {
    let texts: Vec<&str> = user_texts(before).collect();
    if texts.is_empty() {
        return "This is the first thing you have said, as far as I remember.".to_owned();
    }
    let last = texts.get(texts.len().saturating_sub(REPEATED_MESSAGES)..).unwrap_or_default();
    format!("You said: {}", last.join(" / "))
}

/// Returns the texts of the user messages.
fn user_texts<'a>(messages: &'a [&'a ChatMessage]) -> impl DoubleEndedIterator<Item = &'a str> {
    messages.iter().filter(|message| message.is_user()).filter_map(|message| message.text())
}

/// Summarizes the tool results of this turn in words.
fn summarize_results(turn: &[&ChatMessage]) -> String {
    let calls = || turn.iter().flat_map(|message| message.tool_calls());
    let results = turn.iter().filter_map(|message| match message {
        ChatMessage::ToolResult(result) => Some(result),
        _ => None,
    });
    let lines = results.map(|result| {
        let arguments = calls().find(|call| call.id() == result.id());
        let arguments = arguments.and_then(|call| serde_json::from_str(call.arguments()).ok());
        sentence(result, &arguments.unwrap_or_default())
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn sentence(result: &ToolResult, arguments: &Value) -> String {
    let text = result.contents().iter().find_map(Content::text).unwrap_or_default();
    if result.is_error() {
        return format!("That did not work: {text}.");
    }
    // Behind the result of an edited call stands a note about its arguments.
    let first = || serde_json::Deserializer::from_str(text).into_iter().next()?.ok();
    let note = || first().map_or_else(|| text.to_owned(), |note| numbered(&note));
    match result.tool_name() {
        "calculate" => {
            let expression = arguments["expression"].as_str().unwrap_or("the result");
            match text.strip_prefix("approx. ") {
                Some(number) => format!("{expression} ≈ {number}"),
                None => format!("{expression} = {text}"),
            }
        }
        "current_date_time" => format!("It is {text}."),
        "add_note" => format!("Noted as {}.", note()),
        "forget_note" => format!("Forgotten: {}.", note()),
        "list_notes" => match serde_json::from_str::<Vec<Value>>(text) {
            Ok(notes) if notes.is_empty() => "You have no notes.".to_owned(),
            Ok(notes) => notes.iter().map(numbered).collect::<Vec<_>>().join("\n"),
            Err(_) => text.to_owned(),
        },
        name => format!("`{name}` returned: {text}"),
    }
}

fn numbered(note: &Value) -> String {
    format!("{}: {}", note["number"], note["text"].as_str().unwrap_or_default())
}

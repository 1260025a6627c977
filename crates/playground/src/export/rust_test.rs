//! A turn as a Rust test.

use ai_services_core::approval::WaitsFor;
use ai_services_core::message::{ChatMessage, Content, ToolResult};
use ai_services_core::model::ChatResponse;
use ai_services_core::record::{RecordedError, StepKind, TurnOutcome, TurnRecord};
use std::fmt::Write;

/// The way in which the method returns its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// A future of the answer.
    Whole,
    /// A stream of events.
    Streamed,
}

/// Returns a test that answers the user message of a turn with the recorded answers of the model and the recorded results
/// of its tools.
pub(crate) fn rust_test(record: &TurnRecord, delivery: Delivery) -> String {
    let TurnRecord { service, method, .. } = record;
    let name = format!("{}_{}_answers_as_recorded", snake_case(service), snake_case(method));
    let mut test = String::from(
        "// Recorded by the playground. Adapt the lines with a comment at their end.\n",
    );
    line(&mut test, 0, "#[tokio::test]");
    line(&mut test, 0, &format!("async fn {name}() -> ai_services::Result<()> {{"));
    write_imports(&mut test, record);
    line(&mut test, 1, "let model = ScriptedChatModel::new([");
    record.steps.iter().for_each(|step| write_answer(&mut test, &step.kind));
    if is_cancelled(record) {
        // Ends the turn where it was cancelled.
        line(&mut test, 2, "ScriptedAnswer::error(ErrorKind::Unavailable, \"cancelled\"),");
    }
    line(&mut test, 1, "]);");
    write_service(&mut test, record);
    write_call(&mut test, record, delivery);
    line(&mut test, 1, "model.check_finished()");
    line(&mut test, 0, "}");
    if calls_tools(record) {
        write_recorded_tool(&mut test);
    }
    test
}

fn write_imports(test: &mut String, record: &TurnRecord) {
    let answers = || record.steps.iter().filter_map(|step| response(&step.kind));
    let has_calls = answers().any(|answer| !answer.message.tool_calls().is_empty());
    let fails = record.steps.iter().any(|step| matches!(step.kind, StepKind::RequestFailed(_)));
    let is_suspended = matches!(record.outcome, TurnOutcome::Suspended(_));
    let is_failed = matches!(record.outcome, TurnOutcome::Failed(_)) || is_cancelled(record);
    let imports = [
        (is_suspended, "ai_services::DurableTurns"),
        (fails || is_failed || is_suspended, "ai_services::ErrorKind"),
        (record.memory_id.is_some(), "ai_services::memory::{MemoryId, MessageWindowChatMemory}"),
        (answers().next().is_some() && has_calls, "ai_services::message::{AiMessage, ToolCall}"),
        (answers().next().is_some() && !has_calls, "ai_services::message::AiMessage"),
        (answers().next().is_some(), "ai_services::model::ChatResponse"),
        (true, "ai_services::testing::{ScriptedAnswer, ScriptedChatModel}"),
    ];
    for (_, path) in imports.iter().filter(|(is_used, _)| *is_used) {
        line(test, 1, &format!("use {path};"));
    }
    test.push('\n');
}

fn is_cancelled(record: &TurnRecord) -> bool {
    matches!(record.outcome, TurnOutcome::Cancelled)
}

/// Writes the answer or the error of a request.
fn write_answer(test: &mut String, step: &StepKind) {
    if let StepKind::RequestFailed(error) = step {
        let RecordedError { kind, message, .. } = &**error;
        let message = literal(message);
        line(test, 2, &format!("ScriptedAnswer::error(ErrorKind::{kind}, {message}),"));
    }
    let Some(ChatResponse { message, .. }) = response(step) else { return };
    line(test, 2, "ScriptedAnswer::from(ChatResponse::new(");
    line(test, 3, "AiMessage::builder()");
    if let Some(thinking) = message.thinking() {
        line(test, 4, &format!(".thinking({})", literal(thinking)));
    }
    if let Some(text) = message.text() {
        line(test, 4, &format!(".text({})", literal(text)));
    }
    if !message.tool_calls().is_empty() {
        line(test, 4, ".tool_calls([");
        for call in message.tool_calls() {
            let [id, name, arguments] = [call.id(), call.name(), call.arguments()].map(literal);
            line(test, 5, &format!("ToolCall::new({id}, {name}, {arguments}),"));
        }
        line(test, 4, "])");
    }
    line(test, 4, ".build(),");
    line(test, 2, ")),");
}

/// Writes the service, with tools that return the recorded results.
fn write_service(test: &mut String, record: &TurnRecord) {
    line(test, 1, &format!("let service = {}Service::builder()", record.service));
    line(test, 2, ".chat_model(model.clone())");
    if record.memory_id.is_some() {
        line(test, 2, ".chat_memory_provider(|id: &MemoryId| {");
        line(test, 3, "MessageWindowChatMemory::builder().id(id).max_messages(100).build()");
        line(test, 2, "})");
    }
    let waiting = waiting_tools(record);
    if calls_tools(record) {
        line(test, 2, ".tools(vec![");
        let recorded = recorded_results(record).into_iter();
        for (name, results) in recorded.filter(|(name, _)| !waiting.contains(name)) {
            let results = results.join(", ");
            let name = literal(name);
            line(test, 3, &format!("recorded_tool({name}, &[{results}]),"));
        }
        for name in &waiting {
            line(test, 3, &format!("recorded_tool({}, &[]).requiring_approval(),", literal(name)));
        }
        line(test, 2, "]) // or the tools of the service");
    }
    if matches!(record.outcome, TurnOutcome::Suspended(_)) {
        line(test, 2, ".durable_turns(DurableTurns::new())");
    }
    line(test, 2, ".build()?; // guardrails and other settings");
}

/// Writes the call of the method, and the check of its outcome.
fn write_call(test: &mut String, record: &TurnRecord, delivery: Delivery) {
    let text = literal(user_text(record));
    let id = record.memory_id.as_deref().map(literal);
    let id = id.map(|id| format!("&MemoryId::from({id}), ")).unwrap_or_default();
    let collect = if delivery == Delivery::Streamed { ".collect()" } else { "" };
    let call = format!("service.{}({id}{text}){collect}.await", record.method);
    let check = match &record.outcome {
        TurnOutcome::Completed => {
            let value = if delivery == Delivery::Streamed { ".value" } else { "" };
            line(test, 1, &format!("let answer = {call}?{value}; // the parameters of the method"));
            let mut answers = record.steps.iter().filter_map(|step| response(&step.kind));
            let text =
                answers.next_back().and_then(|answer| answer.message.text()).unwrap_or_default();
            line(test, 1, &format!("assert_eq!(answer, {});", literal(text)));
            return;
        }
        TurnOutcome::Suspended(_) => "assert_eq!(error.kind(), ErrorKind::Suspended);".to_owned(),
        TurnOutcome::Failed(error) => {
            format!("assert_eq!(error.kind(), ErrorKind::{});", error.kind)
        }
        _ => "assert_eq!(error.kind(), ErrorKind::Unavailable);".to_owned(),
    };
    line(test, 1, &format!("let error = {call}.unwrap_err(); // the parameters of the method"));
    line(test, 1, &check);
}

/// Writes the function that creates a tool.
fn write_recorded_tool(test: &mut String) {
    test.push_str(
        r#"
/// Creates a tool that returns the recorded result for its arguments.
fn recorded_tool(
    name: &str,
    results: &'static [(&str, Result<&str, &str>)],
) -> ai_services::tool::Tool {
    use ai_services::model::ToolSpecification;
    use ai_services::tool::{Tool, ToolError, ToolInput, ToolOutput};

    let specification = ToolSpecification::new(name, "A recorded tool.");
    Tool::from_fn(specification, move |input: ToolInput| async move {
        let arguments = input.call().arguments();
        let recorded = results.iter().find(|(known, _)| *known == arguments);
        let (_, result) = recorded.ok_or_else(|| ToolError::new("the call was not recorded"))?;
        result.map(ToolOutput::text).map_err(ToolError::new)
    })
}
"#,
    );
}

fn calls_tools(record: &TurnRecord) -> bool {
    !recorded_results(record).is_empty() || !waiting_tools(record).is_empty()
}

/// Returns the tools that have run, each with its results as pairs of arguments and result.
fn recorded_results(record: &TurnRecord) -> Vec<(&str, Vec<String>)> {
    let mut tools: Vec<(&str, Vec<String>)> = Vec::new();
    let started = |id: &str| {
        record.steps.iter().find_map(|step| match &step.kind {
            StepKind::ToolStarted { id: known, name, arguments } if **known == *id => {
                Some((&**name, &**arguments))
            }
            _ => None,
        })
    };
    for step in &record.steps {
        let StepKind::ToolFinished { id, result, .. } = &step.kind else { continue };
        let ChatMessage::ToolResult(result) = result else { continue };
        let Some((name, arguments)) = started(id) else { continue };
        let recorded = format!("({}, {})", literal(arguments), result_literal(result));
        match tools.iter_mut().find(|(known, _)| *known == name) {
            Some((_, results)) => results.push(recorded),
            None => tools.push((name, vec![recorded])),
        }
    }
    tools
}

fn result_literal(result: &ToolResult) -> String {
    let texts: Vec<&str> = result.contents().iter().filter_map(Content::text).collect();
    let text = literal(&texts.join("\n"));
    if result.is_error() { format!("Err({text})") } else { format!("Ok({text})") }
}

/// Returns the names of the tools that wait for approval.
fn waiting_tools(record: &TurnRecord) -> Vec<&str> {
    let TurnOutcome::Suspended(pending) = &record.outcome else { return Vec::new() };
    let calls = pending.calls.iter().filter(|call| call.waits_for == WaitsFor::Approval);
    let mut names: Vec<&str> = calls.map(|call| call.tool.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the text of the user message. The record of a resumed turn has it in its first request only.
fn user_text(record: &TurnRecord) -> &str {
    let sent = || record.messages_of(0).into_iter().rfind(|message| message.is_user());
    let user = record.user_message.as_ref().or_else(sent);
    user.and_then(ChatMessage::text).unwrap_or_default()
}

fn response(step: &StepKind) -> Option<&ChatResponse> {
    match step {
        StepKind::ResponseReceived(response) => Some(response),
        _ => None,
    }
}

fn line(test: &mut String, indentation: usize, text: &str) {
    // Writing to a `String` does not fail.
    let _ = writeln!(test, "{}{text}", "    ".repeat(indentation));
}

/// Returns a text as a Rust literal, raw if that is shorter to read.
fn literal(text: &str) -> String {
    // Characters that are shown as they are.
    let is_plain = text.chars().all(|c| "\"'\\".contains(c) || c.escape_debug().len() == 1);
    if is_plain && (text.contains('"') || text.contains('\\')) {
        // More marks than any sequence of them in the text.
        let longest = text.split(|c| c != '#').map(str::len).max().unwrap_or(0);
        let marks = "#".repeat(longest + 1);
        return format!("r{marks}\"{text}\"{marks}");
    }
    format!("{text:?}")
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for c in name.trim_start_matches("r#").chars() {
        if c.is_uppercase() && !snake.is_empty() && !snake.ends_with('_') {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_have_the_text() {
        for (text, expected) in [
            ("plain", "\"plain\""),
            ("{\"a\":1}", "r#\"{\"a\":1}\"#"),
            ("\"#", "r##\"\"#\"##"),
            ("a\nb\"", "\"a\\nb\\\"\""),
            ("\u{202e}\"", "\"\\u{202e}\\\"\""),
        ] {
            assert_eq!(literal(text), expected);
        }
    }

    #[test]
    fn names_become_snake_case() {
        assert_eq!(snake_case("CustomerSupport"), "customer_support");
        assert_eq!(snake_case("r#try"), "try");
    }
}

//! A turn as a Rust test.

use ai_services_core::message::ChatMessage;
use ai_services_core::model::ChatResponse;
use ai_services_core::record::{StepKind, TurnRecord};
use std::fmt::Write;

/// Returns a test that answers the user message of a turn with the recorded responses of the model.
pub(crate) fn rust_test(record: &TurnRecord) -> String {
    let TurnRecord { service, method, .. } = record;
    let name = format!("{}_{}_answers_as_recorded", snake_case(service), snake_case(method));
    let user = record.user_message.as_ref().and_then(ChatMessage::text).unwrap_or_default();
    let responses: Vec<&ChatResponse> = record.steps.iter().filter_map(response).collect();
    let mut test = String::from(
        "// Recorded by the playground. Complete the lines with a comment at their end.\n",
    );
    line(&mut test, 0, "#[tokio::test]");
    line(&mut test, 0, &format!("async fn {name}() -> ai_services::Result<()> {{"));
    line(&mut test, 1, "use ai_services::message::{AiMessage, ToolCall};");
    line(&mut test, 1, "use ai_services::model::ChatResponse;");
    line(&mut test, 1, "use ai_services::testing::ScriptedChatModel;");
    test.push('\n');
    line(&mut test, 1, "let model = ScriptedChatModel::new([");
    responses.iter().for_each(|response| write_response(&mut test, response));
    line(&mut test, 1, "]);");
    line(&mut test, 1, &format!("let service = {service}Service::builder()"));
    line(&mut test, 2, ".chat_model(model.clone())");
    line(&mut test, 2, ".build()?; // memory and tools");
    let text = literal(user);
    line(
        &mut test,
        1,
        &format!("let answer = service.{method}({text}).await?; // other parameters"),
    );
    if let Some(answer) = responses.last().and_then(|response| response.message.text()) {
        line(&mut test, 1, &format!("assert_eq!(answer, {});", literal(answer)));
    }
    let count = responses.len();
    line(&mut test, 1, &format!("assert_eq!(model.requests().len(), {count});"));
    line(&mut test, 1, "Ok(())");
    line(&mut test, 0, "}");
    test
}

fn response(step: &ai_services_core::record::TurnStep) -> Option<&ChatResponse> {
    match &step.kind {
        StepKind::ResponseReceived(response) => Some(response),
        _ => None,
    }
}

fn write_response(test: &mut String, response: &ChatResponse) {
    let message = &response.message;
    line(test, 2, "ChatResponse::new(");
    line(test, 3, "AiMessage::builder()");
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
    line(test, 2, "),");
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

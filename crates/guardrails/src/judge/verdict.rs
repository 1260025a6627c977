//! Reading what a judge said.

use ai_services_core::guardrail::json::inside_fence;
use ai_services_core::model::{
    Capabilities, Capability, ChatRequestParameters, ChatResponse, FinishReason, ResponseFormat,
};
use ai_services_core::{Error, ErrorKind, Result};
use schemars::json_schema;
use serde::Deserialize;

/// The longest reason, in characters. It goes into errors and prompts.
const MAX_REASON: usize = 500;

#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    Accept,
    /// With the reason, if there is one.
    Reject(Option<String>),
}

#[derive(Deserialize)]
struct Said {
    verdict: String,
    reason: Option<String>,
}

/// Asks for a verdict in the strictest form that the model can.
pub(super) fn parameters(capabilities: Capabilities) -> ChatRequestParameters {
    let format = if capabilities.include(Capability::JsonSchema) {
        let schema = json_schema!({
            "type": "object",
            "properties": {
                "reason": { "type": "string" },
                "verdict": { "type": "string", "enum": ["accept", "reject"] }
            },
            "required": ["reason", "verdict"],
            "additionalProperties": false
        });
        ResponseFormat::JsonSchema { name: "verdict".into(), schema: Box::new(schema) }
    } else if capabilities.include(Capability::JsonObject) {
        ResponseFormat::JsonObject
    } else {
        return ChatRequestParameters::new();
    };
    ChatRequestParameters::new().response_format(format)
}

/// The verdict.
///
/// # Errors
///
/// If it is none. What was said is content and not repeated.
pub(super) fn read(response: &ChatResponse, judge: &str) -> Result<Verdict> {
    if response.message.refusal().is_some() {
        let message = format!("the model of the judge `{judge}` refused to answer");
        return Err(Error::new(ErrorKind::Refused, message));
    }
    let text = response.message.text().unwrap_or_default();
    parse(text).ok_or_else(|| {
        let why = match &response.finish_reason {
            Some(FinishReason::Length) => {
                "it was cut off at its longest length; allow more with `max_output_tokens`"
            }
            _ => "expected `accept`, `reject`, or JSON with a `verdict`",
        };
        Error::new(
            ErrorKind::InvalidResponse,
            format!("the verdict of the judge `{judge}` cannot be read: {why}"),
        )
    })
}

fn parse(text: &str) -> Option<Verdict> {
    let text = after_thinking(text)?.trim();
    let text = inside_fence(text).unwrap_or(text);
    match serde_json::from_str::<Said>(text) {
        Ok(said) => word(&said.verdict, said.reason),
        Err(_) => word(text, None),
    }
}

fn word(verdict: &str, reason: Option<String>) -> Option<Verdict> {
    let word = verdict.trim().trim_end_matches('.');
    if word.eq_ignore_ascii_case("accept") {
        return Some(Verdict::Accept);
    }
    word.eq_ignore_ascii_case("reject").then(|| {
        let reason = reason.map(|reason| reason.trim().chars().take(MAX_REASON).collect());
        Verdict::Reject(reason.filter(|reason: &String| !reason.is_empty()))
    })
}

/// The text without the thoughts that some models write before it; `None` if they do not end.
fn after_thinking(text: &str) -> Option<&str> {
    match text.trim_start().strip_prefix("<think>") {
        Some(thoughts) => thoughts.split_once("</think>").map(|(_, answer)| answer),
        None => Some(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_read() {
        let rejected = |reason: &str| Some(Verdict::Reject(Some(reason.to_owned())));
        for (text, verdict) in [
            (r#"{"verdict": "accept"}"#, Some(Verdict::Accept)),
            (r#"{"reason": "", "verdict": "ACCEPT"}"#, Some(Verdict::Accept)),
            ("```json\n{\"verdict\": \"reject\", \"reason\": \" rude \"}\n```", rejected("rude")),
            ("<think>reject?</think>\nAccept.", Some(Verdict::Accept)),
            ("reject", Some(Verdict::Reject(None))),
        ] {
            assert_eq!(parse(text), verdict, "{text}");
        }
    }

    #[test]
    fn nothing_else_is_a_verdict() {
        for text in [
            "",
            "I accept this.",
            "accept or reject",
            "not acceptable",
            r#"{"verdict": "maybe"}"#,
            r#"{"verdict": true}"#,
            r#"{"verdict": "accept", "verdict": "reject"}"#,
            r#"{"verdict": "accept"} {"verdict": "reject"}"#,
            r#"{"reason": "accept"}"#,
            "<think>accept",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn long_reasons_are_cut() {
        let text = format!(r#"{{"verdict": "reject", "reason": "{}"}}"#, "ä".repeat(9_000));
        let Some(Verdict::Reject(Some(reason))) = parse(&text) else { panic!("{text}") };
        assert_eq!(reason.chars().count(), 500);
    }
}

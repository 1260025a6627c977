//! Verdicts of judges.

use ai_services_core::guardrail::json::inside_fence;
use ai_services_core::model::{
    Capabilities, Capability, ChatRequestParameters, ChatResponse, FinishReason, ResponseFormat,
};
use ai_services_core::{Error, ErrorKind, Result};
use schemars::json_schema;
use serde::Deserialize;

/// Maximum length of a reason, in characters. Longer ones are truncated. Reasons are part of errors and
/// prompts.
const MAX_REASON: usize = 500;

/// The verdict of a judge.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    /// The text meets the criterion.
    Accept,
    /// The text does not meet the criterion, with an optional reason.
    Reject(Option<String>),
}

/// The JSON form of a verdict.
#[derive(Deserialize)]
struct VerdictJson {
    verdict: String,
    reason: Option<String>,
}

/// Returns request parameters for the strictest response format that the model supports.
pub(super) fn parameters(capabilities: Capabilities) -> ChatRequestParameters {
    let format = if capabilities.contains(Capability::JsonSchema) {
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
    } else if capabilities.contains(Capability::JsonObject) {
        ResponseFormat::JsonObject
    } else {
        return ChatRequestParameters::new();
    };
    ChatRequestParameters::new().response_format(format)
}

/// Reads the verdict from a response.
///
/// # Errors
///
/// Fails if the answer is not a verdict. The error does not contain the answer, which is content.
pub(super) fn read(response: &ChatResponse, judge: &str) -> Result<Verdict> {
    if response.message.refusal().is_some() {
        let message = format!("the model of the judge `{judge}` refused to answer");
        return Err(Error::new(ErrorKind::Refused, message));
    }
    let text = response.message.text().unwrap_or_default();
    parse(text).ok_or_else(|| {
        let reason = match &response.finish_reason {
            Some(FinishReason::Length) => {
                "it was truncated at the token limit; increase `max_output_tokens`"
            }
            _ => "expected `accept`, `reject`, or JSON with a `verdict`",
        };
        Error::new(
            ErrorKind::InvalidResponse,
            format!("the verdict of the judge `{judge}` cannot be read: {reason}"),
        )
    })
}

fn parse(text: &str) -> Option<Verdict> {
    let text = after_think_block(text)?.trim();
    let text = inside_fence(text).unwrap_or(text);
    match serde_json::from_str::<VerdictJson>(text) {
        Ok(json) => from_word(&json.verdict, json.reason),
        Err(_) => from_word(text, None),
    }
}

/// Returns the verdict for the word `accept` or `reject`.
fn from_word(verdict: &str, reason: Option<String>) -> Option<Verdict> {
    let word = verdict.trim().trim_end_matches('.');
    if word.eq_ignore_ascii_case("accept") {
        return Some(Verdict::Accept);
    }
    word.eq_ignore_ascii_case("reject").then(|| {
        let reason = reason.map(|reason| reason.trim().chars().take(MAX_REASON).collect());
        Verdict::Reject(reason.filter(|reason: &String| !reason.is_empty()))
    })
}

/// Returns the text after the `<think>` block that some models write before the answer. Returns `None` if
/// the block has no end.
fn after_think_block(text: &str) -> Option<&str> {
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
    fn other_texts_are_rejected() {
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
    fn long_reasons_are_truncated() {
        let text = format!(r#"{{"verdict": "reject", "reason": "{}"}}"#, "ä".repeat(9_000));
        let Some(Verdict::Reject(Some(reason))) = parse(&text) else { panic!("{text}") };
        assert_eq!(reason.chars().count(), 500);
    }
}

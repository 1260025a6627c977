//! A guardrail for answers that have to be JSON.

use super::{OnRejection, OutputGuardrail, OutputGuardrailRequest, OutputVerdict};
use crate::error::Result;
use async_trait::async_trait;
use serde_json::{Map, Value};

/// Rejects answers that are not JSON and sends the mistake to the model.
///
/// The whole text has to be one JSON value that `serde_json` accepts: at most 127 levels deep, with
/// numbers that are finite as 64-bit floats. A value inside one Markdown code fence, as many models
/// write it, is taken out of the fence. Other mistakes are not repaired.
///
/// Methods that return a type do not need this guardrail: the service parses and repairs their answers
/// itself. Use it for methods that return a `String` which other code parses as JSON.
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::ValidJson;
/// use ai_services::testing::guardrails::check_output;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let json = ValidJson::object().required_keys(["city", "days"]);
/// check_output(&json, r#"{"city": "Oslo", "days": 3}"#).await.check_success()?;
/// check_output(&json, "```json\n{\"city\": \"Oslo\", \"days\": 3}\n```")
///     .await
///     .check_rewritten_to(r#"{"city": "Oslo", "days": 3}"#)?;
/// check_output(&json, r#"{"city": "Oslo"}"#).await.check_reprompted_with("`days` is missing")?;
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// LangChain4j's guardrail cuts the text from the first to the last brace, and sends the same prompt
/// for every mistake.
#[derive(Clone, Debug)]
#[doc(alias = "JsonExtractorOutputGuardrail")]
pub struct ValidJson {
    root: Root,
    required: Vec<Box<str>>,
    other_keys: OtherKeys,
    on_rejection: OnRejection,
}

/// The required kind of JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    Any,
    Object,
}

/// The treatment of keys of a JSON object that are not listed.
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::{OtherKeys, ValidJson};
/// use ai_services::testing::guardrails::check_output;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let json = ValidJson::object().required_keys(["city"]).other_keys(OtherKeys::Reject);
/// let checked = check_output(&json, r#"{"city": "Oslo", "mood": "fine"}"#).await;
/// checked.check_rejected_because("it has other keys than `city`")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OtherKeys {
    /// Other keys are allowed.
    #[default]
    Allow,
    /// Answers with other keys are rejected.
    Reject,
}

impl ValidJson {
    /// Creates a guardrail that accepts any JSON value.
    #[must_use]
    pub fn any() -> Self {
        Self::of(Root::Any)
    }

    /// Creates a guardrail that accepts JSON objects.
    #[must_use]
    pub fn object() -> Self {
        Self::of(Root::Object)
    }

    fn of(root: Root) -> Self {
        Self {
            root,
            required: Vec::new(),
            other_keys: OtherKeys::default(),
            on_rejection: OnRejection::default(),
        }
    }

    /// Adds required keys. The value then has to be an object.
    #[must_use]
    pub fn required_keys<K: Into<Box<str>>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.root = Root::Object;
        self.required.extend(keys.into_iter().map(Into::into));
        self
    }

    /// Sets whether the object may have keys other than the [required](Self::required_keys) ones.
    /// Default: [`OtherKeys::Allow`].
    #[must_use]
    pub fn other_keys(mut self, other_keys: OtherKeys) -> Self {
        self.other_keys = other_keys;
        self
    }

    /// Sets the reaction to a rejected answer. Default: [`OnRejection::Reprompt`], with a description of
    /// the mistake.
    #[must_use]
    pub fn on_rejection(mut self, on_rejection: OnRejection) -> Self {
        self.on_rejection = on_rejection;
        self
    }

    /// Returns the first mistake of a text.
    fn objection(&self, text: &str) -> Option<String> {
        let value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(_) if text.is_empty() => return Some("it is empty".to_owned()),
            Err(error) => return Some(format!("it is not JSON: {error}")),
        };
        match (self.root, value) {
            (Root::Any, _) => None,
            (Root::Object, Value::Object(members)) => self.wrong_keys(&members),
            (Root::Object, _) => Some("it is not a JSON object".to_owned()),
        }
    }

    /// Returns the missing keys or, if they are not allowed, a message about other keys.
    fn wrong_keys(&self, members: &Map<String, Value>) -> Option<String> {
        let missing = self.required.iter().filter(|key| !members.contains_key(&***key));
        let missing: Vec<&str> = missing.map(|key| &**key).collect();
        if !missing.is_empty() {
            let verb = if missing.len() == 1 { "is" } else { "are" };
            return Some(format!("`{}` {verb} missing", missing.join("`, `")));
        }
        let is_other = |key: &String| !self.required.iter().any(|required| **required == **key);
        let has_others = self.other_keys == OtherKeys::Reject && members.keys().any(is_other);
        // The names of other keys are left out: they are content that the model generated.
        let allowed = self.required.join("`, `");
        has_others.then(|| format!("it has other keys than `{allowed}`"))
    }
}

#[async_trait]
impl OutputGuardrail for ValidJson {
    async fn check(&self, request: OutputGuardrailRequest<'_>) -> Result<OutputVerdict> {
        let text = request.text().trim();
        let inner = inside_fence(text);
        Ok(match (self.objection(inner.unwrap_or(text)), inner) {
            (None, None) => OutputVerdict::Success,
            (None, Some(inner)) => OutputVerdict::Rewrite(inner.into()),
            (Some(objection), _) => {
                let prompt = || {
                    let value =
                        if self.root == Root::Object { "JSON object" } else { "JSON value" };
                    format!(
                        "Your answer cannot be used: {objection}. Answer again with one {value} and nothing else."
                    )
                };
                self.on_rejection.output(format!("the answer cannot be used: {objection}"), prompt)
            }
        })
    }

    fn name(&self) -> &str {
        "valid_json"
    }
}

/// Returns the text inside a code fence if the whole text is one code fence.
#[doc(hidden)]
pub fn inside_fence(text: &str) -> Option<&str> {
    let (info, rest) = text.strip_prefix("```")?.split_once('\n')?;
    let is_info = info.trim().chars().all(|c| c.is_ascii_alphanumeric());
    let inner = rest.strip_suffix("```")?.trim();
    (is_info && !inner.contains("```")).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fence_is_removed_only_around_the_whole_text() {
        for (text, inner) in [
            ("```json\n{}\n```", Some("{}")),
            ("```\n[1]```", Some("[1]")),
            ("```JSON\r\n1\r\n```", Some("1")),
            ("```json {}```", None),
            ("{}", None),
            ("```\n1\n```\n```\n2\n```", None),
            ("```", None),
            ("``````", None),
            ("```\n```", Some("")),
        ] {
            assert_eq!(inside_fence(text), inner, "{text}");
        }
    }

    #[test]
    fn extreme_json_does_not_crash() {
        let deep = "[".repeat(1_000_000);
        let closed = format!("{deep}{}", "]".repeat(1_000_000));
        let huge = "9".repeat(1_000_000);
        for text in [&*deep, &*closed, &*huge, "1e999", "\u{feff}{}", "[1,]", "NaN"] {
            let objection = ValidJson::any().objection(text).unwrap();
            assert!(objection.starts_with("it is not JSON: "), "{objection}");
            assert!(objection.len() < 80, "{objection}");
        }
        for text in ["123456789012345678901234567890", "-1e308", r#""\ud83d\ude00""#] {
            assert_eq!(ValidJson::any().objection(text), None, "{text}");
        }
    }

    #[test]
    fn objection_names_the_mistake() {
        let json = ValidJson::object().required_keys(["a", "b", "c"]);
        let strict = json.clone().other_keys(OtherKeys::Reject);
        for (json, text, objection) in [
            (&ValidJson::any(), "3", None),
            (&ValidJson::any(), "", Some("it is empty")),
            (&ValidJson::object(), "3", Some("it is not a JSON object")),
            (
                &ValidJson::object(),
                "{} {}",
                Some("it is not JSON: trailing characters at line 1 column 4"),
            ),
            (&json, r#"{"b": 1}"#, Some("`a`, `c` are missing")),
            (&json, r#"{"a": 1, "b": null, "c": 3, "d": 4}"#, None),
            (
                &strict,
                r#"{"a": 1, "b": 2, "c": 3, "d": 4}"#,
                Some("it has other keys than `a`, `b`, `c`"),
            ),
        ] {
            assert_eq!(json.objection(text).as_deref(), objection, "{text}");
        }
    }
}

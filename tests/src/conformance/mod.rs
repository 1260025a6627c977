//! Recorded behaviour of the reference implementation, replayed. The form of the cases is described
//! in `tests/cases/README.md`.

mod dates;
mod estimator;
mod message;
mod parse;
mod recorder;
mod retrieval;
mod serde_json_form;
mod skip;
mod skip_parse;
mod skip_retrieval;
mod template;
mod token_count;
mod window;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// One line of a file.
#[derive(Debug, Deserialize)]
struct Case {
    id: String,
    input: Value,
    expected: Value,
}

/// Outcome of a valid case.
#[derive(Debug)]
enum Outcome {
    Passed,
    /// "expected … got …"
    Failed(String),
    /// The reason why the case does not apply.
    Skipped(&'static str),
}

/// A malformed case.
type Malformed = String;

/// Outcomes of all cases.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of passed cases.
    pub passed: usize,
    /// One line per failed case.
    pub failures: Vec<String>,
    /// Numbers of skipped cases, by operation and reason.
    pub skipped: BTreeMap<(String, &'static str), usize>,
    /// One line per unreadable file or line.
    pub unreadable: Vec<String>,
}

impl Report {
    /// Runs all cases of a file.
    pub fn run_file(&mut self, path: &Path) {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => {
                self.unreadable.push(format!("{}: {error}", path.display()));
                return;
            }
        };
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            if let Err(error) = self.run_line(line) {
                self.unreadable.push(format!("{}:{}: {error}", path.display(), index + 1));
            }
        }
    }

    fn run_line(&mut self, line: &str) -> Result<(), Malformed> {
        let case: Case = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let Some(op) = case.input.get("op").and_then(Value::as_str) else {
            return Err("a case has no `op`".into());
        };
        match run(&case, op)? {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(what) => self.failures.push(format!("{}: {what}", case.id)),
            Outcome::Skipped(why) => *self.skipped.entry((op.to_owned(), why)).or_default() += 1,
        }
        Ok(())
    }

    /// Returns the number of skipped cases of these operations.
    #[must_use]
    pub fn skipped_of(&self, ops: &[&str]) -> usize {
        let skipped = self.skipped.iter().filter(|((op, _), _)| ops.contains(&op.as_str()));
        skipped.map(|(_, count)| count).sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in &self.failures {
            writeln!(f, "{failure}")?;
        }
        let skipped: usize = self.skipped.values().sum();
        writeln!(f, "{} passed, {} failed, {skipped} skipped", self.passed, self.failures.len())?;
        let mut reasons = BTreeMap::<_, usize>::new();
        for ((_, reason), count) in &self.skipped {
            *reasons.entry(reason).or_default() += count;
        }
        for (reason, count) in reasons {
            writeln!(f, "skipped {count}: {reason}")?;
        }
        Ok(())
    }
}

fn run(case: &Case, op: &str) -> Result<Outcome, Malformed> {
    if op == "parse" {
        parse::check_form(case)?;
    }
    if let Some(reason) = skip::reason(case, op) {
        let Some(own) = skip::own_answer(case, op) else { return Ok(Outcome::Skipped(reason)) };
        let compared = compare("fused", &Some(own), &retrieval::fuse(case, op)?);
        return Ok(compared.map_or_else(Outcome::Failed, |()| Outcome::Skipped(reason)));
    }
    match op {
        "message_window" | "token_window" => window::run(case),
        "token_count" => token_count::run(case),
        "parse" => parse::run(case),
        "template" => template::run(case),
        "serde" => serde_json_form::run(case),
        "rrf" | "aggregate" => retrieval::fusion(case, op),
        "inject" => retrieval::inject(case),
        _ => Err(format!("unknown op `{op}`")),
    }
}

/// Deserializes a value.
fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Malformed> {
    T::deserialize(value).map_err(|error| error.to_string())
}

/// Returns [`Outcome::Passed`] if both are equal.
fn compare<T: fmt::Debug + PartialEq>(what: &str, expected: &T, got: &T) -> Result<(), String> {
    match expected == got {
        true => Ok(()),
        false => Err(format!("{what}: expected {expected:?}, got {got:?}")),
    }
}

/// The outcome of comparisons.
fn outcome(compared: Result<(), String>) -> Outcome {
    compared.map_or_else(Outcome::Failed, |()| Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parsed(kind: &str, text: &str, expected: Value) -> Result<Outcome, Malformed> {
        let input = json!({ "op": "parse", "type": kind, "text": text });
        run(&Case { id: String::new(), input, expected }, "parse")
    }

    fn fused(lists: &Value, expected: Value) -> Result<Outcome, Malformed> {
        let input = json!({ "op": "rrf", "lists": lists });
        run(&Case { id: String::new(), input, expected }, "rrf")
    }

    #[test]
    fn case_needs_either_a_value_or_an_error() {
        assert!(matches!(parsed("void_", "x", json!({ "value": null })), Ok(Outcome::Passed)));
        for expected in [json!({}), json!({ "value": 1, "error": {} }), json!({ "error": null })] {
            for kind in ["integer", "void_", "person", "ai_message"] {
                assert!(parsed(kind, "1", expected.clone()).is_err(), "{kind}: {expected}");
            }
        }
    }

    #[test]
    fn date_without_leading_zeros_is_an_error() {
        for (kind, text) in [
            ("date", "2024-5-6"),
            ("time", "7:8"),
            ("date_time", "2024-5-6T7:8"),
            ("date_time", "2024-5-6T07:08:09"),
            ("order", r#"{"date":"2024-5-6"}"#),
        ] {
            let outcome = parsed(kind, text, json!({ "error": {} }));
            assert!(matches!(outcome, Ok(Outcome::Passed)), "{kind} {text}: {outcome:?}");
        }
        for (kind, text) in
            [("date", "2024-05-06"), ("time", "07:08"), ("date_time", "2024-05-06T07:08")]
        {
            let outcome = parsed(kind, text, json!({ "value": text }));
            assert!(matches!(outcome, Ok(Outcome::Passed)), "{kind} {text}: {outcome:?}");
        }
    }

    #[test]
    fn documented_differences_are_skipped() {
        let parts = json!({ "year": 2024, "month": 5, "day": 6 });
        for (kind, text, expected) in [
            ("mood", "\"HAPPY\"", json!({ "error": {} })),
            ("integer", "\"42\"", json!({ "error": {} })),
            (
                "set_string",
                "```json\n[\"a\"]\n```",
                json!({ "value": ["```", "[\"a\"]", "```json"] }),
            ),
            ("list_string", "Here: [\"a\"]", json!({ "value": ["Here: [\"a\"]"] })),
            ("set_mood", "```\n[\"SAD\"]\n```", json!({ "error": {} })),
            (
                "order",
                &json!({ "date": parts }).to_string(),
                json!({ "value": { "date": "2024-05-06" } }),
            ),
            ("order", r#"{"date":"2024-05-06"}"#, json!({ "error": {} })),
        ] {
            let outcome = parsed(kind, text, expected);
            assert!(matches!(outcome, Ok(Outcome::Skipped(_))), "{kind} {text}: {outcome:?}");
        }
        for (kind, text, expected) in [
            ("mood", "HAPPY", json!({ "value": "HAPPY" })),
            ("list_string", "a [1]\nb", json!({ "value": ["a [1]", "b"] })),
            ("integer", "x", json!({ "error": {} })),
        ] {
            let outcome = parsed(kind, text, expected);
            assert!(matches!(outcome, Ok(Outcome::Passed)), "{kind} {text}: {outcome:?}");
        }
    }

    #[test]
    fn skipped_fusion_must_have_the_answer_of_this_project() {
        let lists = json!([["b", "a", "a"]]);
        let outcome = fused(&lists, json!({ "fused": ["a", "b"] }));
        assert!(matches!(outcome, Ok(Outcome::Skipped(_))), "{outcome:?}");
        let case = Case {
            id: String::new(),
            input: json!({ "op": "rrf", "lists": [["b", "a", "a"]] }),
            expected: json!({ "fused": ["a", "b"] }),
        };
        assert_eq!(skip::own_answer(&case, "rrf"), retrieval::fuse(&case, "rrf").unwrap());
    }
}

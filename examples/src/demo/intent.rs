//! Recognition of a sentence's intent, by rules.

use super::arithmetic;
use serde_json::{Value, json};

/// Intent of a user's sentence.
#[derive(Debug, PartialEq)]
pub(super) enum Intent {
    /// The user gives a name.
    Introduction(String),
    /// The user asks for the own name.
    Name,
    /// The user asks for earlier messages.
    History,
    Greeting,
    /// A request that needs tools.
    Tools(Vec<PlannedCall>),
    /// Any other sentence, including a request for help.
    Help,
}

/// A planned tool call.
#[derive(Debug, PartialEq)]
pub(super) struct PlannedCall {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
}

const ASKS_NAME: [&str; 6] = [
    "what is my name",
    "what's my name",
    "whats my name",
    "who am i",
    "know my name",
    "remember my name",
];
const ASKS_HISTORY: [&str; 4] = ["did i say", "have i said", "did i ask", "did i tell you"];
const ADDS_NOTE: [&str; 11] = [
    "remember that ",
    "remember to ",
    "remember: ",
    "remember ",
    "add a note ",
    "add note ",
    "take a note ",
    "make a note ",
    "note that ",
    "note: ",
    "note ",
];
const CLOCK: [&str; 5] = ["time", "date", "day", "today", "clock"];

impl Intent {
    pub(super) fn of(text: &str) -> Self {
        let lower = text.to_ascii_lowercase();
        let has_any = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
        if has_any(&ASKS_NAME) {
            return Self::Name;
        }
        if let Some(name) = introduced(text) {
            return Self::Introduction(name);
        }
        if has_any(&ASKS_HISTORY) {
            return Self::History;
        }
        if let Some(call) = note(text, &lower) {
            return Self::Tools(vec![call]);
        }
        let mut calls = Vec::new();
        if let Some(expression) = arithmetic::expression(text) {
            calls.push(PlannedCall {
                tool: "calculate",
                arguments: json!({ "expression": expression }),
            });
        }
        if words(&lower).any(|word| CLOCK.contains(&word)) {
            calls.push(PlannedCall { tool: "current_date_time", arguments: json!({}) });
        }
        if !calls.is_empty() {
            return Self::Tools(calls);
        }
        match words(&lower).next() {
            Some("hello" | "hi" | "hey" | "good") => Self::Greeting,
            _ => Self::Help,
        }
    }
}

/// Returns the name in a sentence such as `My name is Ann Lee, hello`.
pub(super) fn introduced(text: &str) -> Option<String> {
    // Changing the case of ASCII letters does not change positions.
    let lower = text.to_ascii_lowercase();
    let (start, phrase) = ["my name is ", "call me "]
        .into_iter()
        .find_map(|phrase| lower.find(phrase).map(|start| (start, phrase)))?;
    let rest = text.get(start + phrase.len()..)?;
    let sentence = rest.split(['.', ',', ';', '!', '?', '\n']).next()?;
    let name: Vec<&str> =
        sentence.split_whitespace().take_while(|word| *word != "and").take(3).collect();
    (!name.is_empty()).then(|| name.join(" "))
}

/// Returns the tool call for a sentence about notes.
fn note(text: &str, lower: &str) -> Option<PlannedCall> {
    let trimmed = lower.trim_start();
    let start = trimmed.strip_prefix("please ").unwrap_or(trimmed);
    if words(lower).any(|word| word == "note" || word == "notes") {
        if let Some(number) = note_to_forget(lower) {
            return Some(PlannedCall {
                tool: "forget_note",
                arguments: json!({ "number": number }),
            });
        }
        if lower.contains("notes") {
            return Some(PlannedCall { tool: "list_notes", arguments: json!({}) });
        }
    }
    let phrase = ADDS_NOTE.iter().find(|phrase| {
        let phrase = phrase.trim_end();
        let rest = start.strip_prefix(phrase);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
    })?;
    let skipped = lower.len() - start.len() + phrase.trim_end().len();
    let note = text.get(skipped..)?.trim_start_matches([':', ' ', ',']).trim();
    let note = note.strip_prefix("that ").unwrap_or(note);
    (!note.is_empty()).then(|| PlannedCall { tool: "add_note", arguments: json!({ "text": note }) })
}

fn note_to_forget(lower: &str) -> Option<u32> {
    words(lower).find(|word| matches!(*word, "forget" | "delete" | "remove"))?;
    words(lower).find_map(|word| word.parse().ok())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(text: &str) -> Vec<(&'static str, String)> {
        match Intent::of(text) {
            Intent::Tools(calls) => {
                calls.into_iter().map(|call| (call.tool, call.arguments.to_string())).collect()
            }
            _ => Vec::new(),
        }
    }

    #[test]
    fn names_and_questions_are_recognized() {
        let ann = Intent::Introduction("Ann Lee".to_owned());
        assert_eq!(Intent::of("Hi, my name is Ann Lee, ok?"), ann);
        assert_eq!(introduced("ÄÖ call me Jürgen and be kind").as_deref(), Some("Jürgen"));
        assert_eq!(Intent::of("What is my name?"), Intent::Name);
        assert_eq!(Intent::of("What did I say?"), Intent::History);
        assert_eq!(Intent::of("Hello there"), Intent::Greeting);
        assert_eq!(Intent::of("Write a poem"), Intent::Help);
    }

    #[test]
    fn notes_are_added_listed_and_forgotten() {
        let add = |text: &str| vec![("add_note", format!(r#"{{"text":"{text}"}}"#))];
        assert_eq!(tools("Please remember that milk is out"), add("milk is out"));
        assert_eq!(tools("add a note: call Bob"), add("call Bob"));
        assert_eq!(tools("note Buy 12*31 eggs"), add("Buy 12*31 eggs"));
        assert_eq!(tools("Remember"), []);
        assert_eq!(tools("list my notes"), [("list_notes", "{}".to_owned())]);
        assert_eq!(tools("forget note 2"), [("forget_note", r#"{"number":2}"#.to_owned())]);
    }

    #[test]
    fn several_tools_are_called_at_once() {
        let names: Vec<_> = tools("What is 12*31, and what time is it?").into_iter().collect();
        let names: Vec<_> = names.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["calculate", "current_date_time"]);
    }
}

//! What secrets usually look like.

use std::ops::Range;

/// A kind of secret: how it begins, and how it goes on.
struct Shape {
    prefix: &'static str,
    goes_on: fn(char) -> bool,
    /// How long it is at least, without the prefix.
    min: usize,
}

const fn shape(prefix: &'static str, goes_on: fn(char) -> bool, min: usize) -> Shape {
    Shape { prefix, goes_on, min }
}

const SHAPES: [Shape; 15] = [
    shape("sk-", is_key, 16),
    shape("sk_", is_key, 16),
    shape("Bearer ", is_token, 8),
    shape("bearer ", is_token, 8),
    shape("AIza", is_key, 30),
    shape("ghp_", is_key, 20),
    shape("gho_", is_key, 20),
    shape("ghu_", is_key, 20),
    shape("ghs_", is_key, 20),
    shape("ghr_", is_key, 20),
    shape("github_pat_", is_key, 20),
    shape("xox", is_key, 16),
    shape("AKIA", is_key, 16),
    shape("hf_", is_key, 20),
    shape(JWT, is_web_token, 30),
];

/// How JSON objects begin in base64, and with one all JSON Web Tokens.
const JWT: &str = "eyJ";

fn is_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

fn is_web_token(c: char) -> bool {
    is_key(c) || c == '.'
}

fn is_token(c: char) -> bool {
    is_key(c) || matches!(c, '.' | '~' | '+' | '/' | '=')
}

/// Where the next secret of a text is, at or after `start`.
pub(super) fn next(text: &str, start: usize) -> Option<Range<usize>> {
    SHAPES.iter().filter_map(|shape| shape.find(text, start)).min_by_key(|found| found.start)
}

impl Shape {
    fn find(&self, text: &str, start: usize) -> Option<Range<usize>> {
        let mut from = start;
        loop {
            let at = from + text.get(from..)?.find(self.prefix)?;
            let begin = at + self.prefix.len();
            let rest = text.get(begin..)?;
            let length = self.length(rest);
            let is_begun = !text.get(..at)?.ends_with(|c: char| c.is_ascii_alphanumeric());
            // What says that a secret follows may stay.
            let is_word = self.prefix.ends_with(' ');
            if is_begun && length >= self.min {
                return Some(if is_word { begin } else { at }..begin + length);
            }
            from = begin;
        }
    }

    /// How much of a text goes on as the secret would.
    fn length(&self, rest: &str) -> usize {
        let length = rest.find(|c| !(self.goes_on)(c)).unwrap_or(rest.len());
        if self.prefix != JWT {
            return length;
        }
        // Three parts, or five if it is encrypted; a full stop may follow.
        let parts = rest.get(..length).unwrap_or_default().split('.').take(5);
        let lengths: Vec<usize> = parts.map(str::len).take_while(|length| *length > 0).collect();
        match lengths.len() {
            0..3 => 0,
            parts => lengths.iter().sum::<usize>() + parts - 1,
        }
    }
}

/// Whether the name of a member says that its value is a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    const LAST: [&str; 10] = [
        "key",
        "apikey",
        "token",
        "secret",
        "password",
        "passwd",
        "credential",
        "credentials",
        "authorization",
        "cookie",
    ];
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (was_lower && c.is_uppercase()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.last().is_some_and(|last| LAST.contains(&last.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        let mut all = Vec::new();
        let mut start = 0;
        while let Some(range) = next(text, start) {
            start = range.end;
            all.push(&text[range]);
        }
        all
    }

    #[test]
    fn keys_of_the_usual_shapes_are_found() {
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0";
        let google = format!("AIza{}", "x".repeat(35));
        let text = format!("a sk-proj-0123456789abcdef, Bearer abc.def-123 {jwt}. {google}é");
        assert_eq!(found(&text), ["sk-proj-0123456789abcdef", "abc.def-123", jwt, &google]);
        assert_eq!(found("(ghp_0123456789abcdefghij)"), ["ghp_0123456789abcdefghij"]);
    }

    #[test]
    fn ordinary_words_are_left() {
        for text in [
            "task-oriented-programming-language",
            "sk-learn",
            "Bearer of bad news",
            "eyJhbGciOiJIUzI1NiJ9eyJzdWIiOiIxMjM0NTY3ODkwIn0",
            "AIza",
            "ünsk-é",
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn names_of_secrets_are_known() {
        for name in ["api_key", "apiKey", "x-api-key", "KEY", "Authorization", "access_token"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["max_tokens", "maxCompletionTokens", "keyboard", "tokenizer", "", "user"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}

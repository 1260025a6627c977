//! Patterns of well-known secrets.

use std::ops::Range;

/// A pattern of a secret: a prefix and the characters that follow it.
struct SecretPattern {
    prefix: &'static str,
    is_body_char: fn(char) -> bool,
    /// Minimum length, without the prefix.
    min: usize,
}

const fn pattern(
    prefix: &'static str,
    is_body_char: fn(char) -> bool,
    min: usize,
) -> SecretPattern {
    SecretPattern { prefix, is_body_char, min }
}

const PATTERNS: [SecretPattern; 15] = [
    pattern("sk-", is_key, 16),
    pattern("sk_", is_key, 16),
    pattern("Bearer ", is_token, 8),
    pattern("bearer ", is_token, 8),
    pattern("AIza", is_key, 30),
    pattern("ghp_", is_key, 20),
    pattern("gho_", is_key, 20),
    pattern("ghu_", is_key, 20),
    pattern("ghs_", is_key, 20),
    pattern("ghr_", is_key, 20),
    pattern("github_pat_", is_key, 20),
    pattern("xox", is_key, 16),
    pattern("AKIA", is_key, 16),
    pattern("hf_", is_key, 20),
    pattern(JWT, is_web_token, 30),
];

/// Prefix of a JSON object in base64, and therefore of all JSON Web Tokens.
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

/// Returns the range of the next secret at or after `start`.
pub(super) fn next_secret(text: &str, start: usize) -> Option<Range<usize>> {
    PATTERNS.iter().filter_map(|pattern| pattern.find(text, start)).min_by_key(|found| found.start)
}

impl SecretPattern {
    fn find(&self, text: &str, start: usize) -> Option<Range<usize>> {
        let mut from = start;
        loop {
            let at = from + text.get(from..)?.find(self.prefix)?;
            let begin = at + self.prefix.len();
            let rest = text.get(begin..)?;
            let length = self.length(rest);
            let is_at_boundary = !text.get(..at)?.ends_with(|c: char| c.is_ascii_alphanumeric());
            // A word that announces a secret, such as `Bearer`, is not part of the secret.
            let is_word = self.prefix.ends_with(' ');
            if is_at_boundary && length >= self.min {
                return Some(if is_word { begin } else { at }..begin + length);
            }
            from = begin;
        }
    }

    /// Returns the length of the secret at the start of a text.
    fn length(&self, rest: &str) -> usize {
        let length = rest.find(|c| !(self.is_body_char)(c)).unwrap_or(rest.len());
        if self.prefix != JWT {
            return length;
        }
        // Three parts, or five if the token is encrypted; a full stop may follow.
        let parts = rest.get(..length).unwrap_or_default().split('.').take(5);
        let lengths: Vec<usize> = parts.map(str::len).take_while(|length| *length > 0).collect();
        match lengths.len() {
            0..3 => 0,
            parts => lengths.iter().sum::<usize>() + parts - 1,
        }
    }
}

/// Returns whether the name of a JSON member indicates a secret.
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
        while let Some(range) = next_secret(text, start) {
            start = range.end;
            all.push(&text[range]);
        }
        all
    }

    #[test]
    fn well_known_secrets_are_found() {
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0";
        let google = format!("AIza{}", "x".repeat(35));
        let text = format!("a sk-proj-0123456789abcdef, Bearer abc.def-123 {jwt}. {google}é");
        assert_eq!(found(&text), ["sk-proj-0123456789abcdef", "abc.def-123", jwt, &google]);
        assert_eq!(found("(ghp_0123456789abcdefghij)"), ["ghp_0123456789abcdefghij"]);
    }

    #[test]
    fn ordinary_words_are_not_secrets() {
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
    fn names_of_secrets_are_recognized() {
        for name in ["api_key", "apiKey", "x-api-key", "KEY", "Authorization", "access_token"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["max_tokens", "maxCompletionTokens", "keyboard", "tokenizer", "", "user"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}

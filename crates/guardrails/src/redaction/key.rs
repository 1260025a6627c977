//! Keys and tokens.

use super::scan::{at, follows_word};
use std::ops::Range;

/// How the keys of a vendor begin, what they go on with, and how long they are at least without the
/// beginning. All have a digit somewhere.
struct Shape {
    prefix: &'static str,
    goes_on: Signs,
    min: usize,
}

/// What a key consists of.
#[derive(Clone, Copy, PartialEq)]
enum Signs {
    /// Letters, digits, `-` and `_`.
    Word,
    /// These and `.`, `~`, `+`, `/`, `=`.
    Token,
}

const fn word(prefix: &'static str, min: usize) -> Shape {
    Shape { prefix, goes_on: Signs::Word, min }
}

const fn token(prefix: &'static str, min: usize) -> Shape {
    Shape { prefix, goes_on: Signs::Token, min }
}

/// What says that a secret follows, and may stay.
const BEARERS: [Shape; 3] = [token("Bearer ", 16), token("bearer ", 16), token("BEARER ", 16)];

const SHAPES: [Shape; 32] = [
    word("sk-", 16),
    word("sk_", 16),
    word("rk_", 16),
    word("whsec_", 20),
    word("AIza", 30),
    token("ya29.", 20),
    word("GOCSPX-", 20),
    word("AKIA", 16),
    word("ASIA", 16),
    word("ghp_", 20),
    word("gho_", 20),
    word("ghu_", 20),
    word("ghs_", 20),
    word("ghr_", 20),
    word("github_pat_", 20),
    word("glpat-", 16),
    word("xoxb-", 16),
    word("xoxp-", 16),
    word("xoxa-", 16),
    word("xoxr-", 16),
    word("xoxs-", 16),
    word("xoxe", 16),
    word("xapp-", 16),
    word("hf_", 20),
    word("npm_", 20),
    word("pypi-", 30),
    token("SG.", 30),
    word("gsk_", 20),
    word("xai-", 20),
    word("r8_", 20),
    word("tvly-", 16),
    word("dop_v1_", 20),
];

/// Finds keys of vendors.
pub(super) fn api_keys(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let (mut words, mut tokens) = (Run::new(Signs::Word), Run::new(Signs::Token));
    let mut start = 0;
    while start < bytes.len() {
        let mut end = None;
        if at(bytes, start).is_ascii_alphabetic() && !follows_word(bytes, start) {
            let rest = bytes.get(start..).unwrap_or_default();
            let is_begun = |shape: &&Shape| rest.starts_with(shape.prefix.as_bytes());
            if let Some(shape) = SHAPES.iter().chain(&BEARERS).find(is_begun) {
                let body = start + shape.prefix.len();
                let run = if shape.goes_on == Signs::Word { &mut words } else { &mut tokens };
                end = run.key(bytes, body, shape.min);
                if shape.prefix.ends_with(' ') && end.is_some() {
                    start = body;
                }
            }
        }
        if let Some(end) = end {
            found.push(start..end);
        }
        start = end.unwrap_or(start + 1);
    }
}

/// Whether a text ends in something that says that a secret follows.
pub(super) fn announces_secret(text: &str) -> bool {
    BEARERS.iter().any(|bearer| text.ends_with(bearer.prefix))
}

/// The run of signs that was looked at last, so that none is looked at twice.
struct Run {
    signs: Signs,
    end: usize,
    /// Behind the last digit.
    last_digit: usize,
}

impl Run {
    fn new(signs: Signs) -> Self {
        Self { signs, end: 0, last_digit: 0 }
    }

    /// Where the key ends whose body begins here, if it is one.
    fn key(&mut self, bytes: &[u8], body: usize, min: usize) -> Option<usize> {
        if body >= self.end {
            let signs = self.signs;
            let goes_on = |b: &u8| match b {
                b'-' | b'_' => true,
                b'.' | b'~' | b'+' | b'/' | b'=' => signs == Signs::Token,
                b => b.is_ascii_alphanumeric(),
            };
            let run = bytes.get(body..).unwrap_or_default();
            let run = run.split(|b| !goes_on(b)).next().unwrap_or_default();
            // A full stop behind a key is of the sentence.
            let stops = run.iter().rev().take_while(|b| **b == b'.').count();
            let is_digit = |b: &u8| b.is_ascii_digit();
            self.end = body + run.len() - stops;
            self.last_digit = run.iter().rposition(is_digit).map_or(0, |last| body + last + 1);
        }
        let length = self.end.saturating_sub(body);
        (self.last_digit > body && length >= min).then_some(self.end)
    }
}

/// How JSON objects begin in base64, and with one all JSON Web Tokens.
const JWT: &[u8] = b"eyJ";
/// The length of the shortest token that is worth hiding.
const SHORTEST_JWT: usize = 30;

/// Finds JSON Web Tokens: three parts, or five if it is encrypted.
pub(super) fn web_tokens(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let is_sign = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    let mut start = 0;
    while start < bytes.len() {
        let rest = bytes.get(start..).unwrap_or_default();
        let previous = start.checked_sub(1).map_or(0, |before| at(bytes, before));
        if !rest.starts_with(JWT) || is_sign(&previous) {
            start += 1;
            continue;
        }
        let (mut end, mut parts) = (start, 0);
        while parts < 5 {
            let from = if parts == 0 { end } else { end + 1 };
            let is_joined = parts == 0 || at(bytes, end) == b'.';
            let part = bytes.iter().skip(from).take_while(|b| is_sign(b)).count();
            if !is_joined || part == 0 {
                break;
            }
            (end, parts) = (from + part, parts + 1);
        }
        if parts >= 3 && end - start >= SHORTEST_JWT {
            found.push(start..end);
            start = end;
        } else {
            start += JWT.len();
        }
    }
}

/// How a key in PEM begins, private or not.
pub(super) const BEGIN: &str = "-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";
/// The longest label between the dashes, `OPENSSH PRIVATE KEY` for example.
const LONGEST_LABEL: usize = 64;

/// Finds private keys in PEM.
pub(super) fn private_keys(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(begin) = text.get(from..).and_then(|rest| rest.find(BEGIN)) {
        let begin = from + begin;
        from = begin + BEGIN.len();
        let Some(label) = label(bytes, from) else { continue };
        if is_private(label) {
            from = end_of_key(bytes, from + label.len() + DASHES.len());
            found.push(begin..from);
        }
    }
}

/// A key that begins in a text that may go on.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) start: usize,
    /// Where it ends, if that does not depend on what follows.
    pub(super) end: Option<usize>,
}

/// The first private key at or after an index, or what may become one.
pub(super) fn begun(text: &str, mut from: usize) -> Option<Begun> {
    /// What an end may look at: dashes, the word, a label, and dashes again.
    const MOST: usize = END.len() + LONGEST_LABEL + 2 * DASHES.len();
    let bytes = text.as_bytes();
    loop {
        let start = from + text.get(from..)?.find(BEGIN)?;
        from = start + BEGIN.len();
        let Some(label) = label(bytes, from) else {
            if bytes.len() - from < LONGEST_LABEL + DASHES.len() {
                return Some(Begun { start, end: None });
            }
            continue;
        };
        if is_private(label) {
            let body = from + label.len() + DASHES.len();
            let is_settled = end_of_body(bytes, body) + MOST <= bytes.len();
            return Some(Begun { start, end: is_settled.then(|| end_of_key(bytes, body)) });
        }
    }
}

fn is_private(label: &[u8]) -> bool {
    label.windows(11).any(|part| part == b"PRIVATE KEY")
}

/// What stands before the next dashes.
fn label(bytes: &[u8], start: usize) -> Option<&[u8]> {
    let rest = bytes.get(start..)?;
    let rest = rest.get(..LONGEST_LABEL + DASHES.len()).unwrap_or(rest);
    let length = rest.windows(DASHES.len()).position(|part| part == DASHES)?;
    rest.get(..length)
}

/// Where the key ends whose body begins here: behind its last line, else with what could belong to it.
fn end_of_key(bytes: &[u8], body: usize) -> usize {
    let end = end_of_body(bytes, body);
    let line = bytes.get(end..).unwrap_or_default();
    if line.starts_with(END)
        && let Some(label) = label(bytes, end + END.len())
    {
        return end + END.len() + label.len() + DASHES.len();
    }
    let trailing = bytes.get(body..end).unwrap_or_default().iter().rev();
    end - trailing.take_while(|b| b.is_ascii_whitespace()).count()
}

/// Where something stands that is not of a key whose body begins here, or dashes.
fn end_of_body(bytes: &[u8], body: usize) -> usize {
    // Line breaks may be escaped, as in JSON, and lines before the key itself have colons and commas.
    let may =
        |b: u8| b.is_ascii_alphanumeric() || b.is_ascii_whitespace() || b"+/=\\:,-".contains(&b);
    let from = |index: usize| bytes.get(index..).unwrap_or_default();
    let is_end = |index: &usize| !may(at(bytes, *index)) || from(*index).starts_with(DASHES);
    (body..bytes.len()).find(is_end).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::super::tests::all;
    use super::*;

    const TOKEN: &str =
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0";

    #[test]
    fn keys_of_vendors_are_found() {
        for shape in &SHAPES {
            let key = format!("{}{}7", shape.prefix, "x".repeat(shape.min));
            assert_eq!(all(api_keys, &format!("key={key}, or")), [key.as_str()]);
        }
        for text in ["sk-proj-0123456789abcdef.", "(AKIAIOSFODNN7EXAMPLE)"] {
            let key = text.trim_matches(['(', ')', '.']);
            assert_eq!(all(api_keys, text), [key]);
        }
        let header = "Authorization: Bearer abc.def-123/456+789==";
        assert_eq!(all(api_keys, header), ["abc.def-123/456+789=="]);
    }

    #[test]
    fn ordinary_words_are_left() {
        for text in [
            "task-oriented-programming-language-2",
            "sk-learn-is-a-library-of-python",
            "Bearer of bad news",
            "Bearer ",
            "SG.",
            "hf_",
            "AIza",
        ] {
            assert!(all(api_keys, text).is_empty(), "{text}");
        }
    }

    #[test]
    fn web_tokens_are_found() {
        assert_eq!(all(web_tokens, &format!("Bearer {TOKEN}.")), [TOKEN]);
        let encrypted = format!("{TOKEN}.abc.def");
        assert_eq!(all(web_tokens, &encrypted), [encrypted.as_str()]);
        for text in ["eyJhbGciOiJIUzI1NiJ9eyJzdWIiOiIxMjM0NTY3ODkwIn0", "eyJ.eyJ.x", "xeyJ.a.b"] {
            assert!(all(web_tokens, text).is_empty(), "{text}");
        }
    }

    #[test]
    fn private_keys_are_found_to_their_end() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIE+/=\n-----END RSA PRIVATE KEY-----";
        assert_eq!(all(private_keys, &format!("my key\n{key}\nis secret")), [key]);
        let escaped = key.replace('\n', "\\n");
        assert_eq!(all(private_keys, &format!("\"{escaped}\"")), [escaped.as_str()]);
        let cut = "-----BEGIN PRIVATE KEY-----\nMIIE\nabc";
        assert_eq!(all(private_keys, &format!("{cut}\n\"more\"")), [cut]);
        let public = "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----";
        assert!(all(private_keys, public).is_empty());
    }
}

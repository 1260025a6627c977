//! API keys, tokens and private keys.

use super::scan::{at, follows_word};
use crate::steps;
use std::ops::Range;

/// The format of a vendor's keys: the prefix, the alphabet of the rest, and the minimum length of the rest.
struct KeyFormat {
    prefix: &'static str,
    alphabet: Alphabet,
    min: usize,
}

/// The alphabet of a key.
#[derive(Clone, Copy, PartialEq)]
enum Alphabet {
    /// Letters, digits, `-` and `_`.
    Word,
    /// Letters, digits, `-`, `_`, `.`, `~`, `+`, `/` and `=`.
    Token,
}

const fn word(prefix: &'static str, min: usize) -> KeyFormat {
    KeyFormat { prefix, alphabet: Alphabet::Word, min }
}

const fn token(prefix: &'static str, min: usize) -> KeyFormat {
    KeyFormat { prefix, alphabet: Alphabet::Token, min }
}

/// Words before a token. They are not redacted themselves.
const BEARERS: [KeyFormat; 3] = [token("Bearer ", 16), token("bearer ", 16), token("BEARER ", 16)];

/// The key formats of vendors.
const FORMATS: [KeyFormat; 39] = [
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
    token("glpat-", 16),
    token("gldt-", 16),
    token("glrt-", 16),
    word("glptt-", 16),
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
    word("pplx-", 20),
    word("nvapi-", 20),
    word("pcsk_", 20),
    word("jina_", 20),
    word("xai-", 20),
    word("r8_", 20),
    word("tvly-", 16),
    word("dop_v1_", 20),
];

/// Finds API keys of vendors.
pub(super) fn api_keys(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let (mut words, mut tokens) = (Run::new(Alphabet::Word), Run::new(Alphabet::Token));
    let mut start = 0;
    while start < bytes.len() {
        let mut end = None;
        if is_first_letter(at(bytes, start)) && !follows_word(bytes, start) {
            let rest = bytes.get(start..).unwrap_or_default();
            // Compares the first letters alone first, because most words have no prefix.
            let has_prefix = |format: &&KeyFormat| {
                let prefix = format.prefix.as_bytes();
                prefix.first() == rest.first() && rest.starts_with(prefix)
            };
            if let Some(format) = FORMATS.iter().chain(&BEARERS).find(has_prefix) {
                let body = start + format.prefix.len();
                let run = if format.alphabet == Alphabet::Word { &mut words } else { &mut tokens };
                end = run.key(bytes, body, format.min);
                if format.prefix.ends_with(' ') && end.is_some() {
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

/// The first letters of all formats, as a set of bits.
const FIRST_LETTERS: u128 = first_letters(&FORMATS) | first_letters(&BEARERS);

const fn first_letters(mut formats: &[KeyFormat]) -> u128 {
    let mut letters = 0;
    while let [format, rest @ ..] = formats {
        if let [letter, ..] = format.prefix.as_bytes() {
            letters |= 1 << *letter;
        }
        formats = rest;
    }
    letters
}

fn is_first_letter(byte: u8) -> bool {
    byte.is_ascii() && FIRST_LETTERS >> byte & 1 == 1
}

/// Returns `true` if a text ends with a word that precedes a token.
pub(super) fn precedes_token(text: &str) -> bool {
    BEARERS.iter().any(|bearer| text.ends_with(bearer.prefix))
}

/// The last run of key characters, cached so that none is scanned twice.
struct Run {
    alphabet: Alphabet,
    start: usize,
    end: usize,
    counts: Counts,
}

impl Run {
    fn new(alphabet: Alphabet) -> Self {
        Self { alphabet, start: 0, end: 0, counts: Counts::default() }
    }

    /// Returns the end of the key whose body starts here.
    fn key(&mut self, bytes: &[u8], body: usize, min: usize) -> Option<usize> {
        if !(self.start..self.end).contains(&body) {
            self.scan(bytes, body);
        }
        let before = bytes.get(self.start..body).unwrap_or_default();
        steps::add(before.len());
        before.iter().for_each(|byte| *self.counts.of(*byte) -= 1);
        self.start = body;
        (self.end - body >= min && self.counts.look_random()).then_some(self.end)
    }

    /// Scans the run that starts here.
    fn scan(&mut self, bytes: &[u8], start: usize) {
        let alphabet = self.alphabet;
        let is_in_alphabet = |b: &u8| match b {
            b'-' | b'_' => true,
            b'.' | b'~' | b'+' | b'/' | b'=' => alphabet == Alphabet::Token,
            b => b.is_ascii_alphanumeric(),
        };
        let run = bytes.get(start..).unwrap_or_default();
        let run = run.split(|b| !is_in_alphabet(b)).next().unwrap_or_default();
        // A full stop after a key belongs to the sentence.
        let stops = run.iter().rev().take_while(|b| **b == b'.').count();
        let run = run.get(..run.len() - stops).unwrap_or_default();
        steps::add(run.len() + stops);
        (self.start, self.end, self.counts) = (start, start + run.len(), Counts::default());
        run.iter().for_each(|byte| *self.counts.of(*byte) += 1);
    }
}

/// Numbers of characters in a run.
#[derive(Default)]
struct Counts {
    digits: usize,
    capitals: usize,
    small: usize,
    others: usize,
}

impl Counts {
    fn of(&mut self, byte: u8) -> &mut usize {
        match byte {
            b'0'..=b'9' => &mut self.digits,
            b'A'..=b'Z' => &mut self.capitals,
            b'a'..=b'z' => &mut self.small,
            _ => &mut self.others,
        }
    }

    /// Returns `true` if the characters contain a digit, or enough capitals and small letters for a text that
    /// is not made of words.
    fn look_random(&self) -> bool {
        self.digits > 0 || 4 * self.capitals.min(self.small) >= (self.capitals + self.small).max(1)
    }
}

/// The start of a JSON object in base64, and therefore of every JSON Web Token.
const JWT: &[u8] = b"eyJ";
/// Minimum length of a token, in bytes.
const MIN_JWT_LENGTH: usize = 30;

/// Finds JSON Web Tokens: three parts, or five if encrypted.
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
            steps::add(part);
            if !is_joined || part == 0 {
                break;
            }
            (end, parts) = (from + part, parts + 1);
        }
        if parts >= 3 && end - start >= MIN_JWT_LENGTH {
            found.push(start..end);
            start = end;
        } else {
            start += JWT.len();
        }
    }
}

/// The start of a key in PEM, private or public.
pub(super) const BEGIN: &str = "-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";
/// Maximum length of the label between the dashes, for example `OPENSSH PRIVATE KEY`.
const MAX_LABEL: usize = 64;

/// Finds private keys in PEM.
pub(super) fn private_keys(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(start) = next_begin(text, from) {
        from = start + BEGIN.len();
        let Some(label) = label(bytes, from) else { continue };
        if is_private(label) {
            from = end_of_key(bytes, from + label.len() + DASHES.len());
            found.push(start..from);
        }
    }
}

/// A private key, or the possible start of one, in a text that may continue.
#[derive(Debug)]
pub(super) struct PartialKey {
    pub(super) start: usize,
    /// The end of the key, if it does not depend on the rest of the text.
    pub(super) end: Option<KeyEnd>,
}

/// The end of a private key.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyEnd {
    /// The end of the body. What looks like the last line may begin another key: a placeholder in the text
    /// ends the line.
    pub(super) body: usize,
    /// The end of the last line.
    pub(super) key: usize,
}

/// Returns the first private key, or possible start of one, at or after an index.
pub(super) fn find_private_key(text: &str, mut from: usize) -> Option<PartialKey> {
    /// Maximum length of the last line: dashes, the word, a label, and dashes again.
    const MAX_LAST_LINE: usize = END.len() + MAX_LABEL + 2 * DASHES.len();
    let bytes = text.as_bytes();
    loop {
        let start = next_begin(text, from)?;
        from = start + BEGIN.len();
        let Some(label) = label(bytes, from) else {
            if bytes.len() - from < MAX_LABEL + DASHES.len() {
                return Some(PartialKey { start, end: None });
            }
            continue;
        };
        if is_private(label) {
            let body = from + label.len() + DASHES.len();
            let end_of_body = end_of_body(bytes, body);
            let is_settled = end_of_body + MAX_LAST_LINE <= bytes.len();
            let end = || KeyEnd { body: end_of_body, key: end_of_key(bytes, body) };
            return Some(PartialKey { start, end: is_settled.then(end) });
        }
    }
}

/// Returns the next position of [`BEGIN`] at or after an index.
///
/// Searches for a single character first: the search for a string prepares a table, which costs more than the
/// search in a word.
fn next_begin(text: &str, mut from: usize) -> Option<usize> {
    loop {
        let rest = text.get(from..)?;
        let distance = rest.find('-');
        steps::add(distance.unwrap_or(rest.len()));
        let start = from + distance?;
        if text.get(start..)?.starts_with(BEGIN) {
            return Some(start);
        }
        from = start + 1;
    }
}

fn is_private(label: &[u8]) -> bool {
    label.windows(11).any(|part| part == b"PRIVATE KEY")
}

/// Returns the text before the next dashes.
fn label(bytes: &[u8], start: usize) -> Option<&[u8]> {
    let rest = bytes.get(start..)?;
    let rest = rest.get(..MAX_LABEL + DASHES.len()).unwrap_or(rest);
    let length = rest.windows(DASHES.len()).position(|part| part == DASHES)?;
    rest.get(..length)
}

/// Returns the end of the key whose body starts here: after its last line, else after everything that could
/// belong to it.
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

/// Returns the position of the first dashes, or of the first character that cannot be in a key whose body
/// starts here.
fn end_of_body(bytes: &[u8], body: usize) -> usize {
    // Line breaks may be escaped, as in JSON. Header lines before the key contain colons and commas.
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
    fn vendor_keys_are_found() {
        for format in &FORMATS {
            let key = format!("{}{}7", format.prefix, "x".repeat(format.min));
            assert_eq!(all(api_keys, &format!("key={key}, or")), [key.as_str()]);
        }
        for text in ["sk-proj-0123456789abcdef.", "(AKIAIOSFODNN7EXAMPLE)"] {
            let key = text.trim_matches(['(', ')', '.']);
            assert_eq!(all(api_keys, text), [key]);
        }
        // Random letters need no digits.
        for key in [
            "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",
            "glpat-qWeRtYuIoPaSdFgHjKlZ",
            "glpat-aBcDeFgHiJkLmNoPqRsTuVwXyZ0.01.0a1b2c3d4",
        ] {
            assert_eq!(all(api_keys, &format!("({key}).")), [key]);
        }
        let header = "Authorization: Bearer abc.def-123/456+789==";
        assert_eq!(all(api_keys, header), ["abc.def-123/456+789=="]);
    }

    #[test]
    fn ordinary_words_are_ignored() {
        for text in [
            "task-oriented-programming-language-2",
            "sk-learn-is-a-library-of-python",
            "Bearer of bad news",
            "Bearer Authentication-Required",
            "hf_transformersModelLoaderFactory",
            "sk-LEARN-IS-A-LIBRARY",
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
    fn private_keys_are_found_completely() {
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

//! Search terms and extra options of requests.

use ai_services_core::rag::web_search::WebSearchRequest;
use ai_services_core::{Error, ErrorKind, Result};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::time::Duration;
use tracing::debug;

/// The default time limit of a search. A thorough search takes ten seconds.
pub(super) const TIMEOUT: Duration = Duration::from_secs(20);

/// The maximum number of characters of the search terms, which is Tavily's limit.
const MAX_TERMS: usize = 400;

/// Returns the terms on one line, without the words for which `keep` returns `None`.
///
/// Long terms are truncated after a word. A word is truncated itself if more than half of the limit would
/// be unused otherwise, as in languages without spaces.
///
/// # Errors
///
/// [`ErrorKind::InvalidRequest`] if no terms remain.
pub(super) fn terms<'a>(
    request: &'a WebSearchRequest,
    keep: impl Fn(&'a str) -> Option<&'a str>,
) -> Result<String> {
    let is_blank = |character: char| character.is_whitespace() || character.is_control();
    let words = request.terms.split(is_blank).filter(|word| !word.is_empty());
    let mut terms = String::new();
    let mut left = MAX_TERMS;
    for word in words.filter_map(keep) {
        let blank = usize::from(!terms.is_empty());
        let length = word.chars().count() + blank;
        let is_long = length > left;
        if is_long {
            debug!(limit = MAX_TERMS, "the search terms were truncated");
            if left < MAX_TERMS / 2 {
                break;
            }
        }
        terms.extend(std::iter::repeat_n(' ', blank).chain(word.chars()).take(left));
        if is_long {
            break;
        }
        left -= length;
    }
    if terms.is_empty() {
        return Err(Error::new(ErrorKind::InvalidRequest, "the search terms are empty"));
    }
    Ok(terms)
}

/// Merges the extra options of all searches with those of one search, which win.
pub(super) fn extra<'a>(
    all: &'a Map<String, Value>,
    one: &'a Map<String, Value>,
) -> Cow<'a, Map<String, Value>> {
    match (all.is_empty(), one.is_empty()) {
        (_, true) => Cow::Borrowed(all),
        (true, _) => Cow::Borrowed(one),
        (false, false) => {
            let mut both = all.clone();
            both.extend(one.iter().map(|(name, value)| (name.clone(), value.clone())));
            Cow::Owned(both)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(text: &str) -> Result<String> {
        terms(&WebSearchRequest::new(text), Some)
    }

    #[test]
    fn long_terms_are_truncated_after_a_word() {
        assert_eq!(sent(" a\r\n\u{0}b\t c ").unwrap(), "a b c");
        let words = "abc ".repeat(100);
        assert_eq!(sent(&words).unwrap(), words.trim_end());
        assert_eq!(sent(&format!("{words} d")).unwrap(), words.trim_end());
        assert_eq!(sent(&"漢".repeat(500)).unwrap(), "漢".repeat(400));
        let end = "漢".repeat(398);
        assert_eq!(sent(&format!("a {}", "漢".repeat(500))).unwrap(), format!("a {end}"));
        assert_eq!(sent(&"x".repeat(400)).unwrap().len(), 400);
    }

    #[test]
    fn empty_terms_are_an_error() {
        for text in ["", " \n", "\u{0}"] {
            assert_eq!(sent(text).unwrap_err().kind(), ErrorKind::InvalidRequest);
        }
        let error = terms(&WebSearchRequest::new("a b"), |_| None).unwrap_err();
        assert_eq!(error.to_string(), "the search terms are empty");
    }
}

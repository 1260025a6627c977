//! What SearXNG answers.

use super::JSON_IS_OFF;
use crate::http::Answer;
use crate::protocol::tolerant::Text;
use crate::web_search::reading::{List, Number, Object, required, without_results};
use ai_services_core::document::Metadata;
use ai_services_core::rag::web_search::{WebSearchResult, WebSearchResults};
use ai_services_core::{Error, ErrorKind, Result};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The most engines that an error names.
const MAX_NAMED: usize = 10;

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(borrow, default)]
    results: List<Object<Page<'a>>>,
    #[serde(default)]
    number_of_results: Number,
    /// Names and reasons.
    #[serde(borrow, default)]
    unresponsive_engines: List<List<Text<'a>>>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow, default)]
    title: Text<'a>,
    #[serde(borrow, default)]
    url: Text<'a>,
    #[serde(borrow, default)]
    content: Text<'a>,
    #[serde(default)]
    score: Number,
    #[serde(borrow, default)]
    engine: Text<'a>,
    #[serde(borrow, default, rename = "publishedDate")]
    published_date: Text<'a>,
}

/// Reads what was found.
///
/// # Errors
///
/// The error that the answer reports, [`ErrorKind::InvalidResponse`] for everything without a list of
/// results, and [`ErrorKind::Unavailable`] if there are none because engines did not answer.
pub(super) fn results(answer: &Answer) -> Result<WebSearchResults> {
    let reply: Reply<'_> = serde_json::from_slice(&answer.body).map_err(|error| {
        let error = answer.unreadable(error);
        let is_page = answer.body.trim_ascii_start().first() == Some(&b'<');
        if is_page { error.with_hint(JSON_IS_OFF) } else { error }
    })?;
    let Some(pages) = reply.results.0 else {
        return Err(without_results(answer, reply.error));
    };
    let silent = reply.unresponsive_engines.0.unwrap_or_default();
    if pages.is_empty() && !silent.is_empty() {
        return Err(unanswered(answer, &silent));
    }
    let found =
        WebSearchResults::new(pages.into_iter().filter_map(|page| page.0).map(Page::into_result));
    // Most servers do not know, and say zero.
    Ok(match reply.number_of_results.0.filter(|total| *total >= 1.0) {
        Some(total) => found.with_total(total as u64),
        None => found,
    })
}

/// The error for engines that did not answer.
fn unanswered(answer: &Answer, silent: &[List<Text<'_>>]) -> Error {
    let named = silent.iter().take(MAX_NAMED).map(|engine| {
        let mut parts = engine.0.iter().flatten().filter_map(|part| part.0.as_deref());
        let name = parts.next().unwrap_or("unknown");
        match parts.next() {
            Some(reason) => format!("{name} ({reason})"),
            None => name.to_owned(),
        }
    });
    let named = answer.quote(&named.collect::<Vec<_>>().join(", "));
    let message = format!("nothing was found, and not all engines answered: {named}");
    answer.annotate(Error::new(ErrorKind::Unavailable, message))
}

impl Page<'_> {
    fn into_result(self) -> WebSearchResult {
        let mut result = WebSearchResult::new(required(self.title), required(self.url));
        result.snippet = self.content.into_owned();
        result.score = self.score.0;
        let known = [("engine", self.engine), ("published_date", self.published_date)];
        let known = known.into_iter().filter_map(|(key, text)| Some((key, text.into_some()?)));
        result.metadata =
            known.fold(Metadata::new(), |all, (key, text)| all.with(key, text.into_owned()));
        result
    }
}

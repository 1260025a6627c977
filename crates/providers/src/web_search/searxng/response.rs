//! The answers of SearXNG.

use super::JSON_IS_OFF;
use crate::http::Answer;
use crate::protocol::tolerant::Text;
use crate::web_search::tolerant_json::{List, Number, Object, required, without_results};
use ai_services_core::document::Metadata;
use ai_services_core::rag::web_search::{WebSearchResult, WebSearchResults};
use ai_services_core::{Error, ErrorKind, Result};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The maximum number of engines in an error message.
const MAX_NAMED: usize = 10;

#[derive(Deserialize)]
struct SearchResponse<'a> {
    #[serde(borrow, default)]
    results: List<Object<Page<'a>>>,
    #[serde(default)]
    number_of_results: Number,
    /// Pairs of a name and a reason.
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

/// Parses the results of a search.
///
/// # Errors
///
/// The error that the answer reports, [`ErrorKind::InvalidResponse`] for an answer without a list of
/// results, and [`ErrorKind::Unavailable`] for an empty list if some engines did not answer.
pub(super) fn results(answer: &Answer) -> Result<WebSearchResults> {
    let response: SearchResponse<'_> = serde_json::from_slice(&answer.body).map_err(|error| {
        let error = answer.unreadable(error);
        let is_page = answer.body.trim_ascii_start().first() == Some(&b'<');
        if is_page { error.with_hint(JSON_IS_OFF) } else { error }
    })?;
    let Some(pages) = response.results.0 else {
        return Err(without_results(answer, response.error));
    };
    let unresponsive = response.unresponsive_engines.0.unwrap_or_default();
    if pages.is_empty() && !unresponsive.is_empty() {
        return Err(incomplete(answer, &unresponsive));
    }
    let found =
        WebSearchResults::new(pages.into_iter().filter_map(|page| page.0).map(Page::into_result));
    // Most servers have no estimate and write zero.
    Ok(match response.number_of_results.0.filter(|total| *total >= 1.0) {
        Some(total) => found.with_total(total as u64),
        None => found,
    })
}

/// Returns the error for a search without results in which some engines did not answer.
fn incomplete(answer: &Answer, unresponsive: &[List<Text<'_>>]) -> Error {
    let names = unresponsive.iter().take(MAX_NAMED).map(|engine| {
        let mut parts = engine.0.iter().flatten().filter_map(|part| part.0.as_deref());
        let name = parts.next().unwrap_or("unknown");
        match parts.next() {
            Some(reason) => format!("{name} ({reason})"),
            None => name.to_owned(),
        }
    });
    let names = answer.quote(&names.collect::<Vec<_>>().join(", "));
    let message = format!("no results, and some engines did not answer: {names}");
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

//! The answers of Tavily.

use crate::http::Answer;
use crate::protocol::tolerant::Text;
use crate::web_search::tolerant_json::{List, Number, Object, required, without_results};
use ai_services_core::Result;
use ai_services_core::document::Metadata;
use ai_services_core::rag::web_search::{WebSearchResult, WebSearchResults};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct SearchResponse<'a> {
    #[serde(borrow, default)]
    results: List<Object<Page<'a>>>,
    #[serde(borrow, default)]
    answer: Text<'a>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    detail: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow, default)]
    title: Text<'a>,
    #[serde(borrow, default)]
    url: Text<'a>,
    #[serde(borrow, default)]
    content: Text<'a>,
    #[serde(borrow, default)]
    raw_content: Text<'a>,
    #[serde(default)]
    score: Number,
    #[serde(borrow, default)]
    published_date: Text<'a>,
}

/// Parses the results of a search.
///
/// # Errors
///
/// The error that the answer reports, and [`InvalidResponse`](ai_services_core::ErrorKind::InvalidResponse)
/// for an answer without a list of results.
pub(super) fn results(answer: &Answer) -> Result<WebSearchResults> {
    let response: SearchResponse<'_> =
        serde_json::from_slice(&answer.body).map_err(|error| answer.unreadable(error))?;
    let Some(pages) = response.results.0 else {
        return Err(without_results(answer, response.error.or(response.detail)));
    };
    let pages = pages.into_iter().filter_map(|page| page.0).map(Page::into_result);
    let found = WebSearchResults::new(pages);
    Ok(match response.answer.0 {
        Some(answer) => found.with_answer(&answer),
        None => found,
    })
}

impl Page<'_> {
    fn into_result(self) -> WebSearchResult {
        let mut result = WebSearchResult::new(required(self.title), required(self.url));
        result.snippet = self.content.into_owned();
        result.content = self.raw_content.into_owned();
        result.score = self.score.0;
        if let Some(date) = self.published_date.into_some() {
            result.metadata = Metadata::new().with("published_date", date.into_owned());
        }
        result
    }
}

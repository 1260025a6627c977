//! Lists of a server, page by page.

use super::connection::Connection;
use super::failure::Failure;
use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourcesRequest, ListToolsRequest,
    PaginatedRequestParams, Prompt, Resource, ServerResult, Tool,
};
use serde::Serialize;
use std::collections::HashSet;
use std::time::Duration;
use tokio::time::Instant;

/// Most pages of a list.
const MAX_PAGES: usize = 1_000;

/// Most entries of a list.
const MAX_ENTRIES: usize = 10_000;

/// Most bytes of all entries of a list, as JSON.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// A complete list.
#[derive(Debug)]
pub(super) struct Listing<T> {
    pub(super) entries: Vec<T>,
    /// The end of the time for which the list may be used without asking the server again.
    pub(super) fresh_until: Option<Instant>,
}

/// One page of a list.
struct Page<T> {
    entries: Vec<T>,
    next_cursor: Option<String>,
    ttl_ms: Option<u64>,
}

/// An entry of a list that a server sends in pages.
pub(super) trait ListEntry: Serialize + Sized {
    fn request(params: Option<PaginatedRequestParams>) -> ClientRequest;
    fn page(result: ServerResult) -> Option<(Vec<Self>, Option<String>, Option<u64>)>;
}

impl Connection {
    /// Returns all entries of a list, within a time limit.
    ///
    /// # Errors
    ///
    /// Fails if a cursor repeats, and for more than 1,000 pages, 10,000 entries or 16 MiB.
    pub(super) async fn list<T: ListEntry>(&self, limit: Duration) -> Result<Listing<T>, Failure> {
        let listing = self.user_wait.limited(limit, self.all_pages(limit));
        listing.await.unwrap_or_else(|| {
            Err(Failure::NoAnswer(format!("the list was not complete within {limit:?}")))
        })
    }

    async fn all_pages<T: ListEntry>(&self, limit: Duration) -> Result<Listing<T>, Failure> {
        let mut listing = Listing { entries: Vec::new(), fresh_until: None };
        let (mut cursor, mut cursors, mut bytes) = (None, HashSet::new(), 0);
        for _ in 0..MAX_PAGES {
            let page = self.page::<T>(cursor.take(), limit).await?;
            for entry in &page.entries {
                bytes += serde_json::to_vec(entry).map_or(MAX_BYTES, |json| json.len());
            }
            listing.entries.extend(page.entries);
            if listing.entries.len() > MAX_ENTRIES || bytes > MAX_BYTES {
                let message = format!("a list has more than {MAX_ENTRIES} entries or 16 MiB");
                return Err(Failure::Invalid(message));
            }
            let until = page.ttl_ms.and_then(fresh_until);
            listing.fresh_until = match (listing.fresh_until, until) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
            let Some(next) = page.next_cursor else { return Ok(listing) };
            if !cursors.insert(next.clone()) {
                return Err(Failure::Invalid("the cursor of a list repeats".to_owned()));
            }
            cursor = Some(next);
        }
        Err(Failure::Invalid(format!("a list has more than {MAX_PAGES} pages")))
    }

    async fn page<T: ListEntry>(
        &self,
        cursor: Option<String>,
        limit: Duration,
    ) -> Result<Page<T>, Failure> {
        let params =
            cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let result = self.request(T::request(params), limit).await?;
        let Some((entries, next_cursor, ttl_ms)) = T::page(result) else {
            return Err(Failure::Invalid("the answer is not a list".to_owned()));
        };
        Ok(Page { entries, next_cursor, ttl_ms })
    }
}

/// A list is used for at least one second, so that a server cannot make each service call list its tools.
fn fresh_until(ttl_ms: u64) -> Option<Instant> {
    Instant::now().checked_add(Duration::from_millis(ttl_ms.max(1_000)))
}

macro_rules! list_entry {
    ($entry:ty, $request:ident, $result:ident, $entries:ident) => {
        impl ListEntry for $entry {
            fn request(params: Option<PaginatedRequestParams>) -> ClientRequest {
                let mut request = $request::default();
                request.params = params;
                ClientRequest::$request(request)
            }

            fn page(result: ServerResult) -> Option<(Vec<Self>, Option<String>, Option<u64>)> {
                match result {
                    ServerResult::$result(page) => {
                        Some((page.$entries, page.next_cursor, page.ttl_ms))
                    }
                    _ => None,
                }
            }
        }
    };
}

list_entry!(Tool, ListToolsRequest, ListToolsResult, tools);
list_entry!(Resource, ListResourcesRequest, ListResourcesResult, resources);
list_entry!(Prompt, ListPromptsRequest, ListPromptsResult, prompts);

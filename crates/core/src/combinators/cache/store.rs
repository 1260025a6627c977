//! A response cache in a chat memory store.

use super::{CacheKey, ResponseCache};
use crate::combinators::canonical::Answer;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{ChatMemoryStore, MemoryId};
use crate::message::{Attributes, ChatMessage, CustomMessage};
use crate::model::ChatResponse;
use async_trait::async_trait;
use serde_json::Value;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Marker of a message that is a cached answer.
const FORMAT: &str = "ai-services/cached-response";
const VERSION: u64 = 1;

/// A response cache in a [`ChatMemoryStore`]. Answers outlive the process and can be shared by several
/// processes.
///
/// Each answer is stored as a conversation of one custom message, with the id `response-cache:` and the key.
/// Old answers are deleted only by the store's own limits, if it has any. Answers older than the
/// [time to live](Self::time_to_live) are ignored, and replaced by the next answer.
///
/// # Errors
///
/// Returns the errors of the store, and [`ErrorKind::Store`] for an entry that is malformed or not a cached
/// answer. By default, a [`CachedModel`](super::CachedModel) handles these errors as a cache miss.
///
/// # Examples
///
/// ```
/// use ai_services::combinators::{CachedModel, StoreResponseCache};
/// use ai_services::memory::InMemoryChatMemoryStore;
/// use ai_services::testing::ScriptedChatModel;
/// use std::time::Duration;
///
/// let store = InMemoryChatMemoryStore::new(); // or one in a database
/// let cache = StoreResponseCache::new(store).time_to_live(Duration::from_secs(86_400));
/// let model = CachedModel::new(ScriptedChatModel::replies(["Hi."]), cache);
/// # let _ = model;
/// ```
#[must_use]
pub struct StoreResponseCache {
    store: Box<dyn ChatMemoryStore>,
    time_to_live: Option<Duration>,
}

impl StoreResponseCache {
    /// Creates a cache in `store`.
    pub fn new(store: impl ChatMemoryStore + 'static) -> Self {
        Self { store: Box::new(store), time_to_live: None }
    }

    /// Sets how long an answer is used, by the system clock. Default: unlimited.
    pub fn time_to_live(mut self, time: Duration) -> Self {
        self.time_to_live = Some(time);
        self
    }

    fn read(&self, key: &CacheKey, attributes: &Attributes) -> Result<Option<ChatResponse>> {
        let number = |name| attributes.get(name).and_then(Value::as_u64);
        let text = |name| attributes.get(name).and_then(Value::as_str);
        if text("format") != Some(FORMAT) || number("version") != Some(VERSION) {
            return Err(invalid_entry("it has an unknown format or version"));
        }
        if text("key") != Some(key.to_string().as_str()) {
            return Err(invalid_entry("it belongs to another request"));
        }
        let stored =
            number("stored").ok_or_else(|| invalid_entry("its time of storage is missing"))?;
        let age = Duration::from_secs(now().saturating_sub(stored));
        if self.time_to_live.is_some_and(|limit| age >= limit) {
            return Ok(None);
        }
        let response = attributes.get("response").cloned().unwrap_or_default();
        match serde_json::from_value::<Answer>(response) {
            Ok(Answer(response)) => Ok(Some(response)),
            Err(source) => Err(invalid_entry("its answer is malformed").with_source(source)),
        }
    }
}

#[async_trait]
impl ResponseCache for StoreResponseCache {
    async fn get(&self, key: &CacheKey) -> Result<Option<ChatResponse>> {
        let messages = self.store.get_messages(&id(key)).await?;
        match messages.as_slice() {
            [] => Ok(None),
            [ChatMessage::Custom(message)] => self.read(key, message.attributes()),
            _ => Err(invalid_entry("it is a chat conversation")),
        }
    }

    async fn put(&self, key: &CacheKey, response: &ChatResponse) -> Result<()> {
        let response = serde_json::to_value(Answer(response.clone())).map_err(|source| {
            Error::new(ErrorKind::Store, "the answer cannot be written as JSON").with_source(source)
        })?;
        let attributes = [
            ("format", FORMAT.into()),
            ("version", VERSION.into()),
            ("key", key.to_string().into()),
            ("stored", now().into()),
            ("response", response),
        ];
        let attributes = attributes.map(|(name, value)| (name.to_owned(), value));
        let message = CustomMessage::new(attributes.into_iter().collect());
        self.store.update_messages(&id(key), &[message.into()]).await
    }

    async fn remove(&self, key: &CacheKey) -> Result<()> {
        self.store.delete_messages(&id(key)).await
    }
}

fn id(key: &CacheKey) -> MemoryId {
    MemoryId::from(format!("response-cache:{key}"))
}

/// Returns the seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn invalid_entry(why: &str) -> Error {
    Error::new(ErrorKind::Store, format!("a stored entry is not a cached answer: {why}"))
}

impl fmt::Debug for StoreResponseCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreResponseCache")
            .field("time_to_live", &self.time_to_live)
            .finish_non_exhaustive()
    }
}

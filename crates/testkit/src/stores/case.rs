//! The environment of one check.

use super::StoreSuite;
pub(super) use crate::report::{CheckResult, Stop, ensure, failed, rejected};
use ai_services_core::memory::{
    Change, ChatMemoryStore, ConversationLeases, ConversationStore, LeaseToken, MemoryId,
};
use ai_services_core::message::ChatMessage;
use std::sync::{Mutex, PoisonError};

/// One run of one check, with unique ids.
pub(super) struct Case<'a> {
    suite: &'a StoreSuite,
    prefix: String,
    ids: Mutex<Vec<MemoryId>>,
}

impl<'a> Case<'a> {
    pub(super) fn new(suite: &'a StoreSuite) -> Self {
        let prefix = format!("suite-{:016x}-", LeaseToken::new().get());
        Self { suite, prefix, ids: Mutex::default() }
    }

    /// Returns a unique id. The conversation is deleted when the check ends.
    pub(super) fn id(&self, name: &str) -> MemoryId {
        self.register(format!("{}{name}", self.prefix))
    }

    /// Returns a unique id that starts with `name`; see [`id`](Self::id).
    pub(super) fn id_starting_with(&self, name: &str) -> MemoryId {
        self.register(format!("{name}{}", self.prefix))
    }

    fn register(&self, id: String) -> MemoryId {
        let id = MemoryId::from(id);
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).push(id.clone());
        id
    }

    /// Returns whether this check created `id`.
    pub(super) fn owns(&self, id: &MemoryId) -> bool {
        id.as_str().contains(&self.prefix)
    }

    /// Deletes the conversations of the check.
    pub(super) async fn clean_up(self) {
        for id in self.ids.into_inner().unwrap_or_else(PoisonError::into_inner) {
            // Failures of deletion are detected by the checks of deletion.
            let _ = self.suite.store.delete_messages(&id).await;
        }
    }

    pub(super) fn suite(&self) -> &'a StoreSuite {
        self.suite
    }

    pub(super) fn store(&self) -> &'a dyn ChatMemoryStore {
        &*self.suite.store
    }

    /// Returns the second handle of the same data, or the first one if there is no second.
    pub(super) fn second(&self) -> &'a dyn ChatMemoryStore {
        self.suite.second.as_deref().unwrap_or(&*self.suite.store)
    }

    /// Returns the first handle for even numbers and the second handle for odd numbers.
    pub(super) fn handle(&self, number: usize) -> &'a dyn ChatMemoryStore {
        if number.is_multiple_of(2) { self.store() } else { self.second() }
    }

    pub(super) fn conversations(&self) -> CheckResult<&'a dyn ConversationStore> {
        let store = self.suite.conversations.as_deref();
        store.ok_or(Stop::Skipped("the suite was not created with `of_conversations`"))
    }

    pub(super) fn leases(
        &self,
    ) -> CheckResult<(&'a dyn ConversationLeases, &'a dyn ConversationLeases)> {
        let first = self.store().leases();
        let first = first.ok_or(Stop::Skipped("the store has no leases"))?;
        let second = self.second().leases();
        let second = second.ok_or_else(|| failed("the second handle has no leases"))?;
        Ok((first, second))
    }

    /// Returns the version of a conversation; skips the check if the store has no versions.
    pub(super) async fn version(&self, id: &MemoryId) -> CheckResult<u64> {
        match self.store().load(id).await?.version() {
            Some(version) => Ok(version),
            None if self.suite.conversations.is_some() => Err(failed("`load` returns no version")),
            None => Err(Stop::Skipped("the store has no versions")),
        }
    }

    pub(super) async fn update(&self, id: &MemoryId, messages: &[ChatMessage]) -> CheckResult {
        let updated = self.store().update_messages(id, messages).await;
        updated.map_err(|error| failed(format!("`update_messages`: {:?}: {error}", error.kind())))
    }

    pub(super) async fn commit(&self, id: &MemoryId, change: Change) -> CheckResult {
        let committed = self.store().commit(id, change).await;
        committed.map_err(|error| failed(format!("`commit`: {:?}: {error}", error.kind())))
    }

    pub(super) async fn append(&self, id: &MemoryId, messages: Vec<ChatMessage>) -> CheckResult {
        self.commit(id, Change::advance(None, 0..0, messages)).await
    }

    /// Checks that a conversation has exactly these messages, with both read methods and both handles.
    pub(super) async fn expect(&self, id: &MemoryId, expected: &[ChatMessage]) -> CheckResult {
        for (store, handle) in [(self.store(), ""), (self.second(), " of the second handle")] {
            let read = store.get_messages(id).await?;
            same(&format!("`get_messages`{handle}"), &read, expected)?;
            let loaded = store.load(id).await?.messages().to_vec();
            same(&format!("`load`{handle}"), &loaded, expected)?;
            if self.suite.second.is_none() {
                break;
            }
        }
        Ok(())
    }
}

/// Checks that two lists of messages are equal.
pub(super) fn same(source: &str, found: &[ChatMessage], expected: &[ChatMessage]) -> CheckResult {
    let differs =
        (0..found.len().max(expected.len())).find(|at| found.get(*at) != expected.get(*at));
    let Some(at) = differs else { return Ok(()) };
    Err(failed(format!(
        "{source} returns {} messages, expected {}; message {at} is {}, expected {}",
        found.len(),
        expected.len(),
        shortened(found.get(at)),
        shortened(expected.get(at)),
    )))
}

/// Formats a message in at most 200 characters: some messages have megabytes.
fn shortened(message: Option<&ChatMessage>) -> String {
    const MAX_CHARACTERS: usize = 200;
    let Some(message) = message else { return "missing".into() };
    let text = format!("{message:?}");
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Returns `count` distinct user messages.
pub(super) fn numbered(name: &str, count: usize) -> Vec<ChatMessage> {
    (0..count).map(|number| ChatMessage::user(format!("{name} {number}"))).collect()
}

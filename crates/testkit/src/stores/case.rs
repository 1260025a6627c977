//! What one check works with.

use super::StoreSuite;
pub(super) use crate::report::{Stop, Verdict, ensure, failed, refused};
use ai_services_core::memory::{
    Change, ChatMemoryStore, ConversationLeases, ConversationStore, LeaseToken, MemoryId,
};
use ai_services_core::message::ChatMessage;
use std::sync::{Mutex, PoisonError};

/// One run of one check, with ids that nobody else has.
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

    /// An id for this check alone. The conversation is deleted when the check ends.
    pub(super) fn id(&self, name: &str) -> MemoryId {
        self.keep(format!("{}{name}", self.prefix))
    }

    /// As [`id`](Self::id), with the name in front.
    pub(super) fn id_beginning_with(&self, name: &str) -> MemoryId {
        self.keep(format!("{name}{}", self.prefix))
    }

    fn keep(&self, id: String) -> MemoryId {
        let id = MemoryId::from(id);
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).push(id.clone());
        id
    }

    /// Whether `id` is one of this check.
    pub(super) fn owns(&self, id: &MemoryId) -> bool {
        id.as_str().contains(&self.prefix)
    }

    /// Deletes what the check has written.
    pub(super) async fn clean_up(self) {
        for id in self.ids.into_inner().unwrap_or_else(PoisonError::into_inner) {
            // What cannot be deleted fails the check of deletion.
            let _ = self.suite.store.delete_messages(&id).await;
        }
    }

    pub(super) fn suite(&self) -> &'a StoreSuite {
        self.suite
    }

    pub(super) fn store(&self) -> &'a dyn ChatMemoryStore {
        &*self.suite.store
    }

    /// The other handle of the same data, or the first again.
    pub(super) fn second(&self) -> &'a dyn ChatMemoryStore {
        self.suite.second.as_deref().unwrap_or(&*self.suite.store)
    }

    /// The two handles in turn.
    pub(super) fn handle(&self, number: usize) -> &'a dyn ChatMemoryStore {
        if number.is_multiple_of(2) { self.store() } else { self.second() }
    }

    pub(super) fn conversations(&self) -> Verdict<&'a dyn ConversationStore> {
        let store = self.suite.conversations.as_deref();
        store.ok_or(Stop::Skipped("the store is not checked as a `ConversationStore`"))
    }

    pub(super) fn leases(
        &self,
    ) -> Verdict<(&'a dyn ConversationLeases, &'a dyn ConversationLeases)> {
        let first = self.store().leases();
        let first = first.ok_or(Stop::Skipped("the store gives no leases"))?;
        let second = self.second().leases();
        let second = second.ok_or_else(|| failed("the second handle gives no leases"))?;
        Ok((first, second))
    }

    /// The version of a conversation, for checks of versions.
    pub(super) async fn version(&self, id: &MemoryId) -> Verdict<u64> {
        match self.store().load(id).await?.version() {
            Some(version) => Ok(version),
            None if self.suite.conversations.is_some() => Err(failed("`load` gives no version")),
            None => Err(Stop::Skipped("the store has no versions")),
        }
    }

    pub(super) async fn update(&self, id: &MemoryId, messages: &[ChatMessage]) -> Verdict {
        let updated = self.store().update_messages(id, messages).await;
        updated.map_err(|error| failed(format!("`update_messages`: {:?}: {error}", error.kind())))
    }

    pub(super) async fn commit(&self, id: &MemoryId, change: Change) -> Verdict {
        let committed = self.store().commit(id, change).await;
        committed.map_err(|error| failed(format!("`commit`: {:?}: {error}", error.kind())))
    }

    pub(super) async fn append(&self, id: &MemoryId, messages: Vec<ChatMessage>) -> Verdict {
        self.commit(id, Change::advance(None, 0..0, messages)).await
    }

    /// Checks that a conversation consists of these messages, however it is read.
    pub(super) async fn expect(&self, id: &MemoryId, expected: &[ChatMessage]) -> Verdict {
        for (store, which) in [(self.store(), ""), (self.second(), " of the second handle")] {
            let read = store.get_messages(id).await?;
            same(&format!("`get_messages`{which}"), &read, expected)?;
            let loaded = store.load(id).await?.messages().to_vec();
            same(&format!("`load`{which}"), &loaded, expected)?;
            if self.suite.second.is_none() {
                break;
            }
        }
        Ok(())
    }
}

/// Checks that two lists are the same.
pub(super) fn same(what: &str, found: &[ChatMessage], expected: &[ChatMessage]) -> Verdict {
    let differs =
        (0..found.len().max(expected.len())).find(|at| found.get(*at) != expected.get(*at));
    let Some(at) = differs else { return Ok(()) };
    Err(failed(format!(
        "{what} gives {} messages where {} are expected; message {at} is {}, expected {}",
        found.len(),
        expected.len(),
        brief(found.get(at)),
        brief(expected.get(at)),
    )))
}

/// A message as a few words: some have megabytes.
fn brief(message: Option<&ChatMessage>) -> String {
    const LONGEST: usize = 200;
    let Some(message) = message else { return "missing".into() };
    let text = format!("{message:?}");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// `count` user messages that are all different.
pub(super) fn numbered(name: &str, count: usize) -> Vec<ChatMessage> {
    (0..count).map(|number| ChatMessage::user(format!("{name} {number}"))).collect()
}

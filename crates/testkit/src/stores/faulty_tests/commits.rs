//! Messages, versions and commits of the faulty store.

use super::{Chat, Fault, FaultyStore, State};
use ai_services_core::memory::{
    Change, ChatMemoryStore, CommitState, ConversationLeases, EvictedMessages, MemoryId, RequestId,
    Snapshot, TurnJournals,
};
use ai_services_core::message::{AiMessage, ChatMessage};
use ai_services_core::{Error, ErrorKind, Result};
use async_trait::async_trait;
use tokio::task::yield_now;
use tokio::time::Instant;

#[async_trait]
impl ChatMemoryStore for FaultyStore {
    async fn get_messages(&self, id: &MemoryId) -> Result<Vec<ChatMessage>> {
        Ok(self.read(id)?.messages())
    }

    async fn update_messages(&self, id: &MemoryId, messages: &[ChatMessage]) -> Result<()> {
        self.commit(id, Change::replace(None, messages.to_vec().into())).await
    }

    async fn delete_messages(&self, id: &MemoryId) -> Result<()> {
        let mut state = self.state();
        if self.is(Fault::CannotDeleteDamage) {
            self.check(&state, id)?;
        }
        match self.0.fault {
            Fault::DeletesEverything => state.chats.clear(),
            Fault::DeletesNothing => {}
            Fault::DeletionKeepsHistory => {
                if let Some(chat) = state.chats.get_mut(&self.key(id)) {
                    chat.version = 0;
                    chat.lease = None;
                    chat.rows.iter_mut().for_each(|row| row.is_evicted = true);
                }
            }
            Fault::DeletionKeepsJournals => {
                let key = self.key(id);
                let journal = state.chats.remove(&key).and_then(|chat| chat.journal);
                if journal.is_some() {
                    state.chats.insert(key, Chat { journal, ..Chat::default() });
                }
            }
            _ => drop(state.chats.remove(&self.key(id))),
        }
        Ok(())
    }

    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        let chat = self.read(id)?;
        let version = Some(chat.version).filter(|_| !self.is(Fault::HasNoVersions));
        Ok(Snapshot::new(chat.messages(), version).with_journal(self.loaded_position(&chat)))
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        if id.as_str().is_empty() && !self.is(Fault::AcceptsTheEmptyId) {
            return Err(Error::configuration("empty"));
        }
        match self.0.fault {
            Fault::ChecksThenWrites => {
                let chat = self.chat(&self.state(), id);
                self.check_change(&chat, id, &change)?;
                yield_now().await;
                let unchecked = match change.evicted() {
                    Some(range) => {
                        Change::advance(None, range, change.appended().cloned().collect())
                    }
                    None => Change::replace(None, change.appended().cloned().collect()),
                };
                self.apply(&mut self.state(), id, &unchecked)
            }
            Fault::ReadsThenRewrites => {
                let chat = self.chat(&self.state(), id);
                self.check_change(&chat, id, &change)?;
                yield_now().await;
                let mut messages = chat.messages().into();
                change.apply(&mut messages);
                self.apply(&mut self.state(), id, &Change::replace(None, messages))
            }
            Fault::ChecksRequestsThenWrites => {
                let chat = self.chat(&self.state(), id);
                self.check_request(&chat, &change)?;
                yield_now().await;
                self.apply(&mut self.state(), id, &change)
            }
            Fault::ClosesInTwoSteps => {
                self.apply(&mut self.state(), id, &change)?;
                yield_now().await;
                self.close(&mut self.state(), id, &change);
                Ok(())
            }
            _ => self.apply(&mut self.state(), id, &change),
        }
    }

    async fn commit_state(&self, id: &MemoryId, request: &RequestId) -> Result<CommitState> {
        let state = self.state();
        let chat = self.chat(&state, id);
        let others = state.chats.values().filter(|_| self.is(Fault::FindsRequestsOfOthers));
        let mut requests = others.chain([&chat]).flat_map(|chat| &chat.requests);
        if self.is(Fault::RecordsNoRequests) {
            return Ok(CommitState::NotRecorded);
        }
        let is_found = requests.any(|found| found.as_ref() == Some(request));
        Ok(if is_found { CommitState::Committed } else { CommitState::NotFound })
    }

    fn leases(&self) -> Option<&dyn ConversationLeases> {
        Some(self)
    }

    fn journals(&self) -> Option<&dyn TurnJournals> {
        Some(self)
    }
}

impl FaultyStore {
    fn written(&self, message: &ChatMessage) -> ChatMessage {
        match (self.0.fault, message) {
            (Fault::LosesThinking, ChatMessage::Ai(ai)) if ai.thinking().is_some() => {
                AiMessage::builder().text(ai.text().unwrap_or_default()).build().into()
            }
            (Fault::LosesProviderContent, ChatMessage::Ai(ai)) => {
                ai.clone().with_tool_calls(ai.tool_calls().to_vec()).into()
            }
            (Fault::TruncatesTextsAtNul, message) => match message.text() {
                Some(text) => ChatMessage::user(text.split('\0').next().unwrap()),
                None => message.clone(),
            },
            _ => message.clone(),
        }
    }

    fn check_request(&self, chat: &Chat, change: &Change) -> Result<()> {
        let is_repeated =
            change.request().is_some_and(|it| chat.requests.contains(&Some(it.clone())));
        if is_repeated && !self.is(Fault::AcceptsRepeatedRequests) {
            let error = Error::new(ErrorKind::Conflict, "the request was already committed");
            return Err(error.with_retryable(self.is(Fault::RepeatedRequestsAreRetryable)));
        }
        Ok(())
    }

    fn check_change(&self, chat: &Chat, id: &MemoryId, change: &Change) -> Result<()> {
        if !self.is(Fault::ChecksRequestsThenWrites) {
            self.check_request(chat, change)?;
        }
        let conflict =
            |reason: &str| Err(Error::new(ErrorKind::Conflict, format!("{id}: {reason}")));
        let is_expected = match change.expected_version() {
            _ if self.is(Fault::IgnoresVersions) => true,
            Some(0) if self.is(Fault::AcceptsAnyFirstVersion) => true,
            Some(version) if self.is(Fault::AcceptsFutureVersions) => version >= chat.version,
            Some(version) => version == chat.version,
            None if self.is(Fault::MissingVersionMeansNew) => {
                change.is_replacement() || chat.version == 0
            }
            None => true,
        };
        if !is_expected {
            return conflict("another version");
        }
        let lease = chat
            .lease
            .filter(|(_, until)| *until > Instant::now() || self.is(Fault::AcceptsExpiredLeases));
        match (change.lease(), lease) {
            (Some(_), _) if self.is(Fault::IgnoresLostLeases) => {}
            (Some(token), Some((holder, _))) if token == holder => {}
            (Some(_), _) => return conflict("the lease was lost"),
            (None, Some(_)) if self.is(Fault::LeaseBlocksOthers) => return conflict("leased"),
            (None, _) => {}
        }
        self.check_closed(chat, change)
    }

    fn evict(&self, chat: &mut Chat, change: &Change, new: &[ChatMessage]) -> usize {
        let current: Vec<u64> = chat.current().map(|row| row.position).collect();
        let mut kept = 0;
        let gone: Vec<u64> = match change.evicted() {
            Some(range) => {
                let end = range.end.min(current.len());
                let range = range.start.min(end)..end;
                let (first, count) = (current.first().copied().unwrap_or(0), range.len());
                match self.0.fault {
                    Fault::CountsGaps => range
                        .map(|at| first + at as u64)
                        .filter(|at| current.contains(at))
                        .collect(),
                    Fault::EvictsTheNewest => current.iter().rev().take(count).copied().collect(),
                    Fault::EvictsOneTooFew => current[range].iter().skip(1).copied().collect(),
                    _ => current[range].to_vec(),
                }
            }
            None if self.is(Fault::UpdateAppends) => Vec::new(),
            None => {
                let mut gone = Vec::new();
                for row in chat.current() {
                    let stays = new.get(kept) == Some(&row.message);
                    if stays && !self.is(Fault::ReplacesEverything) {
                        kept += 1;
                    } else {
                        gone.push(row.position);
                    }
                }
                gone
            }
        };
        for row in chat.rows.iter_mut().filter(|row| gone.contains(&row.position)) {
            row.is_evicted = true;
        }
        let keeps = self.0.evicted_messages == EvictedMessages::Keep;
        if !keeps || self.is(Fault::ForgetsEvicted) {
            chat.rows.retain(|row| !row.is_evicted);
        }
        kept
    }

    fn apply(&self, state: &mut State, id: &MemoryId, change: &Change) -> Result<()> {
        if change.is_replacement() && !self.is(Fault::OverwritesDamage) {
            self.check(state, id)?;
        }
        let key = self.key(id);
        let mut chat = state.chats.get(&key).cloned().unwrap_or_default();
        let checked = self.check_change(&chat, id, change);
        if checked.is_err() && !self.is(Fault::AppliesConflicts) {
            if let Some(chat) = state.chats.get_mut(&key) {
                if self.is(Fault::ConflictReleases) {
                    chat.lease = None;
                }
                if self.is(Fault::RecordsRefusedRequests) {
                    chat.requests.insert(0, change.request().cloned());
                }
            }
            return checked;
        }
        let new: Vec<_> = change.appended().map(|message| self.written(message)).collect();
        let kept = self.evict(&mut chat, change, &new);
        let mut appended = new[kept..].to_vec();
        match self.0.fault {
            Fault::ReversesAppends => appended.reverse(),
            Fault::LosesTheLastMessage => drop(appended.pop()),
            Fault::RejectsMegabytes => {
                let text = |message: &ChatMessage| message.text().map_or(0, str::len);
                if appended.iter().any(|message| text(message) > 1 << 20) {
                    return Err(Error::new(ErrorKind::Store, "too large"));
                }
            }
            _ => {}
        }
        let is_empty_commit = change.evicted() == Some(0..0) && appended.is_empty();
        appended.into_iter().for_each(|message| chat.push(message));
        if change.lease().is_some() && !self.is(Fault::CommitKeepsLease) {
            chat.lease = None;
        }
        chat.requests.insert(0, change.request().cloned());
        chat.requests.truncate(if self.is(Fault::RemembersFewCommits) { 8 } else { 32 });
        chat.last_updated = self.now();
        if !(is_empty_commit && self.is(Fault::EmptyCommitKeepsVersion)) {
            state.versions += 1;
            let restarts = self.is(Fault::VersionsRestart);
            chat.version = if restarts { chat.version + 1 } else { state.versions };
        }
        state.chats.insert(key, chat);
        if !self.is(Fault::ClosesInTwoSteps) {
            self.close(state, id, change);
        }
        checked
    }
}

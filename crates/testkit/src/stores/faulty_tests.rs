//! A small complete store with one configurable fault.

use ai_services_core::memory::{
    Change, ChatMemoryStore, CommitState, Conversation, ConversationLeases, ConversationStore,
    EvictedMessages, HistoryEntry, HistoryPosition, LeaseOptions, LeaseToken, MemoryId, RawRecord,
    RequestId, Snapshot, UnreadableRecord,
};
use ai_services_core::message::{AiMessage, ChatMessage};
use ai_services_core::{Error, ErrorKind, Result};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};
use tokio::task::yield_now;
use tokio::time::Instant;

/// A fault of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    // Messages.
    AnswersForUnknownIds,
    LosesThinking,
    LosesProviderContent,
    TruncatesTextsAtNul,
    LosesTheLastMessage,
    ReversesAppends,
    UpdateAppends,
    EvictsTheNewest,
    EvictsOneTooFew,
    CountsGaps,
    DeletesEverything,
    DeletesNothing,
    IgnoresCase,
    TrimsIds,
    TruncatesIds,
    TruncatesIdsAtNul,
    AcceptsTheEmptyId,
    TruncatesAtNineHundred,
    RejectsMegabytes,
    // Versions.
    HasNoVersions,
    AcceptsAnyFirstVersion,
    EmptyCommitKeepsVersion,
    IgnoresVersions,
    AppliesConflicts,
    AcceptsFutureVersions,
    MissingVersionMeansNew,
    VersionsRestart,
    ChecksThenWrites,
    ReadsThenRewrites,
    // Requests.
    RecordsNoRequests,
    FindsRequestsOfOthers,
    RemembersFewCommits,
    AcceptsRepeatedRequests,
    RepeatedRequestsAreRetryable,
    ChecksRequestsThenWrites,
    RecordsRefusedRequests,
    // Conversations.
    CountsEvicted,
    PagesOverlap,
    DeletedCursorIsTheEnd,
    ListsByLastUse,
    ListsEmptyConversations,
    RoundsTimesToSeconds,
    ReadUpdatesLastUse,
    AcceptsEmptyPages,
    ExportsNothing,
    DeletesUsedConversations,
    DeletesEqualTimes,
    KeepsUnusedConversations,
    // Histories.
    ForgetsEvicted,
    SetsNoFlags,
    PositionsChange,
    PagesStartAtTheOldest,
    PagesAreLonger,
    PagesRepeatTheCursor,
    ReplacesEverything,
    DeletionKeepsHistory,
    // Leases.
    GrantsEveryLease,
    ReleasesForeignLeases,
    LeaseBlocksOthers,
    LeaseChangesVersion,
    CommitKeepsLease,
    IgnoresLostLeases,
    ConflictReleases,
    LeasesNeverExpire,
    DoesNotExtendLeases,
    AcceptsExpiredLeases,
    // Damage.
    SkipsDamagedRows,
    HistorySkipsDamagedRows,
    ReportsWithoutDetail,
    OverwritesDamage,
    CannotExportDamage,
    CannotDeleteDamage,
    DamageSpreads,
    NewerIsCorrupt,
}

/// A store with one fault. Clones share the data.
#[derive(Clone)]
pub(super) struct FaultyStore(Arc<SharedState>);

struct SharedState {
    fault: Fault,
    evicted_messages: EvictedMessages,
    start: (SystemTime, Instant),
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    chats: BTreeMap<String, Chat>,
    versions: u64,
}

#[derive(Clone, Default)]
struct Chat {
    rows: Vec<Row>,
    positions: u64,
    version: u64,
    last_updated: Duration,
    lease: Option<(LeaseToken, Instant)>,
    /// The requests of the last commits, newest first.
    requests: Vec<Option<RequestId>>,
}

#[derive(Clone)]
struct Row {
    position: u64,
    message: ChatMessage,
    is_evicted: bool,
    damage: Option<Damage>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Damage {
    Corrupt,
    Newer,
}

impl Chat {
    fn current(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.is_evicted)
    }

    fn messages(&self) -> Vec<ChatMessage> {
        self.current().map(|row| row.message.clone()).collect()
    }

    fn push(&mut self, message: ChatMessage) {
        self.positions += 1;
        let position = self.positions;
        self.rows.push(Row { position, message, is_evicted: false, damage: None });
    }
}

impl FaultyStore {
    pub(super) fn new(fault: Fault, evicted_messages: EvictedMessages) -> Self {
        let start = (SystemTime::now(), Instant::now());
        let state = Mutex::default();
        Self(Arc::new(SharedState { fault, evicted_messages, start, state }))
    }

    pub(super) fn damage(&self, id: &MemoryId, damage: Damage) {
        let mut state = self.state();
        let newest = state.chats.get_mut(&self.key(id)).and_then(|chat| chat.rows.last_mut());
        newest.unwrap().damage = Some(damage);
    }

    fn is(&self, fault: Fault) -> bool {
        self.0.fault == fault
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    fn key(&self, id: &MemoryId) -> String {
        let id = id.as_str();
        match self.0.fault {
            Fault::IgnoresCase => id.to_lowercase(),
            Fault::TrimsIds => id.trim_end().to_owned(),
            Fault::TruncatesIds => id.chars().take(1_000).collect(),
            Fault::TruncatesIdsAtNul => id.split('\0').next().unwrap().to_owned(),
            _ => id.to_owned(),
        }
    }

    fn now(&self) -> Duration {
        let now = self.0.start.1.elapsed();
        match self.0.fault {
            Fault::RoundsTimesToSeconds => Duration::from_secs(now.as_secs()),
            _ => Duration::from_millis(now.as_millis() as u64),
        }
    }

    fn time(&self, since: Duration) -> SystemTime {
        self.0.start.0 + since
    }

    fn chat(&self, state: &State, id: &MemoryId) -> Chat {
        let chat = state.chats.get(&self.key(id));
        let any = || state.chats.values().next().filter(|_| self.is(Fault::AnswersForUnknownIds));
        chat.or_else(any).cloned().unwrap_or_default()
    }

    /// Fails if a row cannot be read.
    fn check(&self, state: &State, id: &MemoryId) -> Result<()> {
        let chat = self.chat(state, id);
        let spread = state.chats.values().filter(|_| self.is(Fault::DamageSpreads));
        let rows = chat.rows.iter().chain(spread.flat_map(|chat| &chat.rows));
        let Some((row, damage)) = rows.filter_map(|row| Some((row, row.damage?))).next() else {
            return Ok(());
        };
        let row = format!("message {}", row.position);
        let record = match damage {
            Damage::Newer if !self.is(Fault::NewerIsCorrupt) => {
                UnreadableRecord::newer(id, row, 2, 1)
            }
            _ => UnreadableRecord::corrupt(id, row, "it is damaged"),
        };
        match self.0.fault {
            Fault::ReportsWithoutDetail => Err(Error::new(ErrorKind::Store, record.to_string())),
            _ => Err(record.into()),
        }
    }

    fn read(&self, id: &MemoryId) -> Result<Chat> {
        let mut state = self.state();
        if self.is(Fault::ReadUpdatesLastUse) {
            let now = self.now();
            state.chats.entry(self.key(id)).and_modify(|chat| chat.last_updated = now);
        }
        if !self.is(Fault::SkipsDamagedRows) {
            self.check(&state, id)?;
        }
        let mut chat = self.chat(&state, id);
        chat.rows.retain(|row| row.damage.is_none());
        if self.is(Fault::TruncatesAtNineHundred) {
            chat.rows.truncate(900);
        }
        Ok(chat)
    }

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
            (Some(_), _) if self.is(Fault::IgnoresLostLeases) => Ok(()),
            (Some(token), Some((holder, _))) if token == holder => Ok(()),
            (Some(_), _) => conflict("the lease was lost"),
            (None, Some(_)) if self.is(Fault::LeaseBlocksOthers) => conflict("leased"),
            (None, _) => Ok(()),
        }
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
        checked
    }

    fn describe(&self, id: &str, chat: &Chat) -> Option<Conversation> {
        let is_hidden = chat.rows.is_empty() && !self.is(Fault::ListsEmptyConversations);
        let count = match self.0.fault {
            Fault::CountsEvicted => chat.positions,
            _ => chat.current().count() as u64,
        };
        (!is_hidden).then(|| Conversation::new(id.into(), count, self.time(chat.last_updated)))
    }
}

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
            _ => drop(state.chats.remove(&self.key(id))),
        }
        Ok(())
    }

    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        let chat = self.read(id)?;
        let version = Some(chat.version).filter(|_| !self.is(Fault::HasNoVersions));
        Ok(Snapshot::new(chat.messages(), version))
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
}

#[async_trait]
impl ConversationStore for FaultyStore {
    async fn conversations(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<Conversation>> {
        if limit == 0 && !self.is(Fault::AcceptsEmptyPages) {
            return Err(Error::configuration("empty"));
        }
        let state = self.state();
        let mut all: Vec<_> =
            state.chats.iter().filter_map(|(id, chat)| self.describe(id, chat)).collect();
        let known = |after: &MemoryId| all.iter().find(|c| c.id == *after).cloned();
        let cursor = after.map(known);
        if self.is(Fault::DeletedCursorIsTheEnd) && cursor == Some(None) {
            return Ok(Vec::new());
        }
        match (self.0.fault, cursor) {
            (Fault::ListsByLastUse, cursor) => {
                all.sort_by_key(|one| one.last_updated);
                let used = cursor.flatten().map(|cursor| cursor.last_updated);
                all.retain(|found| used.is_none_or(|used| found.last_updated > used));
            }
            (Fault::PagesOverlap, _) => all.retain(|found| after <= Some(&found.id)),
            _ => all.retain(|found| after < Some(&found.id)),
        }
        all.truncate(limit);
        Ok(all)
    }

    async fn conversation(&self, id: &MemoryId) -> Result<Option<Conversation>> {
        let state = self.state();
        Ok(state.chats.get(&self.key(id)).and_then(|chat| self.describe(id.as_str(), chat)))
    }

    async fn delete_not_updated_since(&self, time: SystemTime) -> Result<u64> {
        let mut state = self.state();
        let before = state.chats.len();
        state.chats.retain(|_, chat| {
            let last_updated = self.time(chat.last_updated);
            match self.0.fault {
                Fault::DeletesUsedConversations => last_updated < time,
                Fault::DeletesEqualTimes => last_updated > time,
                Fault::KeepsUnusedConversations => true,
                _ => last_updated >= time,
            }
        });
        Ok((before - state.chats.len()) as u64)
    }

    async fn history(
        &self,
        id: &MemoryId,
        position: HistoryPosition,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>> {
        if limit == 0 && !self.is(Fault::AcceptsEmptyPages) {
            return Err(Error::configuration("empty"));
        }
        let state = self.state();
        if !self.is(Fault::HistorySkipsDamagedRows) {
            self.check(&state, id)?;
        }
        let chat = self.chat(&state, id);
        let moved = if self.is(Fault::PositionsChange) { chat.version } else { 0 };
        let flags = !self.is(Fault::SetsNoFlags);
        let mut entries: Vec<_> = chat
            .rows
            .iter()
            .map(|row| {
                let is_evicted = row.is_evicted && flags;
                HistoryEntry::new(row.position + moved, row.message.clone(), is_evicted)
            })
            .collect();
        let repeats = self.is(Fault::PagesRepeatTheCursor);
        match position {
            HistoryPosition::After(after) => {
                entries.retain(|e| e.position > after || repeats && e.position == after);
            }
            HistoryPosition::Before(before) => entries.retain(|entry| entry.position < before),
            HistoryPosition::Oldest | HistoryPosition::Newest => {}
        }
        let limit = if self.is(Fault::PagesAreLonger) { limit.saturating_add(1) } else { limit };
        let from_end = matches!(position, HistoryPosition::Before(_) | HistoryPosition::Newest);
        if from_end && !self.is(Fault::PagesStartAtTheOldest) {
            entries.drain(..entries.len().saturating_sub(limit));
        }
        entries.truncate(limit);
        Ok(entries)
    }

    async fn export_raw(&self, id: &MemoryId) -> Result<Vec<RawRecord>> {
        let state = self.state();
        if self.is(Fault::CannotExportDamage) {
            self.check(&state, id)?;
        }
        let chat = state.chats.get(&self.key(id)).cloned().unwrap_or_default();
        let rows = chat.rows.iter().filter(|_| !self.is(Fault::ExportsNothing));
        let raw = |row: &Row| {
            RawRecord::new(format!("message {}", row.position), format!("{:?}", row.message))
        };
        Ok(rows.map(raw).collect())
    }
}

#[async_trait]
impl ConversationLeases for FaultyStore {
    fn options(&self) -> LeaseOptions {
        LeaseOptions::new().duration(Duration::from_secs(1))
    }

    async fn acquire(&self, id: &MemoryId, token: LeaseToken) -> Result<bool> {
        let mut state = self.state();
        let chat = state.chats.entry(self.key(id)).or_default();
        let until = Instant::now() + self.options().duration;
        if self.is(Fault::LeaseChangesVersion) {
            chat.version += 1;
        }
        match chat.lease {
            Some((holder, _)) if holder == token && self.is(Fault::DoesNotExtendLeases) => {}
            Some((holder, ends)) if holder != token => {
                let is_over = ends <= Instant::now() && !self.is(Fault::LeasesNeverExpire);
                if !is_over && !self.is(Fault::GrantsEveryLease) {
                    return Ok(false);
                }
                chat.lease = Some((token, until));
            }
            _ => chat.lease = Some((token, until)),
        }
        Ok(true)
    }

    async fn release(&self, id: &MemoryId, token: LeaseToken) -> Result<()> {
        let mut state = self.state();
        let is_any_holder = self.is(Fault::ReleasesForeignLeases);
        if let Some(chat) = state.chats.get_mut(&self.key(id)) {
            chat.lease = chat.lease.filter(|(holder, _)| *holder != token && !is_any_holder);
        }
        Ok(())
    }
}

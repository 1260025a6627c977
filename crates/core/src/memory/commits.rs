//! Detection of commits that were applied although their answer was lost.

use super::{Change, MemoryId};
use crate::error::{Error, ErrorKind};
use crate::invocation::RequestId;
use crate::random::random;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of commits of a conversation that a store remembers.
///
/// A store looks for its own commit within seconds, so that the number only matters if more commits
/// than this are made to one conversation in the meantime. The outcome is then reported as unknown.
pub const KEPT_COMMITS: usize = 32;

/// Length in bytes of an entry of a [`CommitLog`].
pub const ENTRY_BYTES: usize = 24;

/// Length in bytes of a full [`CommitLog`].
pub const MAX_LOG_BYTES: usize = KEPT_COMMITS * ENTRY_BYTES;

/// Length in bytes of the hash of a request id, at the end of an entry.
const REQUEST_BYTES: usize = 8;

/// The answer of [`ChatMemoryStore::commit_state`](super::ChatMemoryStore::commit_state).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommitState {
    /// The request was committed.
    Committed,
    /// None of the last 32 commits of the conversation belongs to the request.
    NotFound,
    /// The store does not record the requests of its commits.
    NotRecorded,
}

/// The last commits of a conversation, at most 32 of them, as bytes for the head of the conversation.
///
/// An entry has 24 bytes: the version that the commit replaced, a random number, and a hash of the
/// request id. The newest entry is the first one. A database that cannot run this code prepends the
/// entry of a commit to the bytes, and truncates them to [`MAX_LOG_BYTES`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitLog(Vec<u8>);

impl CommitLog {
    /// Reads a stored log. Bytes after the last complete entry are ignored, so that a damaged log does not
    /// make the conversation unreadable.
    #[must_use]
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Returns the bytes to store.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Adds the entry of the newest commit. Removes the oldest one if there are more than
    /// [`KEPT_COMMITS`].
    pub fn push(&mut self, entry: [u8; ENTRY_BYTES]) {
        self.0.splice(..0, entry);
        self.0.truncate(MAX_LOG_BYTES);
    }

    /// Returns whether a commit of the request is in the log.
    #[must_use]
    pub fn state_of(&self, request: &RequestId) -> CommitState {
        if self.has(&request_hash(request)) {
            CommitState::Committed
        } else {
            CommitState::NotFound
        }
    }

    /// Returns the entry of the newest commit.
    #[must_use]
    pub fn newest(&self) -> Option<&[u8]> {
        self.entries().next()
    }

    /// Returns whether the log has this entry.
    pub(crate) fn contains(&self, entry: &[u8; ENTRY_BYTES]) -> bool {
        self.entries().any(|found| found == entry)
    }

    /// Returns whether an entry ends with these bytes.
    fn has(&self, end: &[u8]) -> bool {
        self.entries().any(|entry| entry.ends_with(end))
    }

    /// Returns whether a commit in the log has replaced this version.
    fn has_replaced(&self, version: u64) -> bool {
        self.entries().any(|entry| entry.starts_with(&version.to_be_bytes()))
    }

    fn entries(&self) -> impl Iterator<Item = &[u8]> {
        self.0.chunks_exact(ENTRY_BYTES)
    }
}

/// A commit that is being sent to a database, possibly several times.
///
/// A store creates it once for each call of `commit`, writes [`entry`](Self::entry) with every attempt, and
/// calls [`lose_answer`](Self::lose_answer) for each attempt that may have been applied although it failed.
/// Before it sends a commit again, or reports that a commit was refused, it calls
/// [`settle`](Self::settle).
#[derive(Debug)]
pub struct PendingCommit {
    id: MemoryId,
    request: RequestId,
    /// Random number that identifies this commit among all commits of the same request.
    nonce: u64,
    /// Version of the attempt that may have been applied. Each such attempt is settled before another
    /// version is tried, so there is at most one.
    in_doubt: Mutex<Option<u64>>,
}

/// The outcome of the attempts so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The commit was applied.
    Applied,
    /// The commit was not applied. It may be sent again.
    NotApplied,
}

impl PendingCommit {
    /// Creates the idempotency key of a commit. A change without a request id gets a random one.
    #[must_use]
    pub fn new(id: &MemoryId, change: &Change) -> Self {
        let request = change.request().cloned();
        let request = request.unwrap_or_else(|| RequestId::from_numbers([random(), random()]));
        Self { id: id.clone(), request, nonce: random(), in_doubt: Mutex::default() }
    }

    /// Returns the entry of this commit in the [`CommitLog`], for an attempt that replaces `version`.
    #[must_use]
    pub fn entry(&self, version: u64) -> [u8; ENTRY_BYTES] {
        let mut entry = [0; ENTRY_BYTES];
        let parts = version.to_be_bytes().into_iter().chain(self.key());
        entry.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
        entry
    }

    /// Returns the end of the entry: random number and hash of the request.
    fn key(&self) -> impl Iterator<Item = u8> + use<> {
        self.nonce.to_be_bytes().into_iter().chain(request_hash(&self.request))
    }

    /// Records that the attempt at `version` may have been applied: the connection broke, or the answer did
    /// not arrive in time.
    pub fn lose_answer(&self, version: u64) {
        *self.in_doubt() = Some(version);
    }

    /// Decides from the stored `version` and `log` whether an earlier attempt was applied.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::UnknownOutcome`] if an attempt may have been applied, but so many commits followed
    /// that the log does not contain it, or the conversation was deleted. Returns a conflict that is not
    /// retryable if another commit of the same request was applied.
    pub fn settle(&self, version: u64, log: &CommitLog) -> Result<Settled, Error> {
        if log.has(&self.key().collect::<Vec<_>>()) {
            return Ok(Settled::Applied);
        }
        if log.state_of(&self.request) == CommitState::Committed {
            return Err(self.repeated());
        }
        let mut in_doubt = self.in_doubt();
        // While the version is the same, the attempt may still be on its way.
        let Some(attempted) = in_doubt.filter(|attempted| *attempted != version) else {
            return Ok(Settled::NotApplied);
        };
        if !log.has_replaced(attempted) {
            drop(in_doubt);
            let message = "other writers have changed the conversation since, and the record of its \
                           commits does not go back far enough";
            return Err(self.fail(Error::new(ErrorKind::Conflict, message)));
        }
        // Versions are never reused: another commit has replaced this version.
        *in_doubt = None;
        Ok(Settled::NotApplied)
    }

    /// Returns the error of a commit that is not sent again: `error` itself if it is known that no attempt was
    /// applied, otherwise an error of the kind [`ErrorKind::UnknownOutcome`].
    #[must_use]
    pub fn fail(&self, error: Error) -> Error {
        let is_settled = self.in_doubt().is_none();
        if is_settled || error.kind() == ErrorKind::UnknownOutcome {
            return error;
        }
        let (id, request) = (self.id.clone(), self.request.clone());
        UnknownCommit { id, request, cause: error }.into()
    }

    /// Returns the error of a request that was committed before.
    fn repeated(&self) -> Error {
        already_committed(&self.id, &self.request)
    }

    fn in_doubt(&self) -> MutexGuard<'_, Option<u64>> {
        self.in_doubt.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the error of a request that was committed before.
pub(super) fn already_committed(id: &MemoryId, request: impl fmt::Display) -> Error {
    let message = format!(
        "the request `{request}` was already committed to `{id}`; its answer is in the stored conversation, unless later turns have evicted it"
    );
    Error::new(ErrorKind::Conflict, message).with_retryable(false)
}

/// A commit that may or may not have been applied: the [detail](Error::detail) of an error of the kind
/// [`ErrorKind::UnknownOutcome`].
///
/// [`ChatMemoryStore::commit_state`](super::ChatMemoryStore::commit_state) finds out which of the two
/// happened.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{ChatMemoryStore, CommitState, UnknownCommit};
///
/// /// Returns whether the turn of a failed call was stored; `None` if that cannot be decided.
/// async fn was_stored(store: &dyn ChatMemoryStore, error: &ai_services::Error) -> Option<bool> {
///     let Some(UnknownCommit { id, request, .. }) = error.detail() else { return Some(false) };
///     match store.commit_state(id, request).await {
///         Ok(CommitState::Committed) => Some(true),
///         Ok(CommitState::NotFound) => Some(false),
///         _ => None,
///     }
/// }
/// # let _ = was_stored;
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct UnknownCommit {
    /// Id of the conversation.
    pub id: MemoryId,
    /// Id of the request. It is random if the application has not set one.
    pub request: RequestId,
    /// The error after which the outcome is unknown, for example a broken connection.
    pub cause: Error,
}

impl fmt::Display for UnknownCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, request, cause } = self;
        write!(
            f,
            "it is unknown whether the change of the conversation `{id}` was stored: {cause}; look up the \
             request `{request}` with `ChatMemoryStore::commit_state`"
        )
    }
}

impl std::error::Error for UnknownCommit {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

impl From<UnknownCommit> for Error {
    fn from(commit: UnknownCommit) -> Self {
        let error = Self::new(ErrorKind::UnknownOutcome, commit.to_string());
        let error = match commit.cause.attempts() {
            Some(attempts) => error.with_attempts(attempts),
            None => error,
        };
        error.with_source(commit)
    }
}

/// Returns a hash that is the same on every machine and in every version of this crate.
fn request_hash(request: &RequestId) -> [u8; REQUEST_BYTES] {
    let digest = Sha256::digest(request.as_str().as_bytes());
    let mut hash = [0; REQUEST_BYTES];
    hash.iter_mut().zip(digest).for_each(|(byte, part)| *byte = part);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> MemoryId {
        "klaus".into()
    }

    fn request(id: &str) -> RequestId {
        RequestId::new(id).unwrap()
    }

    fn commit(request_id: Option<&str>) -> PendingCommit {
        let change = Change::advance(None, 0..0, Vec::new());
        PendingCommit::new(&id(), &change.with_request(request_id.map(request)))
    }

    /// Applies commits of other writers, each of which increments the version.
    fn follow(log: &mut CommitLog, from: u64, count: usize) -> u64 {
        let to = from + count as u64;
        (from..to).for_each(|version| log.push(commit(None).entry(version)));
        to
    }

    #[test]
    fn applied_commit_is_found_behind_31_others() {
        for (others, expected) in [(0, true), (31, true), (32, false)] {
            let (mut log, mine) = (CommitLog::default(), commit(Some("mine")));
            log.push(mine.entry(7));
            mine.lose_answer(7);
            let version = follow(&mut log, 8, others);
            assert_eq!(log.as_bytes().len(), ENTRY_BYTES * (others + 1).min(KEPT_COMMITS));
            let settled = mine.settle(version, &log);
            assert_eq!(matches!(settled, Ok(Settled::Applied)), expected, "{others}");
            let state = if expected { CommitState::Committed } else { CommitState::NotFound };
            assert_eq!(log.state_of(&request("mine")), state);
            if let Err(error) = settled {
                assert_eq!(error.kind(), ErrorKind::UnknownOutcome);
            }
        }
    }

    #[test]
    fn commit_without_lost_answer_is_never_in_doubt() {
        let mine = commit(None);
        assert_eq!(mine.settle(100, &CommitLog::default()).unwrap(), Settled::NotApplied);
        let error = mine.fail(Error::new(ErrorKind::Timeout, "no connection"));
        assert_eq!(error.kind(), ErrorKind::Timeout);
    }

    #[test]
    fn superseded_commit_was_not_applied() {
        let (mut log, mine) = (CommitLog::default(), commit(None));
        mine.lose_answer(7);
        // The attempt may still arrive at this version.
        assert_eq!(mine.settle(7, &log).unwrap(), Settled::NotApplied);
        let error = mine.fail(Error::new(ErrorKind::Timeout, "no answer"));
        assert_eq!(error.kind(), ErrorKind::UnknownOutcome);
        let version = follow(&mut log, 7, 3);
        assert_eq!(mine.settle(version, &log).unwrap(), Settled::NotApplied);
        let error = mine.fail(Error::new(ErrorKind::Conflict, "another version"));
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }

    #[test]
    fn commit_to_a_deleted_conversation_is_in_doubt() {
        let mine = commit(Some("mine"));
        mine.lose_answer(7);
        let error = mine.settle(0, &CommitLog::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownOutcome);
        assert!(!error.is_retryable());
        let detail = error.detail::<UnknownCommit>().unwrap();
        assert_eq!((&detail.id, &detail.request), (&id(), &request("mine")));
    }

    #[test]
    fn request_is_committed_once() {
        let (mut log, first, second) =
            (CommitLog::default(), commit(Some("mine")), commit(Some("mine")));
        log.push(first.entry(7));
        let error = second.settle(8, &log).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(!error.is_retryable());
        assert!(error.to_string().contains("`mine`"), "{error}");
    }

    #[test]
    fn damaged_log_is_not_an_error() {
        let (mut log, mine) = (CommitLog::new("x".repeat(30)), commit(None));
        log.push(mine.entry(7));
        assert_eq!(mine.settle(8, &log).unwrap(), Settled::Applied);
        assert_eq!(CommitLog::new("x").state_of(&request("x")), CommitState::NotFound);
    }
}

//! The head: the first row of a conversation.

use super::error_mapping::TaskFailure;
use super::slots::Slots;
use ai_services_core::memory::{LeaseToken, MemoryId, UnreadableRecord};
use ai_services_core::store_kit::commits::CommitLog;
use ai_services_core::store_kit::{plan, time};
use rusqlite::{Connection, OptionalExtension};

/// The head of a conversation. Version 0 means that the row only holds a lease.
#[derive(Clone, Debug, Default)]
pub(super) struct HeadRow {
    pub(super) version: u64,
    pub(super) messages: u64,
    /// The last commits.
    pub(super) commits: CommitLog,
    /// Slots of the messages, in the form of [`Slots::encode`](super::slots::Slots::encode).
    pub(super) slots: Vec<u8>,
    pub(super) lease: Option<HeadLease>,
}

/// The lease of a conversation.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadLease {
    pub(super) token: i64,
    /// Time of the last extension, in milliseconds since 1970. If it is in the future, the clock was set back,
    /// and the lease counts as expired for others: they would have to wait for the difference.
    since: i64,
    /// Expiry, in milliseconds since 1970.
    until: i64,
}

impl HeadRow {
    pub(super) fn read(
        connection: &Connection,
        id: &MemoryId,
    ) -> Result<Option<Self>, TaskFailure> {
        let mut statement = connection.prepare_cached(
            "SELECT version, messages, commits, slots, lease_token, lease_since, lease_until
             FROM conversation WHERE id = ?1 AND slot = 0",
        )?;
        let head = statement.query_row([id.as_str()], |row| {
            let lease = (row.get(4)?, row.get(5)?, row.get(6)?);
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, lease))
        });
        let Some((version, messages, commits, slots, lease)) = head.optional()? else {
            return Ok(None);
        };
        let commits: Vec<u8> = commits;
        let lease = match lease {
            (Some(token), Some(since), Some(until)) => Some(HeadLease { token, since, until }),
            _ => None,
        };
        let (version, messages) =
            (unsigned(id, &"the head", version)?, unsigned(id, &"the head", messages)?);
        Ok(Some(Self { version, messages, commits: CommitLog::new(commits), slots, lease }))
    }

    pub(super) fn write(&self, connection: &Connection, id: &MemoryId) -> Result<(), TaskFailure> {
        let Self { version, messages, commits, slots, lease } = self;
        let mut statement = connection.prepare_cached(
            "INSERT INTO conversation (id, slot, version, messages, last_updated, commits, slots,
                 lease_token, lease_since, lease_until)
             VALUES (?1, 0, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (id, slot) DO UPDATE SET
                 version = excluded.version, messages = excluded.messages,
                 last_updated = excluded.last_updated, commits = excluded.commits,
                 slots = excluded.slots, lease_token = excluded.lease_token,
                 lease_since = excluded.lease_since, lease_until = excluded.lease_until",
        )?;
        statement.execute((
            id.as_str(),
            signed(*version),
            signed(*messages),
            time::now(),
            commits.as_bytes(),
            slots,
            lease.map(|lease| lease.token),
            lease.map(|lease| lease.since),
            lease.map(|lease| lease.until),
        ))?;
        Ok(())
    }

    /// Returns the slots of the messages, unless the head does not have them: it was migrated, or is damaged.
    pub(super) fn known_slots(&self) -> Option<Slots> {
        Slots::decode(&self.slots, self.messages).filter(|slots| self.matches(slots))
    }

    /// Returns whether these may be the slots of the messages. The numbers of new messages are above the
    /// version, and must not occur twice.
    pub(super) fn matches(&self, slots: &Slots) -> bool {
        slots.len() == self.messages && slots.newest().is_none_or(|number| number <= self.version)
    }

    /// Returns whether `token` holds the lease now.
    pub(super) fn is_leased_to(&self, token: LeaseToken) -> bool {
        let lease = self.lease.filter(|lease| lease.until > time::now());
        lease.is_some_and(|lease| lease.token == token.get().cast_signed())
    }
}

impl From<&HeadRow> for plan::ConversationHead {
    fn from(head: &HeadRow) -> Self {
        Self { version: head.version, messages: head.messages }
    }
}

/// Fails if the conversation has rows. Called if its head is missing.
pub(super) fn check_lost(connection: &Connection, id: &MemoryId) -> Result<(), TaskFailure> {
    let mut statement = connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM conversation WHERE id = ?1)
             OR EXISTS (SELECT 1 FROM history WHERE id = ?1)",
    )?;
    if statement.query_row([id.as_str()], |row| row.get(0))? {
        return Err(UnreadableRecord::corrupt(id, "the head", "it is missing").into());
    }
    Ok(())
}

/// Converts a number to SQLite's type, saturating. Versions and positions never reach the limit.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a stored number, which must not be negative.
pub(super) fn unsigned(
    id: &MemoryId,
    row: &dyn std::fmt::Display,
    number: i64,
) -> Result<u64, UnreadableRecord> {
    u64::try_from(number).map_err(|_| {
        UnreadableRecord::corrupt(id, row, format_args!("the number {number} is invalid"))
    })
}

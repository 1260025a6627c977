//! Deletion of conversations.

use super::error_mapping::TaskFailure;
use super::journal;
use super::read::Ids;
use ai_services_core::memory::MemoryId;
use ai_services_core::store_kit::time;
use rusqlite::Connection;

/// Deletes all data of a conversation.
pub(super) fn delete(connection: &Connection, id: &str) -> Result<(), TaskFailure> {
    for statement in ["DELETE FROM conversation WHERE id = ?1", "DELETE FROM history WHERE id = ?1"]
    {
        connection.prepare_cached(statement)?.execute([id])?;
    }
    journal::delete(connection, id)
}

/// Returns the ids of conversations that were last written before `time`, in order.
pub(super) fn unused(
    connection: &Connection,
    time: i64,
    after: &str,
    limit: usize,
) -> Result<Vec<MemoryId>, TaskFailure> {
    let (mut ids, mut found) = (Ids::after(after), Vec::new());
    while found.len() < limit
        && let Some(id) = ids.next(connection)?
    {
        if is_unused(connection, &id, time)? {
            found.push(id);
        }
    }
    Ok(found)
}

/// Deletes those of the conversations that are still unused since `time`, and returns their number.
///
/// A row that only holds a lease is not counted as a conversation, and stays until the lease expires.
pub(super) fn delete_unused(
    connection: &Connection,
    ids: &[MemoryId],
    time: i64,
) -> Result<u64, TaskFailure> {
    let mut kind = connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM conversation WHERE id = ?1 AND slot = 0 AND version > 0)
                 OR EXISTS (SELECT 1 FROM journal WHERE id = ?1),
             EXISTS (SELECT 1 FROM conversation WHERE id = ?1 AND slot = 0
                 AND lease_until > ?2 AND ifnull(lease_since <= ?2, 1))",
    )?;
    let mut deleted = 0;
    for id in ids {
        if !is_unused(connection, id, time)? {
            continue;
        }
        let (is_counted, is_leased): (bool, bool) =
            kind.query_row((id.as_str(), time::now()), |row| Ok((row.get(0)?, row.get(1)?)))?;
        if is_counted || !is_leased {
            delete(connection, id.as_str())?;
            deleted += u64::from(is_counted);
        }
    }
    Ok(deleted)
}

/// Returns whether the last commit, and the last append to an open journal, were before `time`. `false` for rows
/// without their head.
fn is_unused(connection: &Connection, id: &MemoryId, time: i64) -> Result<bool, TaskFailure> {
    let mut statement = connection.prepare_cached(
        "SELECT (EXISTS (SELECT 1 FROM conversation WHERE id = ?1 AND slot = 0)
                 OR NOT EXISTS (SELECT 1 FROM conversation WHERE id = ?1)
                 AND NOT EXISTS (SELECT 1 FROM history WHERE id = ?1))
             AND ?2 > (SELECT max(time) FROM (
                 SELECT last_updated AS time FROM conversation WHERE id = ?1 AND slot = 0
                 UNION ALL SELECT (
                     SELECT appended FROM journal WHERE id = ?1 ORDER BY number DESC LIMIT 1)))",
    )?;
    let is_unused: Option<bool> = statement.query_row((id.as_str(), time), |row| row.get(0))?;
    Ok(is_unused.unwrap_or(false))
}

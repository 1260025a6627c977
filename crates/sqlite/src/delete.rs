//! Deletion of conversations.

use super::error_mapping::TaskFailure;
use ai_services_core::memory::MemoryId;
use ai_services_core::store_kit::time;
use rusqlite::Connection;

/// Deletes all data of a conversation.
pub(super) fn delete(connection: &Connection, id: &str) -> Result<(), TaskFailure> {
    for statement in ["DELETE FROM conversation WHERE id = ?1", "DELETE FROM history WHERE id = ?1"]
    {
        connection.prepare_cached(statement)?.execute([id])?;
    }
    Ok(())
}

/// Deletes those of the conversations that are still unused since `time`, and returns their number.
///
/// A row that only holds a lease is not counted as a conversation, and stays until the lease expires.
pub(super) fn delete_unused(
    connection: &Connection,
    ids: &[MemoryId],
    time: i64,
) -> Result<u64, TaskFailure> {
    let mut unused = connection.prepare_cached(
        "SELECT version FROM conversation WHERE id = ?1 AND slot = 0 AND last_updated < ?2
             AND (version > 0 OR lease_until IS NULL OR lease_until <= ?3 OR lease_since > ?3)",
    )?;
    let mut deleted = 0;
    for id in ids {
        let mut rows = unused.query((id.as_str(), time, time::now()))?;
        let Some(row) = rows.next()? else { continue };
        deleted += u64::from(row.get::<_, i64>(0)? != 0);
        drop(rows);
        delete(connection, id.as_str())?;
    }
    Ok(deleted)
}

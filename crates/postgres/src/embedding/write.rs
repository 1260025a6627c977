//! Changes of entries. Each change is a transaction.

use super::super::connection::{Connection, Parameters};
use super::super::error_mapping::AttemptFailure;
use super::filter::Statement;
use super::{PostgresEmbeddingStore, record};
use ai_services_core::embedding::{EmbeddingEntry, Filter, Replace, check_dimensions};
use ai_services_core::store_kit::embeddings::CheckedEntries;
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::{Error, Result};

/// Maximum number of entries that one statement inserts.
const CHUNK_ENTRIES: usize = 500;

/// Size after which a statement inserts no further entry, in bytes.
const CHUNK_BYTES: usize = 4 * 1024 * 1024;

/// The lock that a change takes on the layout of the table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LayoutLock {
    /// Allows other writers to add vectors with the known number of dimensions.
    Shared,
    /// Blocks all other writers that add or replace entries.
    Exclusive,
}

/// The outcome of a change.
enum ChangeOutcome {
    Done,
    /// Rolled back, because the change needs the exclusive lock.
    NeedsLock,
}

impl PostgresEmbeddingStore {
    pub(super) async fn replace_once(
        &self,
        removed: Replace<'_>,
        added: &CheckedEntries,
    ) -> Result<(), AttemptFailure> {
        let mut connection = self.0.server.connect().await?;
        // Replacements must not overlap: each has to see the entries that the other one has added.
        let lock = match removed {
            Replace::Nothing => LayoutLock::Shared,
            Replace::Matching(_) => LayoutLock::Exclusive,
        };
        if let ChangeOutcome::NeedsLock = self.change(&mut connection, removed, added, lock).await?
        {
            self.change(&mut connection, removed, added, LayoutLock::Exclusive).await?;
        }
        Ok(())
    }

    async fn change(
        &self,
        connection: &mut Connection,
        removed: Replace<'_>,
        added: &CheckedEntries,
        lock: LayoutLock,
    ) -> Result<ChangeOutcome, AttemptFailure> {
        connection.begin().await?;
        let known = self.lock(connection, lock).await?;
        failpoint!("postgres.embedding.locked");
        if let Replace::Matching(filter) = removed {
            self.remove_matching(connection, filter).await?;
            failpoint!("postgres.embedding.removed");
        }
        if let Some(dimensions) = added.dimensions
            && known != Some(dimensions)
        {
            if lock == LayoutLock::Shared {
                connection.roll_back().await?;
                return Ok(ChangeOutcome::NeedsLock);
            }
            self.set_dimensions(connection, dimensions, known).await?;
        }
        for chunk in chunks(&added.entries) {
            self.insert(connection, chunk).await?;
            failpoint!("postgres.embedding.added");
        }
        connection.commit().await?;
        failpoint!("postgres.embedding.committed");
        Ok(ChangeOutcome::Done)
    }

    /// Locks the layout and returns the number of dimensions of the vectors.
    async fn lock(
        &self,
        connection: &mut Connection,
        lock: LayoutLock,
    ) -> Result<Option<usize>, AttemptFailure> {
        let sql = match lock {
            LayoutLock::Shared => &self.0.sql.share,
            LayoutLock::Exclusive => &self.0.sql.lock,
        };
        let rows = connection.query(sql, &[]).await?;
        let Some(row) = rows.first() else {
            connection.roll_back().await?;
            let message = format!(
                "the table {} is empty; it may belong to another program",
                self.0.names.layout()
            );
            return Err(Error::configuration(message).into());
        };
        let known: Option<i32> = row.try_get("dimensions")?;
        Ok(known.and_then(|known| usize::try_from(known).ok()))
    }

    /// Sets the number of dimensions. Fails if it differs from that of existing entries.
    async fn set_dimensions(
        &self,
        connection: &mut Connection,
        dimensions: usize,
        known: Option<usize>,
    ) -> Result<(), AttemptFailure> {
        let rows = connection.query(&self.0.sql.is_empty, &[]).await?;
        let is_empty = rows.first().map(|row| row.try_get(0)).transpose()?.unwrap_or(false);
        if !is_empty {
            connection.roll_back().await?;
            check_dimensions(dimensions, known.unwrap_or_default())?;
        }
        let dimensions = i32::try_from(dimensions).unwrap_or(i32::MAX);
        connection.execute(&self.0.sql.set_dimensions, &[&dimensions]).await?;
        Ok(())
    }

    async fn insert(
        &self,
        connection: &mut Connection,
        entries: &[EmbeddingEntry],
    ) -> Result<(), AttemptFailure> {
        let ids: Vec<&[u8]> = entries.iter().map(|entry| entry.id.as_bytes()).collect();
        let vectors: Vec<&[f32]> = entries.iter().map(|entry| &*entry.vector).collect();
        let dimensions = vectors.first().map_or(0, |vector| vector.len());
        let dimensions = i32::try_from(dimensions).unwrap_or(i32::MAX);
        let vectors = vectors.concat();
        let segments = || entries.iter().map(|entry| &entry.segment);
        let metadata: Vec<_> =
            segments().map(|segment| record::searchable(segment.metadata())).collect();
        let words: Vec<_> = segments().map(|segment| record::searched(segment.text())).collect();
        let records: Vec<_> = segments().map(record::encode).collect::<Result<_>>()?;
        let text_search = &self.0.text_search;
        let insert = &self.0.sql.insert;
        let parameters: Parameters<'_> =
            &[&ids, &vectors, &metadata, &words, &records, text_search, &dimensions];
        connection.execute(insert, parameters).await?;
        Ok(())
    }

    pub(super) async fn remove_once(&self, ids: &[&str]) -> Result<(), AttemptFailure> {
        let ids: Vec<&[u8]> = ids.iter().map(|id| id.as_bytes()).collect();
        self.0.server.connect().await?.execute(&self.0.sql.remove, &[&ids]).await?;
        Ok(())
    }

    pub(super) async fn clear_once(&self) -> Result<(), AttemptFailure> {
        self.0.server.connect().await?.execute(&self.0.sql.clear, &[]).await?;
        Ok(())
    }

    pub(super) async fn remove_matching_once(&self, filter: &Filter) -> Result<(), AttemptFailure> {
        let mut connection = self.0.server.connect().await?;
        self.remove_matching(&mut connection, filter).await
    }

    async fn remove_matching(
        &self,
        connection: &mut Connection,
        filter: &Filter,
    ) -> Result<(), AttemptFailure> {
        let mut statement = Statement::new(self.0.names.fill("DELETE FROM {entries}"));
        statement.push_filter(" WHERE ", Some(filter));
        connection.query_once(&statement.sql, &statement.parameters()).await?;
        Ok(())
    }
}

/// Splits entries into chunks for one statement each.
fn chunks(mut entries: &[EmbeddingEntry]) -> impl Iterator<Item = &[EmbeddingEntry]> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = entries.iter().take(CHUNK_ENTRIES).take_while(|entry| {
            let fits = bytes < CHUNK_BYTES;
            bytes += entry.vector.len() * size_of::<f32>() + entry.segment.text().len();
            fits
        });
        let (chunk, rest) = entries.split_at(fits.count());
        entries = rest;
        Some(chunk).filter(|chunk| !chunk.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::document::TextSegment;

    #[test]
    fn chunks_are_limited_and_complete() {
        let sized =
            |bytes: usize| EmbeddingEntry::new("a", vec![1.0], TextSegment::new("x".repeat(bytes)));
        let lengths =
            |entries: &[EmbeddingEntry]| chunks(entries).map(<[_]>::len).collect::<Vec<_>>();
        assert_eq!(lengths(&vec![sized(1); 1_001]), [500, 500, 1]);
        assert_eq!(lengths(&vec![sized(3 << 20); 3]), [2, 1]);
        assert!(lengths(&[]).is_empty());
    }
}

//! Changing entries, each change as a transaction.

use super::super::connection::{Connection, Parameters};
use super::super::fault::Fault;
use super::filter::Statement;
use super::{PostgresEmbeddingStore, record};
use ai_services_core::embedding::{EmbeddingEntry, Filter, check_dimensions};
use ai_services_core::store_kit::embeddings::Entries;
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::{Error, Result};

/// How many entries one statement adds at most.
const CHUNK_ENTRIES: usize = 500;

/// After how many bytes no further entry is added by the same statement.
const CHUNK_BYTES: usize = 4 * 1024 * 1024;

/// Who else may change entries meanwhile.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lock {
    /// Those who add vectors of the known dimensions.
    Shared,
    /// Nobody who adds or replaces.
    Exclusive,
}

/// What became of an attempt.
enum Outcome {
    Done,
    /// Nothing, because it has to be made alone.
    NeedsLock,
}

impl PostgresEmbeddingStore {
    pub(super) async fn replace_once(
        &self,
        removed: Option<&Filter>,
        added: &Entries,
    ) -> Result<(), Fault> {
        let mut connection = self.0.server.connect().await?;
        // What one removes, the other may be adding: only in turns each sees what the other has done.
        let lock = if removed.is_some() { Lock::Exclusive } else { Lock::Shared };
        if let Outcome::NeedsLock = self.change(&mut connection, removed, added, lock).await? {
            self.change(&mut connection, removed, added, Lock::Exclusive).await?;
        }
        Ok(())
    }

    async fn change(
        &self,
        connection: &mut Connection,
        removed: Option<&Filter>,
        added: &Entries,
        lock: Lock,
    ) -> Result<Outcome, Fault> {
        connection.begin().await?;
        let known = self.lock(connection, lock).await?;
        failpoint!("postgres.embedding.locked");
        if removed.is_some() {
            self.remove_accepted(connection, removed).await?;
            failpoint!("postgres.embedding.removed");
        }
        if let Some(dimensions) = added.dimensions
            && known != Some(dimensions)
        {
            if lock == Lock::Shared {
                connection.roll_back().await?;
                return Ok(Outcome::NeedsLock);
            }
            self.set_dimensions(connection, dimensions, known).await?;
        }
        for chunk in chunks(&added.entries) {
            self.insert(connection, chunk).await?;
            failpoint!("postgres.embedding.added");
        }
        connection.commit().await?;
        failpoint!("postgres.embedding.committed");
        Ok(Outcome::Done)
    }

    /// Makes others wait, and says how many dimensions the vectors have.
    async fn lock(&self, connection: &mut Connection, lock: Lock) -> Result<Option<usize>, Fault> {
        let sql = match lock {
            Lock::Shared => &self.0.sql.share,
            Lock::Exclusive => &self.0.sql.lock,
        };
        let rows = connection.query(sql, &[]).await?;
        let Some(row) = rows.first() else {
            connection.roll_back().await?;
            let message =
                format!("the table {} is empty; is it another program's?", self.0.names.layout());
            return Err(Error::configuration(message).into());
        };
        let known: Option<i32> = row.try_get("dimensions")?;
        Ok(known.and_then(|known| usize::try_from(known).ok()))
    }

    /// An empty store takes vectors of any length.
    async fn set_dimensions(
        &self,
        connection: &mut Connection,
        dimensions: usize,
        known: Option<usize>,
    ) -> Result<(), Fault> {
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
    ) -> Result<(), Fault> {
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

    pub(super) async fn remove_once(&self, ids: &[&str]) -> Result<(), Fault> {
        let ids: Vec<&[u8]> = ids.iter().map(|id| id.as_bytes()).collect();
        self.0.server.connect().await?.execute(&self.0.sql.remove, &[&ids]).await?;
        Ok(())
    }

    pub(super) async fn remove_accepted_once(&self, filter: Option<&Filter>) -> Result<(), Fault> {
        let mut connection = self.0.server.connect().await?;
        self.remove_accepted(&mut connection, filter).await
    }

    async fn remove_accepted(
        &self,
        connection: &mut Connection,
        filter: Option<&Filter>,
    ) -> Result<(), Fault> {
        let mut statement = Statement::new(self.0.names.fill("DELETE FROM {entries}"));
        statement.accepted(" WHERE ", filter);
        connection.query_once(&statement.sql, &statement.parameters()).await?;
        Ok(())
    }
}

/// Entries in parts that are not too large for one statement.
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
    fn chunks_are_limited_and_lose_nothing() {
        let sized =
            |bytes: usize| EmbeddingEntry::new("a", vec![1.0], TextSegment::new("x".repeat(bytes)));
        let lengths =
            |entries: &[EmbeddingEntry]| chunks(entries).map(<[_]>::len).collect::<Vec<_>>();
        assert_eq!(lengths(&vec![sized(1); 1_001]), [500, 500, 1]);
        assert_eq!(lengths(&vec![sized(3 << 20); 3]), [2, 1]);
        assert!(lengths(&[]).is_empty());
    }
}

//! Creation of the tables and indexes.

use super::super::connection::Connection;
use super::super::error_mapping::AttemptFailure;
use super::super::schema::{LOCK, check_encoding, create_schema};
use super::index::HnswOptions;
use super::{PostgresEmbeddingStore, VectorIndex};
use ai_services_core::Error;
use ai_services_core::embedding::check_dimensions;
use ai_services_core::store_kit::failpoint::failpoint;

/// Layout version that this build creates and reads.
const VERSION: i64 = 1;

impl PostgresEmbeddingStore {
    pub(super) async fn ensure_schema_once(&self) -> Result<(), AttemptFailure> {
        let mut connection = self.0.server.connect().await?;
        connection.begin().await?;
        connection.query(LOCK, &[]).await?;
        check_encoding(&mut connection).await?;
        check_extension(&mut connection).await?;
        if exists(&mut connection, &self.0.names.layout()).await? {
            self.check_layout(&mut connection).await?;
        } else {
            create_schema(&mut connection, self.0.names.schema.as_deref()).await?;
            self.create(&mut connection).await?;
        }
        self.create_index(&mut connection).await?;
        failpoint!("postgres.embedding.created");
        connection.commit().await
    }

    async fn create(&self, connection: &mut Connection) -> Result<(), AttemptFailure> {
        self.check_text_search(connection).await?;
        connection.batch(&self.0.sql.create).await?;
        let insert = self
            .0
            .names
            .fill("INSERT INTO {layout} (version, dimensions, text_search) VALUES ($1, $2, $3)");
        let dimensions = self.0.dimensions.and_then(|dimensions| i32::try_from(dimensions).ok());
        connection.execute(&insert, &[&VERSION, &dimensions, &self.0.text_search]).await?;
        Ok(())
    }

    /// Fails if the existing tables do not match the configuration.
    async fn check_layout(&self, connection: &mut Connection) -> Result<(), AttemptFailure> {
        let name = self.0.names.layout();
        let rows = connection.query(&self.0.sql.layout, &[]).await?;
        let Some(row) = rows.first() else {
            let message = format!("the table {name} is empty; it may belong to another program");
            return Err(Error::configuration(message).into());
        };
        let version: i64 = row.try_get("version")?;
        if version != VERSION {
            return Err(Error::configuration(format!(
                "the table {name} has layout {version}; this build supports layout {VERSION}, update \
                 ai-services"
            ))
            .into());
        }
        let text_search: &str = row.try_get("text_search")?;
        if text_search != self.0.text_search {
            return Err(Error::configuration(format!(
                "{name} was created with `text_search(\"{text_search}\")`, not with `{}`; choose another \
                 table",
                self.0.text_search
            ))
            .into());
        }
        let known: Option<i32> = row.try_get("dimensions")?;
        let known = known.and_then(|known| usize::try_from(known).ok());
        let (Some(known), Some(own)) = (known, self.0.dimensions) else { return Ok(()) };
        let rows = connection.query(&self.0.sql.is_empty, &[]).await?;
        if rows.first().map(|row| row.try_get(0)).transpose()?.unwrap_or(false) {
            return Ok(());
        }
        check_dimensions(own, known).map_err(|error| {
            let message = format!("{name} cannot be used with `dimensions({own})`: {error}");
            Error::configuration(message).into()
        })
    }

    async fn check_text_search(&self, connection: &mut Connection) -> Result<(), AttemptFailure> {
        // By its unqualified name, in any schema, because later statements use it unqualified.
        let known = "SELECT EXISTS (SELECT FROM pg_ts_config WHERE cfgname = $1::text)";
        let rows = connection.query(known, &[&self.0.text_search]).await?;
        if rows.first().map(|row| row.try_get(0)).transpose()?.unwrap_or(false) {
            return Ok(());
        }
        Err(Error::configuration(format!(
            "the database has no text search configuration `{}`; `\\dF` in psql lists the existing ones",
            self.0.text_search
        ))
        .into())
    }

    async fn create_index(&self, connection: &mut Connection) -> Result<(), AttemptFailure> {
        let VectorIndex::Hnsw(HnswOptions { m, ef_construction, .. }) = self.0.index else {
            return Ok(());
        };
        let Some(dimensions) = self.0.dimensions else { return Ok(()) };
        if exists(connection, &self.0.names.nearest()).await? {
            return Ok(());
        }
        let create = format!(
            "CREATE INDEX {{table}}_nearest ON {{entries}} \
             USING hnsw ((vector::vector({dimensions})) vector_cosine_ops) \
             WITH (m = {m}, ef_construction = {ef_construction})"
        );
        connection.batch(&self.0.names.fill(&create)).await
    }
}

/// Fails unless pgvector 0.5 or newer is installed. Does not create the extension: it is not a trusted one,
/// so few users may create it.
async fn check_extension(connection: &mut Connection) -> Result<(), AttemptFailure> {
    let installed = "SELECT extversion FROM pg_extension WHERE extname = 'vector'";
    let rows = connection.query(installed, &[]).await?;
    let Some(row) = rows.first() else {
        return Err(Error::configuration(
            "the database has no extension `vector`; install pgvector on the server and run `CREATE \
             EXTENSION vector` in this database",
        )
        .into());
    };
    let version: &str = row.try_get(0)?;
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or_default());
    if (numbers.next(), numbers.next()) < (Some(0), Some(5)) {
        return Err(Error::configuration(format!(
            "the extension `vector` has version {version}, but 0.5 is required; update it with `ALTER \
             EXTENSION vector UPDATE`"
        ))
        .into());
    }
    Ok(())
}

async fn exists(connection: &mut Connection, name: &str) -> Result<bool, AttemptFailure> {
    let found = connection.query("SELECT to_regclass($1) IS NOT NULL", &[&name]).await?;
    Ok(found.first().map(|row| row.try_get(0)).transpose()?.unwrap_or(false))
}

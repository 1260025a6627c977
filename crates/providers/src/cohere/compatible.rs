//! Re-ranking by servers with an API like Cohere's.

use super::response;
use crate::http::Endpoint;
use crate::protocol::builder::{builder_methods, debug_fields};
use crate::protocol::connection::{Connection, connection_setters};
use crate::protocol::json_object::JsonObject;
use ai_services_core::model::{Scores, ScoringModel};
use ai_services_core::{Error, Result};
use async_trait::async_trait;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A scoring model behind a server with an API like Cohere's `/rerank`.
///
/// | server | [`base_url`](RerankModelBuilder::base_url) | [`dialect`](RerankModelBuilder::dialect) |
/// |---|---|---|
/// | Jina | `https://api.jina.ai/v1` | [`Documents`](RerankDialect::Documents) |
/// | llama.cpp with `--reranking` | `http://localhost:8080/v1` | [`Documents`](RerankDialect::Documents) |
/// | vLLM | `http://localhost:8000/v1` | [`Documents`](RerankDialect::Documents) |
/// | Voyage | `https://api.voyageai.com/v1` | [`Documents`](RerankDialect::Documents) |
/// | Text Embeddings Inference | `http://localhost:8080` | [`Texts`](RerankDialect::Texts) |
///
/// Clones share connections and settings. The range of the scores depends on the model; llama.cpp, for
/// example, returns negative scores too.
///
/// # Examples
///
/// ```no_run
/// use ai_services::model::ScoringModel;
/// use ai_services::providers::cohere::{RerankDialect, RerankModel};
///
/// # async fn run() -> ai_services::Result<()> {
/// let model = RerankModel::builder()
///     .base_url("http://localhost:8080")
///     .dialect(RerankDialect::Texts)
///     .max_batch_documents(32)
///     .build()?;
/// let scores = model.score("What grows in shade?", &["Ferns do.", "Cacti do not."]).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RerankModel(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    model: Option<Box<str>>,
    dialect: RerankDialect,
    extra: Map<String, Value>,
    batch: Option<usize>,
}

/// The form of the documents in a request. Answers are parsed in all known forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RerankDialect {
    /// The member `documents`, with `return_documents` off.
    #[default]
    Documents,
    /// The member `texts`, as in Text Embeddings Inference.
    Texts,
}

impl RerankModel {
    /// Returns a builder.
    pub fn builder() -> RerankModelBuilder {
        RerankModelBuilder::default()
    }
}

impl Inner {
    async fn send(&self, query: &str, documents: &[&str]) -> Result<Scores> {
        let mut body = JsonObject::new(Some(&self.extra), b'{');
        body.add("model", self.model.as_deref());
        body.add("query", Some(query));
        match self.dialect {
            RerankDialect::Documents => {
                body.add("documents", Some(documents));
                body.add("return_documents", Some(false));
            }
            RerankDialect::Texts => body.add("texts", Some(documents)),
        }
        body.add_extra();
        let mut body = body.into_bytes();
        body.push(b'}');
        let answer = self.endpoint.post(body).await?;
        response::scores(&answer, documents.len())
    }
}

#[async_trait]
impl ScoringModel for RerankModel {
    async fn score(&self, query: &str, documents: &[&str]) -> Result<Scores> {
        let inner = &*self.0;
        response::in_batches(documents, inner.batch, |batch| inner.send(query, batch)).await
    }

    fn name(&self) -> &str {
        self.0.model.as_deref().unwrap_or("unknown")
    }
}

debug_fields!(RerankModel.0 { model, endpoint });

/// Builds a [`RerankModel`].
///
/// Only [`base_url`](Self::base_url) is required. The environment is not read.
///
/// # Examples
///
/// ```
/// use ai_services::providers::cohere::RerankModel;
///
/// let model = RerankModel::builder()
///     .base_url("https://api.jina.ai/v1")
///     .api_key("secret")
///     .model("jina-reranker-v2-base-multilingual")
///     .build()?;
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct RerankModelBuilder {
    connection: Connection,
    model: Option<Box<str>>,
    dialect: RerankDialect,
    extra: Map<String, Value>,
    batch: Option<usize>,
}

impl RerankModelBuilder {
    builder_methods! {
        /// Sets the API key. Self-hosted servers may need none.
        api_key;
        /// Sets the server: the URL to which `/rerank` is appended. Required.
        base_url;
        /// Sets the model, for servers with more than one.
        model;
    }

    connection_setters!();

    /// Sets the form of the documents. Default: [`Documents`](RerankDialect::Documents).
    pub fn dialect(mut self, dialect: RerankDialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Adds a member to all requests, for example `truncate`. It replaces a member of the client with the
    /// same name.
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    /// Sets the maximum number of documents in one request. Default: unlimited. Text Embeddings Inference
    /// accepts 32 by default.
    pub fn max_batch_documents(mut self, documents: usize) -> Self {
        self.batch = Some(documents);
        self
    }

    /// Builds the model. Sends nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a base URL or for an
    /// invalid one, for a key or header that HTTP cannot carry, and if TLS cannot be set up.
    pub fn build(self) -> Result<RerankModel> {
        if self.connection.base_url.is_none() {
            return Err(Error::configuration("no server: call `base_url`"));
        }
        let base = self.connection.base("")?;
        let headers = self.connection.bearer_headers()?;
        let server = self.connection.server(base, headers)?;
        Ok(RerankModel(Arc::new(Inner {
            endpoint: server.endpoint("rerank"),
            model: self.model,
            dialect: self.dialect,
            extra: self.extra,
            batch: self.batch,
        })))
    }
}

debug_fields!(RerankModelBuilder { model, connection, dialect });

//! Re-ranking by Cohere.

use super::response;
use super::server::COHERE;
use crate::http::Endpoint;
use crate::protocol::builder::{builder_methods, debug_fields, required_model};
use crate::protocol::connection::{Connection, connection_setters, environment};
use crate::protocol::json_object::JsonObject;
use ai_services_core::Result;
use ai_services_core::model::{Scores, ScoringModel};
use async_trait::async_trait;
use std::sync::Arc;

/// The model of [`CohereScoringModel::from_env`].
const DEFAULT_MODEL: &str = "rerank-v3.5";
/// The maximum number of documents that Cohere recommends for one request.
const BATCH: usize = 1000;

/// A scoring model of Cohere.
///
/// Clones share connections and settings. Scores are between 0 and 1. More than 1,000 documents are sent
/// in several requests, which does not change the scores.
///
/// # Examples
///
/// ```no_run
/// use ai_services::model::ScoringModel;
/// use ai_services::providers::cohere::CohereScoringModel;
///
/// # async fn run() -> ai_services::Result<()> {
/// let model = CohereScoringModel::from_env()?;
/// let scores = model.score("What grows in shade?", &["Ferns do.", "Cacti do not."]).await?;
/// assert!(scores.scores[0] > scores.scores[1]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CohereScoringModel(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    model: Box<str>,
    max_tokens: Option<u32>,
    batch: usize,
}

impl CohereScoringModel {
    /// Returns a builder.
    pub fn builder() -> CohereScoringModelBuilder {
        CohereScoringModelBuilder::default()
    }

    /// Builds the model that environment variables describe.
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `COHERE_API_KEY`, or `CO_API_KEY` | the key; optional if `COHERE_BASE_URL` is not Cohere's |
    /// | `COHERE_BASE_URL` | the server; default: `https://api.cohere.com` |
    /// | `COHERE_RERANK_MODEL` | the model; default: `rerank-v3.5` |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration), naming the variable, if a
    /// variable is missing or invalid.
    pub fn from_env() -> Result<Self> {
        CohereScoringModelBuilder::from_env(environment)
    }
}

impl Inner {
    async fn send(&self, query: &str, documents: &[&str]) -> Result<Scores> {
        let mut body = JsonObject::new(None, b'{');
        body.add("model", Some(&*self.model));
        body.add("query", Some(query));
        // Without `top_n`, Cohere scores all documents.
        body.add("documents", Some(documents));
        body.add("max_tokens_per_doc", self.max_tokens);
        let mut body = body.into_bytes();
        body.push(b'}');
        let answer = self.endpoint.post(body).await?;
        response::scores(&answer, documents.len())
    }
}

#[async_trait]
impl ScoringModel for CohereScoringModel {
    async fn score(&self, query: &str, documents: &[&str]) -> Result<Scores> {
        let inner = &*self.0;
        response::in_batches(documents, Some(inner.batch), |batch| inner.send(query, batch)).await
    }

    fn name(&self) -> &str {
        &self.0.model
    }
}

debug_fields!(CohereScoringModel.0 { model, endpoint });

/// Builds a [`CohereScoringModel`].
///
/// Only [`model`](Self::model) is required. If neither [`api_key`](Self::api_key) nor
/// [`base_url`](Self::base_url) is set, both come from the environment, as in
/// [`CohereScoringModel::from_env`].
///
/// # Examples
///
/// ```
/// use ai_services::providers::cohere::CohereScoringModel;
///
/// let model = CohereScoringModel::builder()
///     .api_key("secret")
///     .model("rerank-v3.5")
///     .max_tokens_per_document(1024)
///     .build()?;
/// assert!(!format!("{model:?}").contains("secret"));
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Debug, Default)]
#[must_use]
pub struct CohereScoringModelBuilder {
    connection: Connection,
    model: Option<Box<str>>,
    max_tokens: Option<u32>,
    batch: Option<usize>,
}

impl CohereScoringModelBuilder {
    builder_methods! {
        /// Sets the API key.
        api_key;
        /// Sets the server: the URL to which `/v2/rerank` is appended. Default: `https://api.cohere.com`.
        base_url;
        /// Sets the model, for example `rerank-v3.5`.
        model;
    }

    connection_setters!();

    /// Sets the maximum number of tokens that are read of a document. Default: 4,096.
    pub fn max_tokens_per_document(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Sets the maximum number of documents in one request. Default: 1,000.
    pub fn max_batch_documents(mut self, documents: usize) -> Self {
        self.batch = Some(documents);
        self
    }

    builder_methods! {
        /// Builds the model. Sends nothing.
        ///
        /// # Errors
        ///
        /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a model,
        /// without a key for Cohere, for an invalid base URL, for a key or header that HTTP cannot carry, and
        /// if TLS cannot be set up.
        build -> CohereScoringModel;
        from_env("COHERE_RERANK_MODEL", DEFAULT_MODEL) -> CohereScoringModel;
    }

    fn build_with(self, var: impl Fn(&str) -> Option<String>) -> Result<CohereScoringModel> {
        let server = COHERE.connect(self.connection, var)?;
        let model = required_model(self.model)?;
        Ok(CohereScoringModel(Arc::new(Inner {
            endpoint: server.endpoint("v2/rerank"),
            model,
            max_tokens: self.max_tokens,
            batch: self.batch.unwrap_or(BATCH),
        })))
    }
}

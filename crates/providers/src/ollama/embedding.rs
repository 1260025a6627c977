//! Embedding models.

use super::OllamaServer;
use super::options::KeepAlive;
use super::server::parse;
use crate::http::Endpoint;
use crate::protocol::batches::{self, BatchLimits};
use crate::protocol::builder::{builder_methods, debug_fields, required_model};
use crate::protocol::connection::{Connection, connection_setters, environment};
use crate::protocol::json_object::JsonObject;
use crate::protocol::tolerant::count;
use ai_services_core::Result;
use ai_services_core::model::{
    EmbeddingModel, EmbeddingPurpose, Embeddings, ModelEndpoint, TokenUsage,
};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The default maximum number of texts in one request.
const BATCH: usize = 64;
/// The maximum number of bytes of text in one request.
const BATCH_BYTES: usize = 1 << 20;

/// An embedding model behind an Ollama server.
///
/// Clones share connections and settings. Texts are sent in batches, at most four at a time. The
/// [purpose](EmbeddingPurpose) has no effect; for models with task prefixes, write the prefix into the text.
///
/// # Examples
///
/// ```no_run
/// use ai_services::model::EmbeddingModel;
/// use ai_services::providers::ollama::OllamaEmbeddingModel;
///
/// # async fn run() -> ai_services::Result<()> {
/// let model = OllamaEmbeddingModel::builder().model("nomic-embed-text").build()?;
/// let vector = model.embed_query("search_query: What is a tree?").await?;
/// println!("{} numbers", vector.len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OllamaEmbeddingModel(Arc<Inner>);

struct Inner {
    server: OllamaServer,
    endpoint: Endpoint,
    model: Box<str>,
    /// `,"truncate":…` and the other members that all requests share.
    rest: Vec<u8>,
    dimensions: Option<u32>,
    limits: BatchLimits,
}

impl OllamaEmbeddingModel {
    /// Returns a builder.
    pub fn builder() -> OllamaEmbeddingModelBuilder {
        OllamaEmbeddingModelBuilder::default()
    }

    /// Builds the model that environment variables describe.
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `OLLAMA_EMBEDDING_MODEL` | the model; default: `nomic-embed-text` |
    /// | `OLLAMA_HOST`, `OLLAMA_API_KEY` | the server, as in [`OllamaServer::from_env`] |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration), naming the variable, if a
    /// variable is missing or invalid.
    pub fn from_env() -> Result<Self> {
        OllamaEmbeddingModelBuilder::from_env(environment)
    }
}

impl Inner {
    async fn send(&self, texts: &[&str]) -> Result<Embeddings> {
        let mut body = JsonObject::new(None, b'{');
        body.add("model", Some(&*self.model));
        body.add("input", Some(texts));
        let mut body = body.into_bytes();
        body.extend_from_slice(&self.rest);
        body.push(b'}');
        let answer = match self.endpoint.post(body).await {
            Ok(answer) => answer,
            Err(error) => return Err(self.server.explain(&self.model, error).await),
        };
        let response: EmbedResponse = parse(&answer)?;
        let mut usage = TokenUsage::default();
        usage.input = response.prompt_eval_count;
        Ok(Embeddings::new(response.embeddings).with_usage(usage).with_model(response.model))
    }
}

#[derive(Deserialize)]
struct EmbedResponse {
    #[serde(default)]
    model: Option<Box<str>>,
    embeddings: Vec<Vec<f32>>,
    #[serde(default, deserialize_with = "count")]
    prompt_eval_count: Option<u64>,
}

#[async_trait]
impl EmbeddingModel for OllamaEmbeddingModel {
    async fn embed(&self, texts: &[&str], _: EmbeddingPurpose) -> Result<Embeddings> {
        let inner = &*self.0;
        batches::embed(texts, inner.limits, |batch| inner.send(batch)).await
    }

    fn dimensions(&self) -> Option<usize> {
        self.0.dimensions.and_then(|dimensions| usize::try_from(dimensions).ok())
    }

    fn name(&self) -> &str {
        &self.0.model
    }

    fn endpoint(&self) -> ModelEndpoint<'_> {
        self.0.endpoint.of_provider("ollama")
    }
}

debug_fields!(OllamaEmbeddingModel.0 { model, endpoint });

/// Builds an [`OllamaEmbeddingModel`].
///
/// Only [`model`](Self::model) is required. If neither [`api_key`](Self::api_key) nor
/// [`base_url`](Self::base_url) is set, both come from the environment, as in [`OllamaServer::from_env`].
///
/// # Examples
///
/// ```
/// use ai_services::model::EmbeddingModel;
/// use ai_services::providers::ollama::OllamaEmbeddingModel;
///
/// let model = OllamaEmbeddingModel::builder()
///     .base_url("http://localhost:11434")
///     .model("embeddinggemma")
///     .dimensions(256)
///     .build()?;
/// assert_eq!(model.dimensions(), Some(256));
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct OllamaEmbeddingModelBuilder {
    connection: Connection,
    model: Option<Box<str>>,
    truncate: Option<bool>,
    dimensions: Option<u32>,
    keep_alive: Option<KeepAlive>,
    options: Map<String, Value>,
    batch: Option<usize>,
}

/// The treatment of texts that exceed the input limit of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OllamaTruncation {
    /// The end of the text is ignored.
    Enabled,
    /// The request fails.
    Disabled,
}

impl OllamaEmbeddingModelBuilder {
    builder_methods! {
        /// Sets the API key, which only `ollama.com` requires.
        api_key;
        /// Sets the server: the URL to which `/api/embed` is appended. Default:
        /// `http://127.0.0.1:11434`.
        base_url;
        /// Sets the model, for example `nomic-embed-text`.
        model;
    }

    connection_setters!();

    /// Sets the treatment of texts that exceed the input limit of the model. Default: the server's, which
    /// truncates them.
    pub fn truncation(mut self, truncation: OllamaTruncation) -> Self {
        self.truncate = Some(truncation == OllamaTruncation::Enabled);
        self
    }

    /// Sets the length of the vectors, for models that can shorten them. Default: the model's own.
    pub fn dimensions(mut self, dimensions: u32) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// Sets how long the server keeps the model loaded. Default: the server's, usually five minutes.
    pub fn keep_alive(mut self, keep_alive: KeepAlive) -> Self {
        self.keep_alive = Some(keep_alive);
        self
    }

    /// Sets a member of `options`, for example `num_ctx`.
    pub fn option(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.insert(name.into(), value.into());
        self
    }

    /// Sets the maximum number of texts in one request. Default: 64. A request has at most 1 MiB of text,
    /// unless a single text is longer.
    pub fn max_batch_texts(mut self, texts: usize) -> Self {
        self.batch = Some(texts);
        self
    }

    builder_methods! {
        /// Builds the model. Sends nothing.
        ///
        /// # Errors
        ///
        /// The errors of [`OllamaChatModelBuilder::build`](super::OllamaChatModelBuilder::build).
        build -> OllamaEmbeddingModel;
        from_env("OLLAMA_EMBEDDING_MODEL", "nomic-embed-text") -> OllamaEmbeddingModel;
    }

    fn build_with(self, var: impl Fn(&str) -> Option<String>) -> Result<OllamaEmbeddingModel> {
        let server = OllamaServer::connect(self.connection, var)?;
        let model = required_model(self.model)?;
        let mut rest = JsonObject::new(None, b',');
        rest.add("truncate", self.truncate);
        rest.add("dimensions", self.dimensions);
        rest.add("keep_alive", self.keep_alive.map(KeepAlive::to_json));
        rest.add("options", Some(self.options).filter(|options| !options.is_empty()));
        Ok(OllamaEmbeddingModel(Arc::new(Inner {
            endpoint: server.endpoint("api/embed"),
            server,
            model,
            rest: rest.into_bytes(),
            dimensions: self.dimensions,
            limits: BatchLimits { texts: self.batch.unwrap_or(BATCH), bytes: BATCH_BYTES },
        })))
    }
}

debug_fields!(OllamaEmbeddingModelBuilder { model, connection });

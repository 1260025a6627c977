//! Embedding by Cohere.

use super::response::Meta;
use super::server::COHERE;
use crate::http::{Answer, Endpoint};
use crate::protocol::batches::{self, BatchLimits};
use crate::protocol::builder::{builder_methods, debug_fields, required_model};
use crate::protocol::connection::{Connection, connection_setters, environment};
use crate::protocol::json_object::JsonObject;
use ai_services_core::model::{EmbeddingModel, EmbeddingPurpose, Embeddings, ModelEndpoint};
use ai_services_core::{Error, ErrorKind, Result};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;

/// The model of [`CohereEmbeddingModel::from_env`].
const DEFAULT_MODEL: &str = "embed-v4.0";
/// The maximum size of a request to Cohere.
const LIMITS: BatchLimits = BatchLimits { texts: 96, bytes: 4 << 20 };

/// An embedding model of Cohere.
///
/// Clones share connections and settings. Texts are sent in batches of at most 96 texts and 4 MiB, at most
/// four batches at a time.
///
/// | purpose | `input_type` |
/// |---|---|
/// | [`Document`](EmbeddingPurpose::Document) | `search_document` |
/// | [`Query`](EmbeddingPurpose::Query) | `search_query` |
/// | [`Classification`](EmbeddingPurpose::Classification) | `classification` |
/// | [`Clustering`](EmbeddingPurpose::Clustering), [`Similarity`](EmbeddingPurpose::Similarity) | `clustering` |
///
/// # Examples
///
/// ```no_run
/// use ai_services::model::EmbeddingModel;
/// use ai_services::providers::cohere::CohereEmbeddingModel;
///
/// # async fn run() -> ai_services::Result<()> {
/// let model = CohereEmbeddingModel::from_env()?;
/// let vector = model.embed_query("What grows in shade?").await?;
/// println!("{} numbers", vector.len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CohereEmbeddingModel(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    model: Box<str>,
    truncation: Option<CohereTruncation>,
    dimensions: Option<u32>,
    limits: BatchLimits,
}

/// The treatment of texts that exceed the input limit of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CohereTruncation {
    /// The end of the text is ignored.
    End,
    /// The beginning of the text is ignored.
    Start,
    /// The request fails.
    Disabled,
}

impl CohereTruncation {
    fn name(self) -> &'static str {
        match self {
            Self::End => "END",
            Self::Start => "START",
            Self::Disabled => "NONE",
        }
    }
}

impl CohereEmbeddingModel {
    /// Returns a builder.
    pub fn builder() -> CohereEmbeddingModelBuilder {
        CohereEmbeddingModelBuilder::default()
    }

    /// Builds the model that environment variables describe.
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `COHERE_API_KEY`, or `CO_API_KEY` | the key; optional if `COHERE_BASE_URL` is not Cohere's |
    /// | `COHERE_BASE_URL` | the server; default: `https://api.cohere.com` |
    /// | `COHERE_EMBEDDING_MODEL` | the model; default: `embed-v4.0` |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`], naming the variable, if a variable is missing or invalid.
    pub fn from_env() -> Result<Self> {
        CohereEmbeddingModelBuilder::from_env(environment)
    }
}

impl Inner {
    async fn send(&self, texts: &[&str], purpose: EmbeddingPurpose) -> Result<Embeddings> {
        let mut body = JsonObject::new(None, b'{');
        body.add("model", Some(&*self.model));
        body.add("input_type", Some(input_type(purpose)));
        body.add("embedding_types", Some(["float"]));
        body.add("truncate", self.truncation.map(CohereTruncation::name));
        body.add("output_dimension", self.dimensions);
        body.add("texts", Some(texts));
        let mut body = body.into_bytes();
        body.push(b'}');
        read(&self.endpoint.post(body).await?)
    }
}

fn input_type(purpose: EmbeddingPurpose) -> &'static str {
    match purpose {
        EmbeddingPurpose::Document => "search_document",
        EmbeddingPurpose::Query => "search_query",
        EmbeddingPurpose::Classification => "classification",
        EmbeddingPurpose::Clustering | EmbeddingPurpose::Similarity => "clustering",
    }
}

#[derive(Deserialize)]
struct EmbedResponse<'a> {
    #[serde(default)]
    embeddings: Option<Vectors>,
    #[serde(default)]
    meta: Option<Meta>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Vectors {
    #[serde(default)]
    float: Option<Vec<Vec<f32>>>,
}

fn read(answer: &Answer) -> Result<Embeddings> {
    let response: EmbedResponse<'_> =
        serde_json::from_slice(&answer.body).map_err(|error| answer.unreadable(error))?;
    if response.error.is_some() {
        return Err(answer.reported());
    }
    let usage = response.meta.unwrap_or_default().usage();
    match response.embeddings.and_then(|vectors| vectors.float) {
        Some(vectors) => Ok(Embeddings::new(vectors).with_usage(usage)),
        None => {
            let error = Error::new(ErrorKind::InvalidResponse, "the answer has no vectors");
            Err(answer.annotate(error.with_usage(usage)))
        }
    }
}

#[async_trait]
impl EmbeddingModel for CohereEmbeddingModel {
    async fn embed(&self, texts: &[&str], purpose: EmbeddingPurpose) -> Result<Embeddings> {
        let inner = &*self.0;
        batches::embed(texts, inner.limits, |batch| inner.send(batch, purpose)).await
    }

    fn dimensions(&self) -> Option<usize> {
        self.0.dimensions.and_then(|dimensions| usize::try_from(dimensions).ok())
    }

    fn name(&self) -> &str {
        &self.0.model
    }

    fn endpoint(&self) -> ModelEndpoint<'_> {
        self.0.endpoint.of_provider("cohere")
    }
}

debug_fields!(CohereEmbeddingModel.0 { model, endpoint });

/// Builds a [`CohereEmbeddingModel`].
///
/// Only [`model`](Self::model) is required. If neither [`api_key`](Self::api_key) nor
/// [`base_url`](Self::base_url) is set, both come from the environment, as in
/// [`CohereEmbeddingModel::from_env`].
///
/// # Examples
///
/// ```
/// use ai_services::model::EmbeddingModel;
/// use ai_services::providers::cohere::CohereEmbeddingModel;
///
/// let model = CohereEmbeddingModel::builder()
///     .api_key("secret")
///     .model("embed-v4.0")
///     .dimensions(512)
///     .build()?;
/// assert_eq!(model.dimensions(), Some(512));
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Debug, Default)]
#[must_use]
pub struct CohereEmbeddingModelBuilder {
    connection: Connection,
    model: Option<Box<str>>,
    truncation: Option<CohereTruncation>,
    dimensions: Option<u32>,
    batch: Option<usize>,
}

impl CohereEmbeddingModelBuilder {
    builder_methods! {
        /// Sets the API key.
        api_key;
        /// Sets the server: the URL to which `/v2/embed` is appended. Default: `https://api.cohere.com`.
        base_url;
        /// Sets the model, for example `embed-v4.0`.
        model;
    }

    connection_setters!();

    /// Sets the treatment of texts that exceed the input limit of the model. Default: Cohere's, which
    /// ignores their end.
    pub fn truncation(mut self, truncation: CohereTruncation) -> Self {
        self.truncation = Some(truncation);
        self
    }

    /// Sets the length of the vectors, for models that can shorten them. Default: the model's own.
    pub fn dimensions(mut self, dimensions: u32) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// Sets the maximum number of texts in one request. Default: 96, the limit of Cohere.
    pub fn max_batch_texts(mut self, texts: usize) -> Self {
        self.batch = Some(texts);
        self
    }

    builder_methods! {
        /// Builds the model. Sends nothing.
        ///
        /// # Errors
        ///
        /// [`ErrorKind::Configuration`] without a model, without a key for Cohere, for an invalid base URL,
        /// for a key or header that HTTP cannot carry, and if TLS cannot be set up.
        build -> CohereEmbeddingModel;
        from_env("COHERE_EMBEDDING_MODEL", DEFAULT_MODEL) -> CohereEmbeddingModel;
    }

    fn build_with(self, var: impl Fn(&str) -> Option<String>) -> Result<CohereEmbeddingModel> {
        let server = COHERE.connect(self.connection, var)?;
        let model = required_model(self.model)?;
        Ok(CohereEmbeddingModel(Arc::new(Inner {
            endpoint: server.endpoint("v2/embed"),
            model,
            truncation: self.truncation,
            dimensions: self.dimensions,
            limits: BatchLimits { texts: self.batch.unwrap_or(LIMITS.texts), ..LIMITS },
        })))
    }
}

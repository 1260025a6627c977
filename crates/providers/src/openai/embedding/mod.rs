//! Embedding models.

mod vector;

use super::account::{Account, account_setters};
use crate::http::{Answer, Endpoint};
use crate::protocol::batches::{self, BatchLimits};
use crate::protocol::builder::{builder_methods, debug_fields, required_model};
use crate::protocol::connection::{Connection, connection_setters, environment};
use crate::protocol::json_object::JsonObject;
use crate::protocol::site::Target;
use crate::protocol::tolerant::{Index, Text};
use ai_services_core::model::{EmbeddingModel, EmbeddingPurpose, Embeddings, ModelEndpoint};
use ai_services_core::{Error, ErrorKind, Result};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::sync::Arc;
use vector::Vector;

/// The model of [`OpenAiEmbeddingModel::from_env`].
const DEFAULT_MODEL: &str = "text-embedding-3-small";

/// The default limits of one request. OpenAI accepts 2048 texts, but as many vectors of the maximum length
/// make a document of 33 MB.
const BATCH: BatchLimits = BatchLimits { texts: 512, bytes: 600_000 };

/// An embedding model behind OpenAI's `/embeddings` or a compatible server.
///
/// Texts are sent in batches, at most four at a time. Vectors are returned in the order of the texts. They
/// are requested as base64, which has a third of the size, and parsed as base64 or as lists of numbers.
/// Without texts, no request is sent. The [purpose](EmbeddingPurpose) has no effect.
///
/// Clones share connections and settings.
///
/// # Examples
///
/// ```no_run
/// use ai_services::model::{EmbeddingModel, EmbeddingPurpose};
/// use ai_services::providers::openai::OpenAiEmbeddingModel;
///
/// # async fn run() -> ai_services::Result<()> {
/// let model = OpenAiEmbeddingModel::from_env()?;
/// let texts = ["Oslo is in Norway.", "Rio is in Brazil."];
/// let embeddings = model.embed(&texts, EmbeddingPurpose::Document).await?;
/// assert_eq!(embeddings.vectors.len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OpenAiEmbeddingModel(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    /// The beginning of all requests.
    head: Vec<u8>,
    model: Box<str>,
    dimensions: Option<usize>,
    limits: BatchLimits,
}

impl OpenAiEmbeddingModel {
    /// Returns a builder.
    pub fn builder() -> OpenAiEmbeddingModelBuilder {
        OpenAiEmbeddingModelBuilder::default()
    }

    /// Builds the model that environment variables describe.
    ///
    /// The variables are those of [`OpenAiChatModel::from_env`](super::OpenAiChatModel::from_env), except for
    /// the model: `OPENAI_EMBEDDING_MODEL`, default: `text-embedding-3-small`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`], naming the variable, if a variable is missing or invalid.
    pub fn from_env() -> Result<Self> {
        OpenAiEmbeddingModelBuilder::from_env(environment)
    }
}

impl Inner {
    async fn send(&self, texts: &[&str]) -> Result<Embeddings> {
        let mut body = self.head.clone();
        body.extend_from_slice(br#","input":"#);
        serde_json::to_writer(&mut body, texts).map_err(|source| {
            Error::new(ErrorKind::InvalidRequest, "the texts cannot be written as JSON")
                .with_source(source)
        })?;
        body.push(b'}');
        let answer = self.endpoint.post(body).await?;
        read(&answer, texts.len())
    }
}

#[async_trait]
impl EmbeddingModel for OpenAiEmbeddingModel {
    async fn embed(&self, texts: &[&str], _: EmbeddingPurpose) -> Result<Embeddings> {
        batches::embed(texts, self.0.limits, |batch| self.0.send(batch)).await
    }

    fn dimensions(&self) -> Option<usize> {
        self.0.dimensions
    }

    fn name(&self) -> &str {
        &self.0.model
    }

    fn endpoint(&self) -> ModelEndpoint<'_> {
        self.0.endpoint.of_provider("openai")
    }
}

debug_fields!(OpenAiEmbeddingModel.0 { model, endpoint });

/// Builds an [`OpenAiEmbeddingModel`].
///
/// Only [`model`](Self::model) is required. If neither [`api_key`](Self::api_key) nor
/// [`base_url`](Self::base_url) is set, the key, the server, the organization and the project come from
/// the environment, as in [`OpenAiEmbeddingModel::from_env`].
///
/// # Examples
///
/// ```
/// use ai_services::model::EmbeddingModel;
/// use ai_services::providers::openai::OpenAiEmbeddingModel;
///
/// let model = OpenAiEmbeddingModel::builder()
///     .base_url("http://localhost:8080/v1")
///     .model("text-embedding-3-large")
///     .dimensions(256)
///     .build()?;
/// assert_eq!(model.dimensions(), Some(256));
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct OpenAiEmbeddingModelBuilder {
    connection: Connection,
    account: Account,
    model: Option<Box<str>>,
    dimensions: Option<usize>,
    max_batch_texts: Option<usize>,
    max_batch_bytes: Option<usize>,
    extra: Map<String, Value>,
}

impl OpenAiEmbeddingModelBuilder {
    account_setters!("/embeddings");

    builder_methods! {
        /// Sets the model, for example `text-embedding-3-small`.
        model;
    }

    /// Sets the length of the vectors, for models that can shorten them. Default: the model's own.
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// Sets the maximum number of texts in one request. Default: 512. OpenAI accepts at most 2048.
    ///
    /// Larger batches need a larger [`max_response_bytes`](Self::max_response_bytes): a vector with 3072
    /// components has 16 KB.
    pub fn max_batch_texts(mut self, texts: usize) -> Self {
        self.max_batch_texts = Some(texts);
        self
    }

    /// Sets the maximum number of bytes of text in one request. Default: 600,000, because OpenAI accepts
    /// 300,000 tokens. A longer text is sent in a request of its own.
    pub fn max_batch_bytes(mut self, bytes: usize) -> Self {
        self.max_batch_bytes = Some(bytes);
        self
    }

    /// Adds a member to all requests, for example `encoding_format` for a server that rejects `base64`. It
    /// replaces a member of the client with the same name.
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    connection_setters!();

    builder_methods! {
        /// Builds the model. Sends nothing.
        ///
        /// # Errors
        ///
        /// [`ErrorKind::Configuration`] without a model, without a key for OpenAI, for an invalid base URL,
        /// for a key or header that HTTP cannot carry, and if TLS cannot be set up.
        build -> OpenAiEmbeddingModel;
        from_env("OPENAI_EMBEDDING_MODEL", DEFAULT_MODEL) -> OpenAiEmbeddingModel;
    }

    fn build_with(mut self, var: impl Fn(&str) -> Option<String>) -> Result<OpenAiEmbeddingModel> {
        let Target { url, headers, .. } = self.account.target(&mut self.connection, var)?;
        let model = required_model(self.model)?;
        let mut head = JsonObject::new(Some(&self.extra), b'{');
        head.add("model", Some(&*model));
        head.add("dimensions", self.dimensions);
        head.add("encoding_format", Some("base64"));
        head.add_extra();
        Ok(OpenAiEmbeddingModel(Arc::new(Inner {
            endpoint: self.connection.server(url, headers)?.endpoint("embeddings"),
            head: head.into_bytes(),
            model,
            dimensions: self.dimensions,
            limits: BatchLimits {
                texts: self.max_batch_texts.unwrap_or(BATCH.texts),
                bytes: self.max_batch_bytes.unwrap_or(BATCH.bytes),
            },
        })))
    }
}

debug_fields!(OpenAiEmbeddingModelBuilder { model, connection });

#[derive(Deserialize)]
struct EmbeddingsResponse<'a> {
    #[serde(default)]
    data: Option<Vec<Embedding>>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(default, deserialize_with = "super::wire::usage")]
    usage: Option<ai_services_core::model::TokenUsage>,
    /// Some gateways report errors with status 200.
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Embedding {
    #[serde(default)]
    index: Index,
    embedding: Vector,
}

fn read(answer: &Answer, texts: usize) -> Result<Embeddings> {
    let response: EmbeddingsResponse<'_> =
        serde_json::from_slice(&answer.body).map_err(|error| answer.unreadable(error))?;
    if response.error.is_some() {
        return Err(answer.reported());
    }
    let usage = response.usage.unwrap_or_default();
    let vectors = in_order(response.data.unwrap_or_default(), texts).map_err(|message| {
        let error = Error::new(ErrorKind::InvalidResponse, message);
        answer.annotate(error.with_usage(usage))
    })?;
    Ok(Embeddings::new(vectors).with_usage(usage).with_model(response.model.into_owned()))
}

/// Returns the vectors in the order of the texts, by their indices or, without indices, in their own order.
fn in_order(data: Vec<Embedding>, texts: usize) -> Result<Vec<Vec<f32>>, String> {
    if data.len() != texts {
        return Err(format!("the answer has {} vectors for {texts} texts", data.len()));
    }
    if data.iter().any(|one| one.embedding.0.is_empty()) {
        return Err("the answer has an empty vector".to_owned());
    }
    if data.iter().all(|one| one.index.0.is_none()) {
        return Ok(data.into_iter().map(|one| one.embedding.0).collect());
    }
    let mut places = vec![Vec::new(); texts];
    for one in data {
        let index = one.index.0.and_then(|index| usize::try_from(index).ok());
        match index.and_then(|index| places.get_mut(index)) {
            Some(place) if place.is_empty() => *place = one.embedding.0,
            Some(_) => return Err("the answer has two vectors for the same text".to_owned()),
            None => return Err("the answer has a vector for a text that was not sent".to_owned()),
        }
    }
    Ok(places)
}

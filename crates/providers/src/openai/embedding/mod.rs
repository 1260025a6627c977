//! Vectors of texts.

mod vector;

use super::account::{Account, account_setters};
use crate::http::{Answer, Endpoint};
use crate::protocol::batches::{self, BatchLimits};
use crate::protocol::builder::{builder_methods, debug_fields, required_model};
use crate::protocol::connection::{Connection, connection_setters, environment};
use crate::protocol::json_object::JsonObject;
use crate::protocol::site::Target;
use crate::protocol::tolerant::{Index, Text};
use ai_services_core::model::{EmbeddingModel, EmbeddingPurpose, Embeddings};
use ai_services_core::{Error, ErrorKind, Result};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::sync::Arc;
use vector::Vector;

/// The model of [`OpenAiEmbeddingModel::from_env`].
const DEFAULT_MODEL: &str = "text-embedding-3-small";

/// The most texts of a request by default. OpenAI takes 2048, but so many vectors of the largest size
/// are a document of 33 MB.
const BATCH: BatchLimits = BatchLimits { texts: 512, bytes: 600_000 };

/// An embedding model behind OpenAI's `/embeddings` or a compatible server.
///
/// Texts go in batches, four at a time; vectors come back in the order of the texts. They are asked for
/// as base64, which is a third of the size, and understood in both forms. No texts, no request. The
/// [purpose](EmbeddingPurpose) makes no difference.
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
    /// The beginning of every request.
    head: Vec<u8>,
    model: Box<str>,
    dimensions: Option<usize>,
    limits: BatchLimits,
}

impl OpenAiEmbeddingModel {
    /// Starts a model.
    pub fn builder() -> OpenAiEmbeddingModelBuilder {
        OpenAiEmbeddingModelBuilder::default()
    }

    /// A model as the environment describes it: as
    /// [`OpenAiChatModel::from_env`](super::OpenAiChatModel::from_env), but for the model, which is
    /// `OPENAI_EMBEDDING_MODEL`, `text-embedding-3-small` by default.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`] if a variable is missing or wrong; the message names it.
    pub fn from_env() -> Result<Self> {
        OpenAiEmbeddingModelBuilder::from_env(environment)
    }
}

impl Inner {
    async fn ask(&self, texts: &[&str]) -> Result<Embeddings> {
        let mut body = self.head.clone();
        body.extend_from_slice(br#","input":"#);
        serde_json::to_writer(&mut body, texts).map_err(|source| {
            Error::new(ErrorKind::InvalidRequest, "the texts cannot be written").with_source(source)
        })?;
        body.push(b'}');
        let answer = self.endpoint.post(body).await?;
        read(&answer, texts.len())
    }
}

#[async_trait]
impl EmbeddingModel for OpenAiEmbeddingModel {
    async fn embed(&self, texts: &[&str], _: EmbeddingPurpose) -> Result<Embeddings> {
        batches::embed(texts, self.0.limits, |batch| self.0.ask(batch)).await
    }

    fn dimensions(&self) -> Option<usize> {
        self.0.dimensions
    }

    fn name(&self) -> &str {
        &self.0.model
    }
}

debug_fields!(OpenAiEmbeddingModel.0 { model, endpoint });

/// Builds an [`OpenAiEmbeddingModel`].
///
/// Only [`model`](Self::model) is required. With neither [`api_key`](Self::api_key) nor
/// [`base_url`](Self::base_url), key, server, organization and project come from the environment.
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
    max_batch_size: Option<usize>,
    max_batch_bytes: Option<usize>,
    extra: Map<String, Value>,
}

impl OpenAiEmbeddingModelBuilder {
    account_setters!("/embeddings");

    builder_methods! {
        /// Sets the model to ask, for example `text-embedding-3-small`.
        model;
    }

    /// Sets how many numbers a vector should have; the model's own by default. Only models that can
    /// shorten their vectors accept it.
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// Sets the most texts of one request; 512 by default, at OpenAI at most 2048. More need a larger
    /// [`max_response_bytes`](Self::max_response_bytes): a vector of 3072 numbers is 16 KB.
    pub fn max_batch_size(mut self, texts: usize) -> Self {
        self.max_batch_size = Some(texts);
        self
    }

    /// Sets the most bytes of text of one request; 600,000 by default, because OpenAI takes 300,000
    /// tokens at once. A longer text goes alone.
    pub fn max_batch_bytes(mut self, bytes: usize) -> Self {
        self.max_batch_bytes = Some(bytes);
        self
    }

    /// Adds a member to every request. It wins over what the client writes itself: `encoding_format`
    /// for a server that refuses `base64`, for example.
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    connection_setters!();

    builder_methods! {
        /// Builds the model. Nothing is sent.
        ///
        /// # Errors
        ///
        /// [`ErrorKind::Configuration`] without a model, without a key for OpenAI, for a base URL that is
        /// not one, a key or header that HTTP cannot carry, and if TLS cannot be set up.
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
                texts: self.max_batch_size.unwrap_or(BATCH.texts),
                bytes: self.max_batch_bytes.unwrap_or(BATCH.bytes),
            },
        })))
    }
}

debug_fields!(OpenAiEmbeddingModelBuilder { model, connection });

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(default)]
    data: Option<Vec<Embedding>>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(default, deserialize_with = "super::wire::usage")]
    usage: Option<ai_services_core::model::TokenUsage>,
    /// Gateways report errors with status 200.
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
    let document: Document<'_> =
        serde_json::from_slice(&answer.body).map_err(|error| answer.unreadable(error))?;
    if document.error.is_some() {
        return Err(answer.reported());
    }
    let usage = document.usage.unwrap_or_default();
    let vectors = in_order(document.data.unwrap_or_default(), texts).map_err(|message| {
        let error = Error::new(ErrorKind::InvalidResponse, message);
        answer.annotate(error.with_usage(usage))
    })?;
    Ok(Embeddings::new(vectors).with_usage(usage).with_model(document.model.into_owned()))
}

/// The vectors in the order of the texts. Servers number them; one that numbers none keeps the order.
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
            Some(_) => return Err("the answer has two vectors for one text".to_owned()),
            None => return Err("the answer has a vector for a text that was not sent".to_owned()),
        }
    }
    Ok(places)
}

//! Embedding models.

mod builder;

pub use builder::GeminiEmbeddingModelBuilder;

use crate::protocol::builder::debug_fields;
use crate::protocol::connection::environment;

use crate::gemini::wire::usage;
use crate::http::{Answer, Endpoint};
use ai_services_core::model::{
    EmbeddingModel, EmbeddingPurpose, Embeddings, ModelEndpoint, TokenUsage,
};
use ai_services_core::{Error, ErrorKind, Result};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;

/// The maximum number of texts in one request.
const MAX_TEXTS: usize = 100;

/// An embedding model behind Google's Gemini API.
///
/// More than 100 texts are sent in several requests, one after the other. The
/// [purpose](EmbeddingPurpose) is sent as `taskType`. `gemini-embedding-2` and later do not support
/// `taskType`; for these models, the purpose is the prefix of the text that Google documents. Vectors of
/// `gemini-embedding-001` that are shortened to [`dimensions`](GeminiEmbeddingModelBuilder::dimensions) are
/// not normalized: compare them by cosine similarity.
///
/// # Examples
///
/// ```no_run
/// use ai_services::model::EmbeddingModel;
/// use ai_services::providers::gemini::GeminiEmbeddingModel;
///
/// # async fn run() -> ai_services::Result<()> {
/// let model = GeminiEmbeddingModel::builder().model("gemini-embedding-001").dimensions(768).build()?;
/// let question = model.embed_query("Where do I park?").await?;
/// assert_eq!(question.len(), 768);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct GeminiEmbeddingModel(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    model: Box<str>,
    /// The name of the model with its collection, which is repeated for each text of a batch.
    resource: Box<str>,
    dimensions: Option<usize>,
    task: TaskEncoding,
}

/// The encoding of the purpose in a request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TaskEncoding {
    /// The member `taskType`.
    Member,
    /// A prefix of the text.
    TextPrefix,
}

impl GeminiEmbeddingModel {
    /// Returns a builder.
    pub fn builder() -> GeminiEmbeddingModelBuilder {
        GeminiEmbeddingModelBuilder::default()
    }

    /// Builds the model that environment variables describe.
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `GEMINI_API_KEY`, or `GOOGLE_API_KEY` | the key; optional if `GEMINI_BASE_URL` is not Google's |
    /// | `GEMINI_BASE_URL` | the server; default: `https://generativelanguage.googleapis.com/v1beta` |
    /// | `GEMINI_EMBEDDING_MODEL` | the model; default: `gemini-embedding-001` |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`], naming the variable, if a variable is missing or invalid.
    pub fn from_env() -> Result<Self> {
        GeminiEmbeddingModelBuilder::from_env(environment)
    }
}

#[derive(Serialize)]
struct BatchRequest<'a> {
    requests: Vec<EmbedRequest<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EmbedRequest<'a> {
    model: &'a str,
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_dimensionality: Option<usize>,
}

#[derive(Serialize)]
struct Content<'a> {
    parts: [TextPart<'a>; 1],
}

#[derive(Serialize)]
struct TextPart<'a> {
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BatchResponse<'a> {
    #[serde(default)]
    embeddings: Option<Vec<Embedding>>,
    #[serde(default, deserialize_with = "usage")]
    usage_metadata: Option<TokenUsage>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Embedding {
    #[serde(default)]
    values: Vec<f32>,
}

impl Inner {
    fn body(&self, texts: &[&str], purpose: EmbeddingPurpose) -> Result<Vec<u8>> {
        let request = |text: &&'_ str| EmbedRequest {
            model: &self.resource,
            content: Content {
                parts: [TextPart { text: Cow::Owned(self.with_prefix(text, purpose)) }],
            },
            task_type: (self.task == TaskEncoding::Member).then(|| task_type(purpose)),
            output_dimensionality: self.dimensions,
        };
        let batch = BatchRequest { requests: texts.iter().map(request).collect() };
        serde_json::to_vec(&batch).map_err(|error| {
            Error::new(ErrorKind::Configuration, "the texts cannot be written as JSON")
                .with_source(error)
        })
    }

    /// Adds the prefix of the purpose to a text, if the model uses prefixes.
    fn with_prefix(&self, text: &str, purpose: EmbeddingPurpose) -> String {
        match self.task {
            TaskEncoding::Member => text.to_owned(),
            TaskEncoding::TextPrefix => format!("{}{text}", task_prefix(purpose)),
        }
    }

    async fn batch(&self, texts: &[&str], purpose: EmbeddingPurpose) -> Result<Embeddings> {
        let answer = self.endpoint.post(self.body(texts, purpose)?).await?;
        read(&answer, texts.len())
    }
}

fn read(answer: &Answer, expected: usize) -> Result<Embeddings> {
    let response: BatchResponse<'_> =
        serde_json::from_slice(&answer.body).map_err(|error| answer.unreadable(error))?;
    if response.error.is_some() {
        return Err(answer.reported());
    }
    let usage = response.usage_metadata.unwrap_or_default();
    let vectors = response.embeddings.unwrap_or_default();
    if vectors.len() != expected || vectors.iter().any(|vector| vector.values.is_empty()) {
        let message =
            format!("expected {expected} non-empty vectors, got {} vectors", vectors.len());
        let error = Error::new(ErrorKind::InvalidResponse, message);
        return Err(answer.annotate(error.with_usage(usage)));
    }
    Ok(Embeddings::new(vectors.into_iter().map(|vector| vector.values)).with_usage(usage))
}

fn task_type(purpose: EmbeddingPurpose) -> &'static str {
    match purpose {
        EmbeddingPurpose::Document => "RETRIEVAL_DOCUMENT",
        EmbeddingPurpose::Query => "RETRIEVAL_QUERY",
        EmbeddingPurpose::Classification => "CLASSIFICATION",
        EmbeddingPurpose::Clustering => "CLUSTERING",
        EmbeddingPurpose::Similarity => "SEMANTIC_SIMILARITY",
    }
}

fn task_prefix(purpose: EmbeddingPurpose) -> &'static str {
    match purpose {
        EmbeddingPurpose::Document => "title: none | text: ",
        EmbeddingPurpose::Query => "task: search result | query: ",
        EmbeddingPurpose::Classification => "task: classification | query: ",
        EmbeddingPurpose::Clustering => "task: clustering | query: ",
        EmbeddingPurpose::Similarity => "task: sentence similarity | query: ",
    }
}

#[async_trait]
impl EmbeddingModel for GeminiEmbeddingModel {
    async fn embed(&self, texts: &[&str], purpose: EmbeddingPurpose) -> Result<Embeddings> {
        let mut all = Embeddings::default();
        for batch in texts.chunks(MAX_TEXTS) {
            match self.0.batch(batch, purpose).await {
                Ok(some) => {
                    all.vectors.extend(some.vectors);
                    all.usage += some.usage;
                }
                Err(error) => {
                    let usage = all.usage + error.usage().copied().unwrap_or_default();
                    return Err(error.with_usage(usage));
                }
            }
        }
        Ok(all)
    }

    fn dimensions(&self) -> Option<usize> {
        self.0.dimensions
    }

    fn name(&self) -> &str {
        &self.0.model
    }

    fn endpoint(&self) -> ModelEndpoint<'_> {
        self.0.endpoint.of_provider("gcp.gemini")
    }
}

debug_fields!(GeminiEmbeddingModel.0 { model, endpoint });

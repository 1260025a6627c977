//! The builder of [`GeminiEmbeddingModel`].

use super::{GeminiEmbeddingModel, Inner, TaskEncoding};
use crate::gemini::name::ModelName;
use crate::gemini::server::GOOGLE;
use crate::protocol::builder::{builder_methods, debug_fields, required_model};
use crate::protocol::connection::{Connection, connection_setters};
use ai_services_core::Result;
use std::sync::Arc;

/// The model of [`GeminiEmbeddingModel::from_env`]. It stays the same in newer versions: stored vectors
/// cannot be compared with the vectors of another model.
const DEFAULT_MODEL: &str = "gemini-embedding-001";

/// Builds a [`GeminiEmbeddingModel`].
///
/// Only [`model`](Self::model) is required. If neither [`api_key`](Self::api_key) nor
/// [`base_url`](Self::base_url) is set, the key and the server come from the environment, as in
/// [`GeminiEmbeddingModel::from_env`].
///
/// # Examples
///
/// ```
/// use ai_services::model::EmbeddingModel;
/// use ai_services::providers::gemini::GeminiEmbeddingModel;
///
/// let model = GeminiEmbeddingModel::builder()
///     .api_key("secret")
///     .model("gemini-embedding-001")
///     .dimensions(768)
///     .build()?;
/// assert_eq!(model.dimensions(), Some(768));
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct GeminiEmbeddingModelBuilder {
    connection: Connection,
    model: Option<Box<str>>,
    dimensions: Option<usize>,
}

impl GeminiEmbeddingModelBuilder {
    builder_methods! {
        /// Sets the API key. It is sent in the header `x-goog-api-key`, never in the URL. Servers other
        /// than Google's may need none.
        api_key;
        /// Sets the server: the URL to which `/models/…` is appended, with the version of the API.
        /// Default: `https://generativelanguage.googleapis.com/v1beta`.
        base_url;
        /// Sets the model, for example `gemini-embedding-001` or `gemini-embedding-2`. Vectors of different
        /// models cannot be compared.
        model;
    }

    /// Sets the length of the vectors. Default: the model's own, 3072. Google recommends 768, 1536 or 3072.
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    connection_setters!();

    builder_methods! {
        /// Builds the model. Sends nothing.
        ///
        /// # Errors
        ///
        /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a model or for
        /// one whose name could lead to another URL, without a key for Google, for an invalid base URL, for a
        /// key or header that HTTP cannot carry, and if TLS cannot be set up.
        build -> GeminiEmbeddingModel;
    }

    builder_methods! {
        from_env("GEMINI_EMBEDDING_MODEL", DEFAULT_MODEL) -> GeminiEmbeddingModel;
    }

    fn build_with(self, var: impl Fn(&str) -> Option<String>) -> Result<GeminiEmbeddingModel> {
        let model = required_model(self.model)?;
        let name = ModelName::of(&model)?;
        let server = GOOGLE.connect(self.connection, var)?;
        Ok(GeminiEmbeddingModel(Arc::new(Inner {
            endpoint: server.endpoint(&name.method("batchEmbedContents")),
            resource: name.resource().into(),
            dimensions: self.dimensions,
            task: if name.has_task_in_text() {
                TaskEncoding::TextPrefix
            } else {
                TaskEncoding::Member
            },
            model,
        })))
    }
}

debug_fields!(GeminiEmbeddingModelBuilder { model, connection, dimensions });

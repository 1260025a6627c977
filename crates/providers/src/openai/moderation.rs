//! Moderation models.

use super::account::{Account, account_setters};
use super::part::image_url;
use crate::http::{Answer, Endpoint};
use crate::protocol::builder::{builder_methods, debug_fields};
use crate::protocol::connection::{Connection, connection_setters, environment};
use crate::protocol::site::Target;
use ai_services_core::message::{Content, UserMessage};
use ai_services_core::model::{Moderation, ModerationModel};
use ai_services_core::{Error, ErrorKind, Result};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The model of [`OpenAiModerationModel::from_env`].
const DEFAULT_MODEL: &str = "omni-moderation-latest";

/// The category of a flagged result without categories.
const UNNAMED: &str = "unspecified";

/// A moderation model behind OpenAI's `/moderations` or a compatible server.
///
/// The texts of a message are checked as one text. The first image is checked together with the texts,
/// each other image in a request of its own. Audio, videos and PDFs are not checked. Images are not
/// checked by models whose name begins with `text-`.
///
/// Clones share connections and settings.
///
/// # Examples
///
/// ```no_run
/// use ai_services::model::ModerationModel;
/// use ai_services::providers::openai::OpenAiModerationModel;
///
/// # async fn run() -> ai_services::Result<()> {
/// let model = OpenAiModerationModel::from_env()?;
/// assert!(!model.moderate("What a nice day!").await?.is_flagged());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OpenAiModerationModel(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    model: Box<str>,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: Input<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Input<'a> {
    Text(&'a str),
    Parts(Vec<InputPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: Cow<'a, str>,
}

impl OpenAiModerationModel {
    /// Returns a builder.
    pub fn builder() -> OpenAiModerationModelBuilder {
        OpenAiModerationModelBuilder::default()
    }

    /// Builds the model that environment variables describe.
    ///
    /// The variables are those of [`OpenAiChatModel::from_env`](super::OpenAiChatModel::from_env), except for
    /// the model: `OPENAI_MODERATION_MODEL`, default: `omni-moderation-latest`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`], naming the variable, if a variable is missing or invalid.
    pub fn from_env() -> Result<Self> {
        OpenAiModerationModelBuilder::from_env(environment)
    }
}

impl Inner {
    async fn send(&self, input: Input<'_>) -> Result<Moderation> {
        let request = Request { model: &self.model, input };
        let body = serde_json::to_vec(&request).map_err(|source| {
            Error::new(ErrorKind::InvalidRequest, "the text cannot be written as JSON")
                .with_source(source)
        })?;
        read(&self.endpoint.post(body).await?)
    }
}

#[async_trait]
impl ModerationModel for OpenAiModerationModel {
    async fn moderate(&self, text: &str) -> Result<Moderation> {
        self.0.send(Input::Text(text)).await
    }

    async fn moderate_message(&self, message: &UserMessage) -> Result<Moderation> {
        let text = message.joined_text();
        let text = text.as_deref().filter(|text| !text.is_empty());
        let is_text_model = self.0.model.starts_with("text-");
        let images = if is_text_model { Vec::new() } else { images(message)? };
        let mut images = images.into_iter();
        let input = match (text, images.next()) {
            (None, None) => return Ok(Moderation::passed()),
            (Some(text), None) => Input::Text(text),
            (text, Some(image)) => {
                let text = text.map(|text| InputPart::Text { text });
                Input::Parts(text.into_iter().chain([image]).collect())
            }
        };
        let mut moderation = self.0.send(input).await?;
        // OpenAI accepts one image per request.
        for image in images {
            if moderation.is_flagged() {
                break;
            }
            moderation = self.0.send(Input::Parts(vec![image])).await?;
        }
        Ok(moderation)
    }

    fn name(&self) -> &str {
        &self.0.model
    }
}

fn images(message: &UserMessage) -> Result<Vec<InputPart<'_>>> {
    let images = message.contents().iter().filter_map(|content| match content {
        Content::Image(image) => Some(image_url(image.media())),
        _ => None,
    });
    let parts =
        images.map(|url| url.map(|url| InputPart::ImageUrl { image_url: ImageUrl { url } }));
    parts.collect::<Result<_, _>>().map_err(|message| Error::new(ErrorKind::Unsupported, message))
}

debug_fields!(OpenAiModerationModel.0 { model, endpoint });

/// Builds an [`OpenAiModerationModel`].
///
/// All settings are optional. If neither [`api_key`](Self::api_key) nor [`base_url`](Self::base_url) is
/// set, the key, the server, the organization and the project come from the environment, as in
/// [`OpenAiModerationModel::from_env`].
///
/// # Examples
///
/// ```
/// use ai_services::providers::openai::OpenAiModerationModel;
///
/// let model = OpenAiModerationModel::builder().api_key("secret").build()?;
/// assert!(format!("{model:?}").contains("omni-moderation-latest"));
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct OpenAiModerationModelBuilder {
    connection: Connection,
    account: Account,
    model: Option<Box<str>>,
}

impl OpenAiModerationModelBuilder {
    account_setters!("/moderations");

    builder_methods! {
        /// Sets the model. Default: `omni-moderation-latest`.
        model;
    }

    connection_setters!();

    builder_methods! {
        /// Builds the model. Sends nothing.
        ///
        /// # Errors
        ///
        /// [`ErrorKind::Configuration`] without a key for OpenAI, for an invalid base URL, for a key or
        /// header that HTTP cannot carry, and if TLS cannot be set up.
        build -> OpenAiModerationModel;
        from_env("OPENAI_MODERATION_MODEL", DEFAULT_MODEL) -> OpenAiModerationModel;
    }

    fn build_with(mut self, var: impl Fn(&str) -> Option<String>) -> Result<OpenAiModerationModel> {
        let Target { url, headers, .. } = self.account.target(&mut self.connection, var)?;
        Ok(OpenAiModerationModel(Arc::new(Inner {
            endpoint: self.connection.server(url, headers)?.endpoint("moderations"),
            model: self.model.unwrap_or_else(|| DEFAULT_MODEL.into()),
        })))
    }
}

debug_fields!(OpenAiModerationModelBuilder { model, connection });

#[derive(Deserialize)]
struct ModerationResponse<'a> {
    #[serde(borrow, default)]
    results: Option<Vec<ModerationResult<'a>>>,
    /// Some gateways report errors with status 200.
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ModerationResult<'a> {
    #[serde(default)]
    flagged: Option<bool>,
    #[serde(borrow, default)]
    categories: Option<BTreeMap<Cow<'a, str>, Option<bool>>>,
    #[serde(borrow, default)]
    category_scores: Option<BTreeMap<Cow<'a, str>, Option<f64>>>,
}

fn read(answer: &Answer) -> Result<Moderation> {
    let response: ModerationResponse<'_> =
        serde_json::from_slice(&answer.body).map_err(|error| answer.unreadable(error))?;
    if response.error.is_some() {
        return Err(answer.reported());
    }
    let results = response.results.unwrap_or_default();
    if results.is_empty() || results.iter().any(ModerationResult::is_empty) {
        let error = Error::new(ErrorKind::InvalidResponse, "the answer has no verdict");
        return Err(answer.annotate(error));
    }
    let mut violations = BTreeMap::<Cow<'_, str>, f64>::new();
    for (category, score) in results.into_iter().flat_map(ModerationResult::violations) {
        let highest = violations.entry(category).or_insert(score);
        *highest = highest.max(score);
    }
    Ok(Moderation::flagged(violations))
}

impl<'a> ModerationResult<'a> {
    fn is_empty(&self) -> bool {
        self.flagged.is_none() && self.categories.is_none()
    }

    /// Returns the violated categories with their scores. A category without a score gets the score 1.
    fn violations(self) -> Vec<(Cow<'a, str>, f64)> {
        let scores = self.category_scores.unwrap_or_default();
        let score = |category: &str| scores.get(category).copied().flatten().unwrap_or(1.0);
        let categories = self.categories.unwrap_or_default().into_iter();
        let violated = categories.filter(|(_, is_violated)| *is_violated == Some(true));
        let mut violations: Vec<_> = violated
            .map(|(category, _)| {
                let score = score(&category);
                (category, score)
            })
            .collect();
        if violations.is_empty() && self.flagged == Some(true) {
            violations.push((UNNAMED.into(), 1.0));
        }
        violations
    }
}

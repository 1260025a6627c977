//! Recording of requests to a model and its answers.

use super::cassette_file::{CassetteFile, ExistingCassette};
use super::format::{Exchange, Header};
use super::redact::redact_pieces;
use super::request_value;
use ai_services_core::Result;
use ai_services_core::model::{
    Capabilities, ChatModel, ChatRequest, ChatResponse, ModelEndpoint, ModelStreamEvent,
};
use ai_services_core::redaction::Redaction;
use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A model that calls another model and records each exchange in a file, for later use by a
/// [`ReplayModel`](super::ReplayModel).
///
/// The file is a cassette in the JSON Lines format: a header, then one line per exchange, in the order in
/// which the exchanges ended. A request is written without the application's attributes: messages, tools,
/// parameters. Each line is written as soon as its exchange has ended, even with an error. A stream that is
/// dropped before its end is not recorded.
///
/// # Secrets
///
/// Before a line is written, these secrets are replaced by `[redacted]` in all texts, even if a stream
/// spreads them over several pieces:
///
/// * texts passed to [`redact`](RecordingModelBuilder::redact), and texts that a
///   [function](RecordingModelBuilder::redact_with) replaces;
/// * keys and tokens in well-known formats: `sk-…`, `Bearer …`, `AIza…`, `ghp_…`, `xox…`, `AKIA…`,
///   `hf_…`, JSON Web Tokens;
/// * members of [`extra`](ai_services_core::model::ChatRequestParameters::extra) whose names end in `key`,
///   `token`, `secret`, `password`, `authorization` and the like.
///
/// Encoded data, such as the bytes of an image, is not searched. The file is readable only by its owner, on
/// platforms that support this. Still review a cassette before you share it.
///
/// # Errors
///
/// Returns the errors of the model. If a recording cannot be written, the call fails, with the usage of the
/// answer, because a gap in a recording would be noticed too late. Change this with
/// [`write_errors`](RecordingModelBuilder::write_errors).
///
/// # Examples
///
/// ```
/// use ai_services::combinators::{RecordingModel, ReplayModel};
/// use ai_services::message::ChatMessage;
/// use ai_services::model::{ChatModel, ChatRequest};
/// use ai_services::testing::ScriptedChatModel;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// # let path = std::env::temp_dir().join(format!("recording-{}.jsonl", std::process::id()));
/// # let _ = std::fs::remove_file(&path);
/// let request = ChatRequest::new([ChatMessage::user("My PIN is 0815.")]);
/// let model = RecordingModel::builder(ScriptedChatModel::replies(["Keep it."]), &path)
///     .redact("0815")
///     .build();
/// model.chat(&request).await?;
///
/// let replay = ReplayModel::builder().redact("0815").open(&path).await?;
/// assert_eq!(replay.chat(&request).await?.message.text(), Some("Keep it."));
/// # std::fs::remove_file(&path).unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RecordingModel(Arc<Inner>);

struct Inner {
    model: Box<dyn ChatModel>,
    file: CassetteFile,
    redaction: Redaction,
    write_errors: WriteErrorPolicy,
}

/// Reaction to a recording that cannot be written.
///
/// # Examples
///
/// ```
/// use ai_services::combinators::{RecordingModel, WriteErrorPolicy};
/// # use ai_services::testing::ScriptedChatModel;
/// # let model = ScriptedChatModel::replies(["Hi."]);
/// let model = RecordingModel::builder(model, "samples.jsonl")
///     .write_errors(WriteErrorPolicy::Ignore)
///     .build();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteErrorPolicy {
    /// Fails the call.
    #[default]
    Fail,
    /// Returns the answer and logs an error with `tracing`.
    Ignore,
}

impl RecordingModel {
    /// Creates a model that records `model` into the file at `path` and appends to an existing file.
    pub fn new(model: impl ChatModel + 'static, path: impl Into<PathBuf>) -> Self {
        Self::builder(model, path).build()
    }

    /// Starts building a recording of `model` into the file at `path`.
    pub fn builder(
        model: impl ChatModel + 'static,
        path: impl Into<PathBuf>,
    ) -> RecordingModelBuilder {
        RecordingModelBuilder {
            model: Box::new(model),
            path: path.into(),
            redaction: Redaction::default(),
            existing: ExistingCassette::default(),
            write_errors: WriteErrorPolicy::default(),
        }
    }

    /// Writes an exchange and returns its outcome.
    async fn record(
        &self,
        request: &ChatRequest,
        outcome: Result<ChatResponse>,
        pieces: Vec<ModelStreamEvent>,
    ) -> Result<ChatResponse> {
        let Inner { file, redaction, write_errors, .. } = &*self.0;
        let written = match line(redaction, request, &outcome, pieces) {
            Ok(line) => file.append(line).await,
            Err(error) => Err(error),
        };
        match (written, outcome, write_errors) {
            (Ok(()), outcome, _) => outcome,
            (Err(error), Ok(response), WriteErrorPolicy::Fail) => {
                Err(error.with_usage(response.usage))
            }
            // The model's error is more important than the error of the file.
            (Err(error), outcome, _) => {
                tracing::error!(%error, "an exchange could not be recorded");
                outcome
            }
        }
    }
}

fn line(
    redaction: &Redaction,
    request: &ChatRequest,
    outcome: &Result<ChatResponse>,
    mut pieces: Vec<ModelStreamEvent>,
) -> Result<String> {
    redact_pieces(redaction, &mut pieces);
    let mut exchange = Exchange::to_value(request_value(request)?, outcome, pieces)?;
    redaction.line(&mut exchange);
    Ok(format!("{exchange}\n"))
}

#[async_trait]
impl ChatModel for RecordingModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let outcome = self.0.model.chat(request).await;
        self.record(request, outcome, Vec::new()).await
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        let recorded = Some((self.0.model.stream(request), Vec::new()));
        let events = stream::unfold(recorded, move |recorded| async move {
            let (mut events, mut pieces) = recorded?;
            let outcome = match events.next().await? {
                Ok(ModelStreamEvent::Completed(response)) => Ok(*response),
                Err(error) => Err(error),
                Ok(piece) => {
                    pieces.push(piece.clone());
                    return Some((Ok(piece), Some((events, pieces))));
                }
            };
            let outcome = self.record(request, outcome, pieces).await;
            Some((outcome.map(|response| ModelStreamEvent::Completed(Box::new(response))), None))
        });
        events.boxed()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.model.capabilities()
    }

    fn name(&self) -> &str {
        self.0.model.name()
    }

    fn endpoint(&self) -> ModelEndpoint<'_> {
        self.0.model.endpoint()
    }
}

impl fmt::Debug for RecordingModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordingModel").field("model", &self.name()).finish_non_exhaustive()
    }
}

/// Builds a [`RecordingModel`].
#[must_use]
pub struct RecordingModelBuilder {
    model: Box<dyn ChatModel>,
    path: PathBuf,
    redaction: Redaction,
    existing: ExistingCassette,
    write_errors: WriteErrorPolicy,
}

impl RecordingModelBuilder {
    /// Redacts a text everywhere, including as part of another text and inside JSON.
    pub fn redact(mut self, secret: impl Into<String>) -> Self {
        self.redaction.literal(secret.into());
        self
    }

    /// Applies a function to every text before it is written. The function must be deterministic, and must
    /// not change its own output.
    pub fn redact_with(
        mut self,
        function: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        self.redaction.function(function);
        self
    }

    /// Sets the reaction to an existing cassette. Default: [`ExistingCassette::Append`].
    pub fn existing(mut self, existing: ExistingCassette) -> Self {
        self.existing = existing;
        self
    }

    /// Sets the reaction to a recording that cannot be written. Default: [`WriteErrorPolicy::Fail`].
    pub fn write_errors(mut self, policy: WriteErrorPolicy) -> Self {
        self.write_errors = policy;
        self
    }

    /// Builds the model. The file is opened when the first exchange ends.
    #[must_use]
    pub fn build(self) -> RecordingModel {
        let Self { model, path, redaction, existing, write_errors } = self;
        let header = Header::new(&redaction.text(model.name()), model.capabilities());
        let header = serde_json::to_string(&header).unwrap_or_default() + "\n";
        let file = CassetteFile::new(path, existing, header);
        RecordingModel(Arc::new(Inner { model, file, redaction, write_errors }))
    }
}

impl fmt::Debug for RecordingModelBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordingModelBuilder")
            .field("model", &self.model.name())
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

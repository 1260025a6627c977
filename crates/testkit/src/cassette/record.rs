//! Keeping what a model is asked and answers.

use super::format::{Exchange, Header};
use super::redact::Redaction;
use super::request_value;
use super::tape::{ExistingCassette, Tape};
use ai_services_core::Result;
use ai_services_core::model::{
    Capabilities, ChatModel, ChatRequest, ChatResponse, ModelStreamEvent,
};
use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Asks a model, and writes what was asked and answered into a file, for a
/// [`ReplayModel`](super::ReplayModel) to answer from.
///
/// The file is a cassette: lines of JSON, first a header, then one line an exchange, in the order in
/// which they ended. A request is written as the model sees it: messages without the application's
/// attributes, tools, parameters. Each line is written at once when its exchange has ended, also when it
/// ended with an error. A stream that is dropped before its end is not recorded.
///
/// # Secrets
///
/// Before anything is written, these are replaced by `[redacted]` in all texts, also where a stream has
/// them spread over several pieces:
///
/// * what is given to [`redact`](RecordingModelBuilder::redact), and what a
///   [function](RecordingModelBuilder::redact_with) replaces;
/// * keys and tokens of well-known shapes: `sk-…`, `Bearer …`, `AIza…`, `ghp_…`, `xox…`, `AKIA…`,
///   `hf_…`, JSON Web Tokens;
/// * members of [`extra`](ai_services_core::model::ChatRequestParameters::extra) whose names end in `key`, `token`,
///   `secret`, `password`, `authorization` and the like.
///
/// What is encoded, such as the bytes of an image, is not looked into. The file is made readable for its
/// owner only where the platform can. Look at a cassette before you give it away all the same.
///
/// # Errors
///
/// Those of the model. If a recording cannot be written, the call fails, with what the answer had cost:
/// a recording with gaps is found out too late. [`write_errors`](RecordingModelBuilder::write_errors)
/// changes that.
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
    tape: Tape,
    redaction: Redaction,
    write_errors: WriteErrorPolicy,
}

/// What happens when a recording cannot be written.
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
    /// The call fails.
    #[default]
    Fail,
    /// The answer is returned, and the failure is an error of `tracing`.
    Ignore,
}

impl RecordingModel {
    /// Records `model` into the file at `path`, adding to what is there.
    pub fn new(model: impl ChatModel + 'static, path: impl Into<PathBuf>) -> Self {
        Self::builder(model, path).build()
    }

    /// Starts a recording of `model` into the file at `path`.
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

    /// Writes an exchange, and gives back its outcome.
    async fn record(
        &self,
        request: &ChatRequest,
        outcome: Result<ChatResponse>,
        pieces: Vec<ModelStreamEvent>,
    ) -> Result<ChatResponse> {
        let Inner { tape, redaction, write_errors, .. } = &*self.0;
        let written = match line(redaction, request, &outcome, pieces) {
            Ok(line) => tape.append(line).await,
            Err(error) => Err(error),
        };
        match (written, outcome, write_errors) {
            (Ok(()), outcome, _) => outcome,
            (Err(error), Ok(response), WriteErrorPolicy::Fail) => {
                Err(error.with_usage(response.usage))
            }
            // An error of the model says more than that of the file.
            (Err(error), outcome, _) => {
                tracing::error!(%error, "an exchange was not recorded");
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
    redaction.pieces(&mut pieces);
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
    /// Removes a text wherever it stands, also as part of another text and within JSON.
    pub fn redact(mut self, secret: impl Into<String>) -> Self {
        self.redaction.literal(secret.into());
        self
    }

    /// Lets a function change every text before it is written. It has to give the same for the same, and
    /// to leave what it gave as it is.
    pub fn redact_with(
        mut self,
        function: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        self.redaction.function(function);
        self
    }

    /// Sets what happens to a cassette that is there already: it is added to by default.
    pub fn existing(mut self, existing: ExistingCassette) -> Self {
        self.existing = existing;
        self
    }

    /// Sets what happens when the recording cannot be written: the call fails by default.
    pub fn write_errors(mut self, policy: WriteErrorPolicy) -> Self {
        self.write_errors = policy;
        self
    }

    /// The model. The file is opened by the first exchange that ends.
    #[must_use]
    pub fn build(self) -> RecordingModel {
        let Self { model, path, redaction, existing, write_errors } = self;
        let header = Header::new(&redaction.text(model.name()), model.capabilities());
        let header = serde_json::to_string(&header).unwrap_or_default() + "\n";
        let tape = Tape::new(path, existing, header);
        RecordingModel(Arc::new(Inner { model, tape, redaction, write_errors }))
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

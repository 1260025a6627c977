//! A chat model as a guardrail.

mod prompt;
mod verdict;

use ai_services_core::TurnContext;
use ai_services_core::guardrail::{
    InputGuardrail, InputGuardrailRequest, InputVerdict, OnRejection, OutputGuardrail,
    OutputGuardrailRequest, OutputVerdict,
};
use ai_services_core::message::{ChatMessage, Content, UserMessage};
use ai_services_core::model::{
    ChatModel, ChatRequest, ChatRequestParameters, FailedAttempts, ModelUsage, TokenUsage,
};
use ai_services_core::prompt::PromptTemplate;
use ai_services_core::{Error, Result};
use async_trait::async_trait;
use prompt::Prompt;
use std::fmt;
use std::sync::Arc;
use verdict::Verdict;

/// Checks messages and answers against a criterion with a chat model.
///
/// The model receives the criterion and the text, and answers `accept`, or `reject` with a reason. Any other
/// answer fails the call (fail closed). The tokens of the judge count towards the usage and the cost of the
/// call. If an answer is rejected, the model of the service is prompted again with the reason, unless
/// [`on_rejection`](LanguageModelJudgeBuilder::on_rejection) sets another reaction. A rejected message fails
/// the call.
///
/// A small model is sufficient for most criteria, and one criterion per judge works better than several.
/// Judges make mistakes, and the text can manipulate them: texts are marked as data in the prompt, which
/// helps but is not a guarantee.
///
/// As an input guardrail the judge also sends images and other media of the message, so the model has to
/// support them.
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::LanguageModelJudge;
/// use ai_services::testing::ScriptedChatModel;
/// use ai_services::testing::guardrails::check_output;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let model = ScriptedChatModel::replies([
///     r#"{"verdict": "accept"}"#,
///     r#"{"verdict": "reject", "reason": "It recommends another company."}"#,
/// ]);
/// let judge = LanguageModelJudge::builder()
///     .model(model)
///     .criterion("The answer recommends no other company.")
///     .build()?;
/// check_output(&judge, "Gladly.").await.check_success()?;
/// check_output(&judge, "Ask Acme.").await.check_reprompted_with("It recommends another company.")?;
/// # Ok(())
/// # }
/// ```
///
/// A custom prompt, here to find claims that the retrieved texts do not support:
///
/// ```
/// use ai_services::guardrail::{LanguageModelJudge, OnRejection};
/// use ai_services::testing::ScriptedChatModel;
///
/// # let model = ScriptedChatModel::replies([""; 0]);
/// let grounded = LanguageModelJudge::builder()
///     .name("grounded")
///     .model(model)
///     .criterion("Every claim of the text is supported by the sources.")
///     .template("{{criterion}}\n\nSources:\n{{contents}}\n\nText:\n{{text}}")
///     .on_rejection(OnRejection::Fail)
///     .build()?;
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone)]
pub struct LanguageModelJudge(Arc<Inner>);

struct Inner {
    name: Box<str>,
    model: Arc<dyn ChatModel>,
    criterion: Box<str>,
    prompt: Prompt,
    parameters: ChatRequestParameters,
    on_rejection: OnRejection,
}

impl LanguageModelJudge {
    /// Starts building a judge.
    pub fn builder() -> LanguageModelJudgeBuilder {
        LanguageModelJudgeBuilder {
            name: "language_model_judge".into(),
            model: None,
            criterion: "".into(),
            template: None,
            parameters: ChatRequestParameters::new(),
            on_rejection: OnRejection::default(),
        }
    }

    /// Calls the model and reads the verdict. The tokens are counted in any case.
    async fn verdict(&self, message: UserMessage, turn: &TurnContext) -> Result<Verdict> {
        let Inner { name, model, parameters, .. } = &*self.0;
        let parameters = parameters.or(&verdict::parameters(model.capabilities()));
        let request = ChatRequest::builder()
            .system(prompt::SYSTEM)
            .messages([ChatMessage::User(message)])
            .parameters(parameters)
            .build();
        let answer = ai_services_core::trace::chat(&**model, &request).await;
        let response = answer.map_err(|error| count_failed(error, model.name(), turn))?;
        count(response.usage_by_model(model.name()), turn);
        verdict::read(&response, name)
    }

    /// Returns the reason of the model, or a default one.
    fn reason(&self, reason: Option<String>) -> String {
        reason.unwrap_or_else(|| format!("it does not meet the criterion: {}", self.0.criterion))
    }
}

/// Moves the usage of an error to the turn's meter, under the name of the model, which callers do not
/// know.
fn count_failed(error: Error, model: &str, turn: &TurnContext) -> Error {
    // `FailedAttempts` contains the names of its models.
    if error.detail::<FailedAttempts>().is_some() {
        return error;
    }
    count(ModelUsage::of_error(&error, model), turn);
    error.with_usage(TokenUsage::default())
}

/// Adds usages to the turn's meter.
fn count(usages: Vec<ModelUsage>, turn: &TurnContext) {
    for used in usages {
        turn.meter().add(&used.model, used.usage);
    }
}

#[async_trait]
impl InputGuardrail for LanguageModelJudge {
    async fn check(&self, request: InputGuardrailRequest<'_>) -> Result<InputVerdict> {
        let Inner { criterion, prompt, on_rejection, .. } = &*self.0;
        let text = prompt.of_input(criterion, &request)?;
        let contents = request.user_message.contents().iter();
        let media = contents.filter(|content| content.text().is_none()).cloned();
        let message = UserMessage::from_contents([Content::from(text)].into_iter().chain(media));
        Ok(match self.verdict(message, request.turn).await? {
            Verdict::Accept => InputVerdict::Success,
            Verdict::Reject(reason) => {
                on_rejection.input(format!("the message was rejected: {}", self.reason(reason)))
            }
        })
    }

    fn name(&self) -> &str {
        &self.0.name
    }
}

#[async_trait]
impl OutputGuardrail for LanguageModelJudge {
    async fn check(&self, request: OutputGuardrailRequest<'_>) -> Result<OutputVerdict> {
        let Inner { criterion, prompt, on_rejection, .. } = &*self.0;
        let message = UserMessage::new(prompt.of_output(criterion, &request)?);
        Ok(match self.verdict(message, request.turn).await? {
            Verdict::Accept => OutputVerdict::Success,
            Verdict::Reject(reason) => {
                let reason = self.reason(reason);
                let prompt = || {
                    format!(
                        "Your answer was rejected: {reason}\nAnswer again, so that it meets this criterion: {criterion}"
                    )
                };
                on_rejection.output(format!("the answer was rejected: {reason}"), prompt)
            }
        })
    }

    fn name(&self) -> &str {
        &self.0.name
    }
}

impl fmt::Debug for LanguageModelJudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LanguageModelJudge")
            .field("name", &self.0.name)
            .field("model", &self.0.model.name())
            .field("on_rejection", &self.0.on_rejection)
            .finish_non_exhaustive()
    }
}

/// Builds a [`LanguageModelJudge`].
#[must_use]
pub struct LanguageModelJudgeBuilder {
    name: Box<str>,
    model: Option<Arc<dyn ChatModel>>,
    criterion: Box<str>,
    template: Option<Box<str>>,
    parameters: ChatRequestParameters,
    on_rejection: OnRejection,
}

impl LanguageModelJudgeBuilder {
    /// Sets the name in errors, events and traces, to distinguish several judges. Default:
    /// `language_model_judge`.
    pub fn name(mut self, name: impl Into<Box<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the chat model. Required.
    pub fn model(mut self, model: impl ChatModel + 'static) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// Sets the criterion: a statement that is true for acceptable texts. Required.
    pub fn criterion(mut self, criterion: impl Into<Box<str>>) -> Self {
        self.criterion = criterion.into();
        self
    }

    /// Sets the template of the prompt. The system message, which describes the format of the verdict, is not
    /// replaced.
    ///
    /// The template has to contain `{{criterion}}` and `{{text}}`, the text to judge. It may contain
    /// `{{question}}`, the user message, and `{{contents}}`, the retrieved texts. All values except the
    /// criterion are put between lines of tildes, longer than any row of tildes in the value.
    pub fn template(mut self, template: impl Into<Box<str>>) -> Self {
        self.template = Some(template.into());
        self
    }

    /// Sets parameters of the requests. Default: the strictest response format that the model supports, and
    /// the model's own defaults otherwise.
    pub fn parameters(mut self, parameters: ChatRequestParameters) -> Self {
        self.parameters = parameters;
        self
    }

    /// Sets the reaction to a rejected text. Default: [`OnRejection::Reprompt`].
    pub fn on_rejection(mut self, on_rejection: OnRejection) -> Self {
        self.on_rejection = on_rejection;
        self
    }

    /// Builds the judge.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if the model or the criterion
    /// is missing, or if the template lacks a required variable or contains an unknown one;
    /// [`ErrorKind::Prompt`](ai_services_core::ErrorKind::Prompt) if the template is malformed.
    pub fn build(self) -> Result<LanguageModelJudge> {
        let Self { name, model, criterion, template, parameters, on_rejection } = self;
        let model = model
            .ok_or_else(|| Error::configuration("a judge needs a model; call `.model(...)`"))?;
        if criterion.trim().is_empty() {
            return Err(Error::configuration("a judge needs a criterion; call `.criterion(...)`"));
        }
        let prompt = match template {
            Some(template) => Prompt::checked(PromptTemplate::parse(&template)?)?,
            None => Prompt::built_in()?,
        };
        let inner = Inner { name, model, criterion, prompt, parameters, on_rejection };
        Ok(LanguageModelJudge(Arc::new(inner)))
    }
}

impl fmt::Debug for LanguageModelJudgeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LanguageModelJudgeBuilder")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

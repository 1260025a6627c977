//! A chat model that judges messages and answers.

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

/// Asks a chat model whether a message or an answer meets a criterion.
///
/// The model is told the criterion and the text, and says `accept`, or `reject` with a reason. If it
/// says anything else, the call fails: nothing is let through unjudged. Its tokens count for the usage
/// and the cost of the call. A rejected answer is asked for again, with the reason, unless
/// [`on_rejection`](LanguageModelJudgeBuilder::on_rejection) says otherwise; a rejected message fails
/// the call.
///
/// A small model is enough for most criteria, and one criterion a judge works better than several.
/// Models that judge can be wrong, and can be talked over by what they judge: texts are fenced off as
/// data and the judge is told so, which helps but proves nothing.
///
/// As an input guardrail it hands on images and other media of the message, so the model has to be able
/// to read them.
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
/// A prompt of your own, here to find claims that nothing retrieved supports:
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
    /// Starts a judge.
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

    /// Asks the model; the tokens are counted whatever it says.
    async fn ask(&self, message: UserMessage, turn: &TurnContext) -> Result<Verdict> {
        let Inner { name, model, parameters, .. } = &*self.0;
        let parameters = parameters.or(&verdict::parameters(model.capabilities()));
        let request = ChatRequest::builder()
            .system(prompt::SYSTEM)
            .messages([ChatMessage::User(message)])
            .parameters(parameters)
            .build();
        let answer = model.chat(&request).await;
        let response = answer.map_err(|error| settled(error, model.name(), turn))?;
        count(ModelUsage::of_response(&response, model.name()), turn);
        verdict::read(&response, name)
    }

    fn reason(&self, reason: Option<String>) -> String {
        reason.unwrap_or_else(|| format!("it does not meet the criterion: {}", self.0.criterion))
    }
}

/// Moves what an error had cost to the turn's meter, under the name of the model: whoever handles the
/// error does not know it.
fn settled(error: Error, model: &str, turn: &TurnContext) -> Error {
    // Failed attempts name their models themselves.
    if error.detail::<FailedAttempts>().is_some() {
        return error;
    }
    count(ModelUsage::of_error(&error, model), turn);
    error.with_usage(TokenUsage::default())
}

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
        Ok(match self.ask(message, request.turn).await? {
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
        Ok(match self.ask(message, request.turn).await? {
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
    /// Sets the name in errors, events and traces, so that several judges can be told apart;
    /// `language_model_judge` by default.
    pub fn name(mut self, name: impl Into<Box<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the model that judges. Required.
    pub fn model(mut self, model: impl ChatModel + 'static) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// Sets what a text has to be like, as a statement about it. Required.
    pub fn criterion(mut self, criterion: impl Into<Box<str>>) -> Self {
        self.criterion = criterion.into();
        self
    }

    /// Sets the prompt. What the model may answer is told in the system message and stays.
    ///
    /// The template has to contain `{{criterion}}` and `{{text}}`, which is what is judged. It may
    /// contain `{{question}}`, what the user said, and `{{contents}}`, what was retrieved. All but the
    /// criterion are put between lines of tildes, more of them than any text contains in a row.
    pub fn template(mut self, template: impl Into<Box<str>>) -> Self {
        self.template = Some(template.into());
        self
    }

    /// Sets parameters of the requests. By default the answer's form is asked for as strictly as the
    /// model can, and all else is left to the model.
    pub fn parameters(mut self, parameters: ChatRequestParameters) -> Self {
        self.parameters = parameters;
        self
    }

    /// Sets what becomes of what is rejected.
    pub fn on_rejection(mut self, on_rejection: OnRejection) -> Self {
        self.on_rejection = on_rejection;
        self
    }

    /// The judge.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a model or a criterion, and
    /// for a template that lacks a variable or has one that nothing fills;
    /// [`ErrorKind::Prompt`](ai_services_core::ErrorKind::Prompt) for a malformed template.
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

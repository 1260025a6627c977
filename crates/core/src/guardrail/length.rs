//! A limit on the length of messages and answers.

use super::{
    InputGuardrail, InputGuardrailRequest, InputVerdict, OnRejection, OutputGuardrail,
    OutputGuardrailRequest, OutputVerdict,
};
use crate::error::Result;
use crate::message::Content;
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;

/// A function that returns the length of a text.
type Measure = dyn Fn(&str) -> usize + Send + Sync;

/// Rejects messages and answers that are too long.
///
/// As an input guardrail it measures all texts of the user message together. As an output guardrail it
/// measures the text of the answer, and prompts the model for a shorter answer unless
/// [`on_rejection`](Self::on_rejection) sets another reaction. Images, other media and retrieved texts
/// are not measured.
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::MaxLength;
/// use ai_services::memory::{ApproximateCounter, TokenCountEstimator};
/// use ai_services::testing::guardrails::check_input;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let characters = MaxLength::characters(5);
/// check_input(&characters, "Grüße").await.check_success()?;
/// let long = check_input(&characters, "Grüße!").await;
/// long.check_rejected_because("has 6 characters; at most 5 are allowed")?;
///
/// let counter = ApproximateCounter;
/// let tokens = MaxLength::counted(1_000, "tokens", move |text| counter.count_text(text));
/// check_input(&tokens, "Hello!").await.check_success()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct MaxLength {
    max: usize,
    unit: Box<str>,
    measure: Arc<Measure>,
    on_rejection: OnRejection,
}

impl MaxLength {
    /// Creates a limit in characters: Unicode scalar values, not bytes.
    #[must_use]
    pub fn characters(max: usize) -> Self {
        Self::counted(max, "characters", |text| text.chars().count())
    }

    /// Creates a limit in units that a function counts, for example tokens.
    ///
    /// `unit` is the plural name of the unit in error messages. The function must not block for long.
    #[must_use]
    pub fn counted(
        max: usize,
        unit: impl Into<Box<str>>,
        count: impl Fn(&str) -> usize + Send + Sync + 'static,
    ) -> Self {
        let (unit, measure) = (unit.into(), Arc::new(count));
        Self { max, unit, measure, on_rejection: OnRejection::default() }
    }

    /// Sets the reaction to an answer that is too long. Default: [`OnRejection::Reprompt`], which
    /// prompts the model for a shorter answer.
    #[must_use]
    pub fn on_rejection(mut self, on_rejection: OnRejection) -> Self {
        self.on_rejection = on_rejection;
        self
    }

    /// Returns the reason if a text of this length is too long.
    fn objection(&self, subject: &str, length: usize) -> Option<String> {
        let Self { max, unit, .. } = self;
        (length > *max).then(|| format!("{subject} has {length} {unit}; at most {max} are allowed"))
    }
}

#[async_trait]
impl InputGuardrail for MaxLength {
    async fn check(&self, request: InputGuardrailRequest<'_>) -> Result<InputVerdict> {
        let texts = request.user_message.contents().iter().filter_map(Content::text);
        let length = texts.map(|text| (self.measure)(text)).fold(0, usize::saturating_add);
        Ok(match self.objection("the message", length) {
            Some(reason) => self.on_rejection.input(reason),
            None => InputVerdict::Success,
        })
    }

    fn name(&self) -> &str {
        "max_length"
    }
}

#[async_trait]
impl OutputGuardrail for MaxLength {
    async fn check(&self, request: OutputGuardrailRequest<'_>) -> Result<OutputVerdict> {
        let length = (self.measure)(request.text());
        let Some(reason) = self.objection("the answer", length) else {
            return Ok(OutputVerdict::Success);
        };
        let Self { max, unit, .. } = self;
        let prompt = || {
            format!(
                "Your answer was too long: it had {length} {unit}. Answer again with at most {max} {unit}."
            )
        };
        Ok(self.on_rejection.output(reason, prompt))
    }

    fn name(&self) -> &str {
        "max_length"
    }
}

impl fmt::Debug for MaxLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaxLength")
            .field("max", &self.max)
            .field("unit", &self.unit)
            .field("on_rejection", &self.on_rejection)
            .finish_non_exhaustive()
    }
}

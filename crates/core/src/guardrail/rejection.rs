//! The error details of calls that guardrails rejected.

use crate::error::{Error, ErrorKind};
use std::fmt;

/// The kind of message that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GuardrailStage {
    /// The user message.
    Input,
    /// The answer of the model.
    Output,
}

/// The objections of guardrails: the [detail](Error::detail) of errors of [`ErrorKind::Guardrail`].
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::Rejection;
///
/// fn report(error: &ai_services::Error) {
///     if let Some(rejection) = error.detail::<Rejection>() {
///         for objection in &rejection.objections {
///             eprintln!("{}: {}", objection.guardrail, objection.reason);
///         }
///     }
/// }
/// # let _ = report;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "InputGuardrailException")]
#[doc(alias = "OutputGuardrailException")]
pub struct Rejection {
    /// The kind of message that was rejected.
    pub stage: GuardrailStage,
    /// The guardrails that objected and their reasons, in the order of the guardrails. At least one.
    pub objections: Vec<Objection>,
}

/// The objection of one guardrail.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Objection {
    /// The name of the guardrail.
    pub guardrail: Box<str>,
    /// The reason.
    pub reason: Box<str>,
}

impl Objection {
    #[doc(hidden)]
    #[must_use]
    pub fn new(guardrail: &str, reason: Box<str>) -> Self {
        Self { guardrail: guardrail.into(), reason }
    }
}

impl Rejection {
    #[doc(hidden)]
    #[must_use]
    pub fn new(stage: GuardrailStage, objections: Vec<Objection>) -> Self {
        Self { stage, objections }
    }

    #[doc(hidden)]
    pub fn into_error(self) -> Error {
        Error::new(ErrorKind::Guardrail, self.to_string()).with_source(self)
    }

    /// Returns the error of an answer that is still rejected after this number of retries.
    #[doc(hidden)]
    pub fn into_error_after(self, retries: usize) -> Error {
        let text = match retries {
            0 => format!("{self}; `max_guardrail_retries` is 0, so the model is not called again"),
            1 => format!("{self}; the model had been called again once"),
            _ => format!("{self}; the model had been called again {retries} times"),
        };
        Error::new(ErrorKind::Guardrail, text).with_source(self)
    }
}

/// Writes the names of the guardrails with their reasons.
impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.stage {
            GuardrailStage::Input => "the user message was rejected by ",
            GuardrailStage::Output => "the answer was rejected by ",
        })?;
        for (index, Objection { guardrail, reason }) in self.objections.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}`{guardrail}` ({reason})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Rejection {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejection_names_guardrails_and_reasons() {
        let objections = vec![
            Objection::new("length", "too long".into()),
            Objection::new("tone", "rude".into()),
        ];
        let rejection = Rejection::new(GuardrailStage::Input, objections);
        let error = rejection.clone().into_error();
        assert_eq!(error.kind(), ErrorKind::Guardrail);
        assert_eq!(
            error.to_string(),
            "the user message was rejected by `length` (too long), `tone` (rude)"
        );
        assert_eq!(error.detail::<Rejection>(), Some(&rejection));
        assert!(!error.is_retryable());
    }

    #[test]
    fn error_contains_the_number_of_retries() {
        let text = |retries| {
            let objections = vec![Objection::new("tone", "rude".into())];
            Rejection::new(GuardrailStage::Output, objections).into_error_after(retries).to_string()
        };
        assert!(text(0).contains("`max_guardrail_retries` is 0"), "{}", text(0));
        assert!(text(1).ends_with("called again once"), "{}", text(1));
        assert!(text(2).ends_with("called again 2 times"), "{}", text(2));
    }
}

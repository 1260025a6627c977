//! The effects of calls without a result.

/// The effect of a call without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LostEffect {
    None,
    /// The call may or may not have taken effect.
    Unknown,
    /// As [`Unknown`](Self::Unknown), and a call with the same arguments has the same idempotency key.
    Repeatable,
}

impl LostEffect {
    /// Returns `true` if the call may or may not have taken effect.
    pub(super) fn is_unknown(self) -> bool {
        self != Self::None
    }

    /// Returns the result for the model.
    pub(super) fn result(self, reason: &str) -> String {
        let advice = match self {
            Self::None => {
                return format!(
                    "{reason}. A check found no effect of the call. It may be repeated."
                );
            }
            Self::Unknown => "Do not repeat it without a check that it had no effect.",
            Self::Repeatable => "A call with the same arguments has no second effect.",
        };
        format!(
            "outcome unknown: {reason}. The call may or may not have taken effect, and was not repeated. {advice}"
        )
    }

    /// Returns the end of the text of an error.
    pub(super) fn note(self) -> &'static str {
        match self {
            Self::None => "; a check found no effect of the call",
            Self::Unknown | Self::Repeatable => "; the call may or may not have taken effect",
        }
    }
}

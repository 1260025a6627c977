//! The progress of tool calls.

/// The progress of a running tool.
///
/// It has the shape of a progress notification of the Model Context Protocol.
///
/// # Examples
///
/// ```
/// use ai_services::tool::ToolProgress;
///
/// let progress = ToolProgress::new(3.0).with_total(10.0).with_message("reading page 3");
/// assert_eq!(progress.total, Some(10.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolProgress {
    /// The work that is done, in units of the tool. It should increase with each report.
    pub completed: f64,
    /// The whole work in the same units, if it is known.
    pub total: Option<f64>,
    /// A text for the user. Guardrails do not check it.
    pub message: Option<String>,
}

impl ToolProgress {
    /// Creates a progress without a total and a message.
    #[must_use]
    pub fn new(completed: f64) -> Self {
        Self { completed, total: None, message: None }
    }

    /// Sets the whole work, in the units of [`completed`](Self::completed).
    #[must_use]
    pub fn with_total(mut self, total: f64) -> Self {
        self.total = Some(total);
        self
    }

    /// Sets a text for the user.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Returns the progress without numbers that are not finite. `None` if the work that is done is not finite.
    pub(super) fn finite(mut self) -> Option<Self> {
        self.total = self.total.filter(|total| total.is_finite());
        self.completed.is_finite().then_some(self)
    }
}

//! The error of answers that could not be read.

use std::fmt;

/// An answer that is not a value of the expected type: the [detail](crate::Error::detail) of errors of
/// kind [`Output`](crate::ErrorKind::Output).
///
/// The `Display` form is `path: reason` and quotes at most one value of the answer.
///
/// # Examples
///
/// ```
/// use ai_services::message::AiMessage;
/// use ai_services::model::ChatResponse;
/// use ai_services::output::{Output, UnreadableAnswer};
///
/// let response = ChatResponse::new(AiMessage::new(r#"{"values": [1, "many"]}"#));
/// let error = Vec::<u32>::from_response(&response, &Vec::<u32>::shape()).unwrap_err();
/// let unreadable = error.detail::<UnreadableAnswer>().unwrap();
/// assert_eq!(unreadable.path(), "values[1]");
/// assert_eq!(unreadable.reason(), r#"expected u32, found "many""#);
/// assert_eq!(unreadable.text(), r#"{"values": [1, "many"]}"#);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct UnreadableAnswer {
    path: Box<str>,
    reason: Box<str>,
    text: Box<str>,
}

impl UnreadableAnswer {
    pub(super) fn new(
        path: impl Into<Box<str>>,
        reason: impl Into<Box<str>>,
        text: impl Into<Box<str>>,
    ) -> Self {
        Self { path: path.into(), reason: reason.into(), text: text.into() }
    }

    /// Returns the path of the wrong value in the JSON, for example `items[2].qty`. Empty if the answer is
    /// not JSON, or if the whole value is wrong.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the mistake, for example `expected u32, found "many"`.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns the whole answer.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for UnreadableAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.reason)
    }
}

impl fmt::Debug for UnreadableAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Maximum number of characters of the answer in the `Debug` form.
        const MAX_CHARS: usize = 200;
        let excerpt: String = self.text.chars().take(MAX_CHARS).collect();
        f.debug_struct("UnreadableAnswer")
            .field("path", &self.path)
            .field("reason", &self.reason)
            .field("text", &excerpt)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for UnreadableAnswer {}

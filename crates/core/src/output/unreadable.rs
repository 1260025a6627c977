//! Why an answer could not be read.

use std::fmt;

/// An answer that is not the value it should be: the [detail](crate::Error::detail) of errors of
/// kind [`Output`](crate::ErrorKind::Output).
///
/// Its text is `path: reason` and quotes no more of the answer than one value.
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

    /// Where in the JSON it is wrong, for example `items[2].qty`; empty if it is no JSON, or wrong as
    /// a whole.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong, for example `expected u32, found "many"`.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The whole answer.
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
        /// Characters of the answer that are shown.
        const SHOWN: usize = 200;
        let shown: String = self.text.chars().take(SHOWN).collect();
        f.debug_struct("UnreadableAnswer")
            .field("path", &self.path)
            .field("reason", &self.reason)
            .field("text", &shown)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for UnreadableAnswer {}

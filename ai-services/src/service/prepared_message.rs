//! The user message of one turn, in all its forms.

use super::remembered::Remembered;
use crate::message::UserMessage;

/// The user message of one turn, in all its forms. A later form is made from the one before it.
pub(super) struct PreparedMessage<'a> {
    /// The rendered prompt, as the caller wrote it.
    original: &'a UserMessage,
    /// The message after the input guardrails, if there are any.
    guarded: Option<UserMessage>,
    /// The message with the retrieved content, if there is any.
    augmented: Option<UserMessage>,
    /// The message with instructions on the form of the answer, if the model needs them.
    instructed: Option<UserMessage>,
}

impl<'a> PreparedMessage<'a> {
    pub(super) fn new(original: &'a UserMessage) -> Self {
        Self { original, guarded: None, augmented: None, instructed: None }
    }

    pub(super) fn with_guarded(self, guarded: Option<UserMessage>) -> Self {
        Self { guarded, ..self }
    }

    pub(super) fn with_augmented(self, augmented: Option<UserMessage>) -> Self {
        Self { augmented, ..self }
    }

    pub(super) fn with_instructed(self, instructed: Option<UserMessage>) -> Self {
        Self { instructed, ..self }
    }

    /// Returns the message with the retrieved content, if there is any.
    pub(super) fn if_augmented(&self) -> Option<&UserMessage> {
        self.augmented.as_ref()
    }

    /// Returns the message with instructions on the form of the answer, if there are any.
    pub(super) fn if_instructed(&self) -> Option<&UserMessage> {
        self.instructed.as_ref()
    }

    /// Returns the message without retrieved content and instructions.
    pub(super) fn guarded(&self) -> &UserMessage {
        self.guarded.as_ref().unwrap_or(self.original)
    }

    /// Returns the message with the retrieved content, but without instructions.
    pub(super) fn augmented(&self) -> &UserMessage {
        self.augmented.as_ref().unwrap_or_else(|| self.guarded())
    }

    /// Returns the message for the model.
    pub(super) fn to_send(&self) -> &UserMessage {
        self.instructed.as_ref().unwrap_or_else(|| self.augmented())
    }

    /// Returns the message for the memory.
    pub(super) fn to_remember(&self, remembered: Remembered) -> &UserMessage {
        match remembered {
            Remembered::UserMessage => self.guarded(),
            Remembered::AugmentedMessage => self.augmented(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Option<UserMessage> {
        Some(UserMessage::new(text))
    }

    fn texts(prepared: &PreparedMessage<'_>) -> [String; 3] {
        let forms = [
            prepared.to_send(),
            prepared.to_remember(Remembered::UserMessage),
            prepared.to_remember(Remembered::AugmentedMessage),
        ];
        forms.map(|form| form.text().unwrap_or_default().to_owned())
    }

    #[test]
    fn unchanged_message_has_one_form() {
        let original = UserMessage::new("original");
        let prepared = PreparedMessage::new(&original);
        assert_eq!(texts(&prepared), ["original"; 3]);
        assert!(std::ptr::eq(prepared.to_send(), prepared.to_remember(Remembered::default())));
    }

    #[test]
    fn instructions_are_sent_but_not_remembered() {
        let original = UserMessage::new("original");
        let prepared = PreparedMessage::new(&original).with_instructed(message("instructed"));
        assert_eq!(texts(&prepared), ["instructed", "original", "original"]);
    }

    #[test]
    fn each_form_replaces_the_one_before() {
        let original = UserMessage::new("original");
        let prepared = PreparedMessage::new(&original)
            .with_guarded(message("guarded"))
            .with_augmented(message("augmented"));
        assert_eq!(texts(&prepared), ["augmented", "guarded", "augmented"]);
        let prepared = prepared.with_instructed(message("instructed"));
        assert_eq!(texts(&prepared), ["instructed", "guarded", "augmented"]);
    }
}

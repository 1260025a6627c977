//! Messages that do not come from a model: system, user, custom.

use super::Attributes;
use super::cache::{Cached, Shared};
use super::content::{Content, Contents};
use std::borrow::Cow;

/// Instructions of the application to the model.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemMessage(Shared<Box<str>>);

impl SystemMessage {
    /// A system message.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(Shared::new(text.into()))
    }

    /// The instructions.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    pub(super) fn cached(&self) -> &Cached {
        self.0.cached()
    }
}

/// What the person said: one text, or several parts in order.
///
/// # Examples
///
/// ```
/// use ai_services::message::{Content, UserMessage};
///
/// let message = UserMessage::from_contents([
///     Content::from("What is on this picture?"),
///     Content::image_url("https://example.org/cat.png"),
/// ])
/// .with_name("Klaus");
/// assert_eq!(message.text(), None);
/// assert_eq!(message.contents().len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct UserMessage(Shared<User>);

#[derive(Clone, Debug, PartialEq)]
struct User {
    contents: Contents,
    name: Option<Box<str>>,
    attributes: Option<Box<Attributes>>,
}

impl UserMessage {
    /// A message of one text.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self::of(Contents::text(text))
    }

    /// A message of several parts, in this order.
    #[must_use]
    pub fn from_contents(contents: impl IntoIterator<Item = Content>) -> Self {
        Self::of(contents.into_iter().collect())
    }

    fn of(contents: Contents) -> Self {
        Self(Shared::new(User { contents, name: None, attributes: None }))
    }

    /// The same message, said by `name`.
    #[must_use]
    pub fn with_name(self, name: impl Into<Box<str>>) -> Self {
        Self(Shared::new(User { name: Some(name.into()), ..self.0.into_data() }))
    }

    /// The same message with application data.
    #[must_use]
    pub fn with_attributes(self, attributes: Attributes) -> Self {
        let attributes = Some(attributes).filter(|a| !a.is_empty()).map(Box::new);
        Self(Shared::new(User { attributes, ..self.0.into_data() }))
    }

    /// The text, if the message consists of one text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.0.contents.single_text()
    }

    /// All texts of the message, joined by line breaks; `None` if there are none.
    pub(crate) fn joined_text(&self) -> Option<Cow<'_, str>> {
        if let Some(text) = self.text() {
            return Some(Cow::Borrowed(text));
        }
        let texts: Vec<&str> = self.contents().iter().filter_map(Content::text).collect();
        (!texts.is_empty()).then(|| Cow::Owned(texts.join("\n")))
    }

    /// All parts in order.
    #[must_use]
    pub fn contents(&self) -> &[Content] {
        self.0.contents.as_slice()
    }

    /// The name of the person.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// The application's data.
    #[must_use]
    pub fn attributes(&self) -> Option<&Attributes> {
        self.0.attributes.as_deref()
    }

    pub(super) fn cached(&self) -> &Cached {
        self.0.cached()
    }
}

/// A message of a kind that only one model knows.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomMessage(Shared<Attributes>);

impl CustomMessage {
    /// A message with these attributes.
    #[must_use]
    pub fn new(attributes: Attributes) -> Self {
        Self(Shared::new(attributes))
    }

    /// What the message consists of.
    #[must_use]
    pub fn attributes(&self) -> &Attributes {
        &self.0
    }

    pub(super) fn cached(&self) -> &Cached {
        self.0.cached()
    }
}

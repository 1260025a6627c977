//! Messages that do not come from a model: system, user, custom.

use super::Attributes;
use super::cache::{Cached, SharedData};
use super::content::{Content, Contents};
use std::borrow::Cow;

/// Instructions of the application to the model.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemMessage(SharedData<Box<str>>);

impl SystemMessage {
    /// Creates a system message.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(SharedData::new(text.into()))
    }

    /// Returns the text of the instructions.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    pub(super) fn cached(&self) -> &Cached {
        self.0.cached()
    }
}

/// A message of the user: one text, or several parts in order.
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
pub struct UserMessage(SharedData<UserData>);

#[derive(Clone, Debug, PartialEq)]
struct UserData {
    contents: Contents,
    rest: Option<Box<RareFields>>,
}

/// Fields that few messages have, behind a pointer of their own.
#[derive(Clone, Debug, Default, PartialEq)]
struct RareFields {
    name: Option<Box<str>>,
    attributes: Attributes,
}

impl UserMessage {
    /// Creates a message with one text.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self::of(Contents::text(text))
    }

    /// Creates a message with several parts, in this order.
    #[must_use]
    pub fn from_contents(contents: impl IntoIterator<Item = Content>) -> Self {
        Self::of(contents.into_iter().collect())
    }

    fn of(contents: Contents) -> Self {
        Self(SharedData::new(UserData { contents, rest: None }))
    }

    /// Sets the name of the user.
    #[must_use]
    pub fn with_name(self, name: impl Into<Box<str>>) -> Self {
        self.with_rest(|rest| rest.name = Some(name.into()))
    }

    /// Sets the application's data.
    #[must_use]
    pub fn with_attributes(self, attributes: Attributes) -> Self {
        self.with_rest(|rest| rest.attributes = attributes)
    }

    fn with_rest(self, change: impl FnOnce(&mut RareFields)) -> Self {
        let UserData { contents, rest } = self.0.into_data();
        let mut rest = rest.unwrap_or_default();
        change(&mut rest);
        let rest = Some(rest).filter(|rest| rest.name.is_some() || !rest.attributes.is_empty());
        Self(SharedData::new(UserData { contents, rest }))
    }

    /// Returns the text, if the message consists of a single text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.0.contents.single_text()
    }

    /// Returns all texts of the message, joined by line breaks; `None` without any text.
    #[doc(hidden)]
    pub fn joined_text(&self) -> Option<Cow<'_, str>> {
        if let Some(text) = self.text() {
            return Some(Cow::Borrowed(text));
        }
        let texts: Vec<&str> = self.contents().iter().filter_map(Content::text).collect();
        (!texts.is_empty()).then(|| Cow::Owned(texts.join("\n")))
    }

    /// Returns all parts in order.
    #[must_use]
    pub fn contents(&self) -> &[Content] {
        self.0.contents.as_slice()
    }

    /// Returns the name of the user.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.0.rest.as_ref()?.name.as_deref()
    }

    /// Returns the application's data.
    #[must_use]
    pub fn attributes(&self) -> Option<&Attributes> {
        self.0.rest.as_ref().map(|rest| &rest.attributes).filter(|a| !a.is_empty())
    }

    pub(super) fn cached(&self) -> &Cached {
        self.0.cached()
    }
}

/// A message of a kind that only a particular model supports.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomMessage(SharedData<Attributes>);

impl CustomMessage {
    /// Creates a message with these attributes.
    #[must_use]
    pub fn new(attributes: Attributes) -> Self {
        Self(SharedData::new(attributes))
    }

    /// Returns the attributes, which are the whole content of the message.
    #[must_use]
    pub fn attributes(&self) -> &Attributes {
        &self.0
    }

    pub(super) fn cached(&self) -> &Cached {
        self.0.cached()
    }
}

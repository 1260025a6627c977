//! Parts of a user message.

use super::value::Variable;
use crate::message::ToContents;
use std::fmt::{self, Display};

/// The argument of a `#[user_message]` parameter.
pub enum Part<'a> {
    /// A text.
    Text(Variable<'a>),
    /// Any number of contents.
    Contents(&'a dyn ToContents),
}

impl<'a> Part<'a> {
    #[doc(hidden)]
    pub fn text<T: UserPart>(value: &'a T) -> Self {
        Self::Text(Variable::of(value.as_display()))
    }

    #[doc(hidden)]
    pub fn contents(value: &'a impl ToContents) -> Self {
        Self::Contents(value)
    }
}

impl fmt::Debug for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Part")
    }
}

/// A type for `#[user_message]` parameters: implements [`Display`] for text, or [`ToContents`] for images
/// and other contents.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a user message",
    label = "neither text nor content",
    note = "text is anything that prints itself with `std::fmt::Display`",
    note = "content is a `Content`, `ImageContent`, `AudioContent`, `VideoContent` or `PdfContent`, or a list, an option or a reference of these"
)]
pub trait UserPart {
    #[doc(hidden)]
    fn as_display(&self) -> &dyn Display;
}

#[diagnostic::do_not_recommend]
impl<T: Display> UserPart for T {
    fn as_display(&self) -> &dyn Display {
        self
    }
}

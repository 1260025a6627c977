//! Conversion of values into parts of a message.

use super::{AudioContent, Content, ImageContent, PdfContent, VideoContent};
use std::sync::Arc;

/// A value that can be converted into parts of a message.
///
/// Implemented for [`Content`], [`ImageContent`], [`AudioContent`], [`VideoContent`],
/// [`PdfContent`], and for lists, options and references of these. A value of this kind can be a
/// `#[user_message]` parameter of an AI service, and the result of a
/// `#[tool]`. Implement the trait for your own types to send them to a model.
///
/// # Examples
///
/// ```
/// use ai_services::message::{Content, ImageContent, ToContents};
///
/// struct Photo { caption: String, url: String }
///
/// impl ToContents for Photo {
///     fn append_to(&self, contents: &mut Vec<Content>) {
///         contents.push(Content::from(&*self.caption));
///         contents.push(ImageContent::url(&*self.url).into());
///     }
/// }
///
/// let album = vec![Photo { caption: "A cat".into(), url: "https://example.org/cat.png".into() }];
/// assert_eq!(album.to_contents().len(), 2);
/// ```
pub trait ToContents {
    /// Appends the parts, in order.
    fn append_to(&self, contents: &mut Vec<Content>);

    /// Returns the parts, in order.
    fn to_contents(&self) -> Vec<Content> {
        let mut contents = Vec::new();
        self.append_to(&mut contents);
        contents
    }
}

impl ToContents for Content {
    fn append_to(&self, contents: &mut Vec<Content>) {
        contents.push(self.clone());
    }
}

macro_rules! one_part {
    ($($name:ident),*) => {$(
        impl ToContents for $name {
            fn append_to(&self, contents: &mut Vec<Content>) {
                contents.push(self.clone().into());
            }
        }
    )*};
}

one_part!(ImageContent, AudioContent, VideoContent, PdfContent);

impl<T: ToContents> ToContents for [T] {
    fn append_to(&self, contents: &mut Vec<Content>) {
        for part in self {
            part.append_to(contents);
        }
    }
}

impl<T: ToContents, const N: usize> ToContents for [T; N] {
    fn append_to(&self, contents: &mut Vec<Content>) {
        self.as_slice().append_to(contents);
    }
}

impl<T: ToContents> ToContents for Vec<T> {
    fn append_to(&self, contents: &mut Vec<Content>) {
        self.as_slice().append_to(contents);
    }
}

impl<T: ToContents> ToContents for Option<T> {
    fn append_to(&self, contents: &mut Vec<Content>) {
        self.as_slice().append_to(contents);
    }
}

macro_rules! pointer {
    ($($pointer:ty),*) => {$(
        impl<T: ToContents + ?Sized> ToContents for $pointer {
            fn append_to(&self, contents: &mut Vec<Content>) {
                (**self).append_to(contents);
            }
        }
    )*};
}

pointer!(&T, Box<T>, Arc<T>);

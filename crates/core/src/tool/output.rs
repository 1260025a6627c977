//! What tools return.

use super::error::ToolError;
use crate::message::{
    Attributes, AudioContent, Content, ImageContent, Media, PdfContent, ToContents, VideoContent,
};
use serde::Serialize;
use serde_json::Value;

/// What a tool tells the model: text, images, or both.
///
/// # Examples
///
/// ```
/// use ai_services::message::{Content, ImageContent};
/// use ai_services::tool::ToolOutput;
///
/// let photo = ImageContent::url("https://example.org/front-door.jpg");
/// assert_eq!(ToolOutput::from(photo.clone()), ToolOutput::contents([photo.clone().into()]));
///
/// let both = ToolOutput::contents(["The front door:".into(), Content::from(photo)]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    pub(crate) contents: Vec<Content>,
    pub(crate) attributes: Attributes,
}

impl ToolOutput {
    /// One text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::contents([Content::from(text.into())])
    }

    /// Several parts in this order. No parts are the same as an empty text.
    #[must_use]
    pub fn contents(contents: impl IntoIterator<Item = Content>) -> Self {
        let mut contents: Vec<_> = contents.into_iter().collect();
        if contents.is_empty() {
            contents.push(Content::from(""));
        }
        Self { contents, attributes: Attributes::new() }
    }

    /// The same output with data that is remembered, but never sent to a model.
    #[must_use]
    pub fn with_attributes(mut self, attributes: Attributes) -> Self {
        self.attributes = attributes;
        self
    }

    /// How many bytes the output has.
    pub(crate) fn size(&self) -> usize {
        self.contents
            .iter()
            .map(|content| {
                content.text().map_or(0, str::len) + content.media().map_or(0, Media::len)
            })
            .sum()
    }
}

impl<T: ToContents> From<T> for ToolOutput {
    fn from(contents: T) -> Self {
        Self::contents(contents.to_contents())
    }
}

/// A value that a tool may return: a [`ToolOutput`], contents, or anything that serialises.
///
/// Text is told as it is, `()` as `success`, everything else as JSON. Contents are images and the
/// like: what implements [`ToContents`] is never written as JSON by a
/// [`#[tool]`](macro@crate::tool), lists and options of images included.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "does not implement `serde::Serialize`",
    note = "the model is told the result as text or JSON: derive `serde::Serialize`, or return an `ai_services::message::Content` or `ai_services::tool::ToolOutput`"
)]
pub trait IntoToolOutput {
    /// The value as the model is told.
    ///
    /// # Errors
    ///
    /// If the value cannot be serialised.
    fn into_tool_output(self) -> Result<ToolOutput, ToolError>;
}

impl IntoToolOutput for ToolOutput {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        Ok(self)
    }
}

macro_rules! contents {
    ($($name:ident),*) => {$(
        impl IntoToolOutput for $name {
            fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
                Ok(self.into())
            }
        }
    )*};
}

contents!(Content, ImageContent, AudioContent, VideoContent, PdfContent);

#[diagnostic::do_not_recommend]
impl<T: Serialize> IntoToolOutput for T {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        let json = serde_json::to_string(&self).map_err(ToolError::concealed)?;
        // `()` and unit structs have nothing to say; `null` would read like a missing value.
        if size_of::<T>() == 0 && json == "null" {
            return Ok(ToolOutput::text("success"));
        }
        if json.starts_with('"')
            && let Ok(Value::String(text)) = serde_json::from_str(&json)
        {
            return Ok(ToolOutput::text(text));
        }
        Ok(ToolOutput::text(json))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: impl IntoToolOutput) -> String {
        let output = value.into_tool_output().unwrap();
        output.contents[0].text().unwrap().to_owned()
    }

    #[test]
    fn text_is_told_as_it_is_and_values_as_json() {
        assert_eq!(text("say \"hi\"\n"), "say \"hi\"\n");
        assert_eq!(text(()), "success");
        assert_eq!(text(None::<u8>), "null");
        assert_eq!(text(vec![1, 2]), "[1,2]");
        assert_eq!(text(ToolOutput::contents([])), "");
    }
}

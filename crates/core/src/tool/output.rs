//! The output of tools.

use super::error::ToolError;
use super::text_or_json::text_or_json;
use crate::message::{
    Attributes, AudioContent, Content, Contents, ImageContent, Media, PdfContent, ToContents,
    VideoContent,
};
use serde::Serialize;

/// The output of a tool that is sent to the model: text, images, or both.
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
    pub(crate) contents: Contents,
    pub(crate) attributes: Attributes,
}

impl ToolOutput {
    /// Creates an output with one text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        let text: String = text.into();
        Self { contents: Contents::text(text), attributes: Attributes::new() }
    }

    /// Creates an output with several contents in this order. An empty list is treated as an empty text.
    #[must_use]
    pub fn contents(contents: impl IntoIterator<Item = Content>) -> Self {
        let mut contents = contents.into_iter().peekable();
        if contents.peek().is_none() {
            return Self::text("");
        }
        Self { contents: contents.collect(), attributes: Attributes::new() }
    }

    /// Sets attributes: data that is stored in the memory, but never sent to a model.
    #[must_use]
    pub fn with_attributes(mut self, attributes: Attributes) -> Self {
        self.attributes = attributes;
        self
    }

    /// Returns the size of the output in bytes.
    pub(crate) fn size(&self) -> usize {
        self.contents
            .as_slice()
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

/// The return type of a tool: a [`ToolOutput`], contents, or anything that implements `Serialize`.
///
/// Text is sent unchanged, `()` as `success`, and other values as JSON. Contents are images and other
/// media: a `#[tool]` never writes types that implement [`ToContents`] as JSON,
/// including lists and options of images.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "does not implement `serde::Serialize`",
    note = "the result is sent to the model as text or JSON: derive `serde::Serialize`, or return an `ai_services::message::Content` or `ai_services::tool::ToolOutput`"
)]
pub trait IntoToolOutput {
    /// Converts the value to the output for the model.
    ///
    /// # Errors
    ///
    /// Fails if the value cannot be serialized.
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
        let text = text_or_json(&self).map_err(ToolError::concealed)?;
        // `()` and unit structs have no content; a model would read `null` as a missing value.
        if size_of::<T>() == 0 && &*text == "null" {
            return Ok(ToolOutput::text("success"));
        }
        Ok(ToolOutput::text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: impl IntoToolOutput) -> String {
        let output = value.into_tool_output().unwrap();
        output.contents.single_text().unwrap().to_owned()
    }

    #[derive(Serialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Fast,
        Slow(u8),
    }

    #[derive(Serialize)]
    struct Name(&'static str);

    #[derive(Serialize)]
    struct Nothing;

    #[test]
    fn text_is_sent_unchanged_and_values_as_json() {
        assert_eq!(text("say \"hi\"\n"), "say \"hi\"\n");
        assert_eq!(text(Some(Name("\u{1f600}"))), "\u{1f600}");
        assert_eq!(text('"'), "\"");
        assert_eq!(text(Kind::Fast), "fast");
        assert_eq!(text(serde_json::json!("\"")), "\"");
        assert_eq!(text(()), "success");
        assert_eq!(text(Nothing), "success");
        assert_eq!(text(None::<u8>), "null");
        assert_eq!(text(vec![1, 2]), "[1,2]");
        assert_eq!(text(Kind::Slow(2)), r#"{"slow":2}"#);
        assert_eq!(text(("\"", Name("n"), 1.0)), r#"["\"","n",1.0]"#);
        assert_eq!(text(u128::MAX), u128::MAX.to_string());
        assert_eq!(text(f64::NAN), "null");
        assert_eq!(text(ToolOutput::contents([])), "");
    }

    /// Fails if a text is written twice.
    struct Once(std::cell::Cell<bool>);

    impl Serialize for Once {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            assert!(!self.0.replace(true), "serialized twice");
            serializer.collect_str("text")
        }
    }

    #[test]
    fn value_is_serialized_once() {
        assert_eq!(text(Once(false.into())), "text");
    }
}

//! The values of template variables.

use crate::error::{Error, ErrorKind, Result};
use serde::Serialize;
use std::fmt::{self, Display, Write};

/// The value of a template variable.
pub struct Variable<'a>(Form<'a>);

/// The text form of a value.
enum Form<'a> {
    Text(&'a dyn Display),
    /// The value is `None`.
    Missing,
    Json(&'a dyn JsonValue),
}

impl<'a> Variable<'a> {
    /// Creates a variable that is printed.
    #[doc(hidden)]
    pub fn new<K, T: TemplateValue<K>>(value: &'a T) -> Self {
        Self(value.printed().map_or(Form::Missing, Form::Text))
    }

    /// Creates a variable that is written as JSON.
    #[doc(hidden)]
    pub fn json<T: JsonValue>(value: &'a T) -> Self {
        Self(Form::Json(value))
    }

    pub(super) fn of(value: &'a dyn Display) -> Self {
        Self(Form::Text(value))
    }

    /// Returns `true` if the value is `None`, whose text is empty.
    #[doc(hidden)]
    pub fn is_missing(&self) -> bool {
        matches!(self.0, Form::Missing)
    }

    /// Returns the value as text.
    #[doc(hidden)]
    pub fn to_text(&self) -> Result<String> {
        let mut text = String::new();
        self.write(&mut text)?;
        Ok(text)
    }

    /// Appends the value.
    pub(super) fn write(&self, out: &mut String) -> Result<()> {
        match self.0 {
            Form::Text(value) => write!(out, "{value}").map_err(unprintable),
            Form::Missing => Ok(()),
            Form::Json(value) => {
                out.push_str(&value.to_json().map_err(unserializable)?);
                Ok(())
            }
        }
    }
}

impl fmt::Debug for Variable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Variable")
    }
}

/// Returns the error of a value whose `Display` implementation failed.
pub(super) fn unprintable(source: fmt::Error) -> Error {
    Error::new(ErrorKind::Prompt, "the `Display` implementation of a template value failed")
        .with_source(source)
}

/// Returns the error of a value without a JSON form.
fn unserializable(source: serde_json::Error) -> Error {
    Error::new(ErrorKind::Prompt, "a template value cannot be written as JSON").with_source(source)
}

/// A type that can fill a `{{placeholder}}`: anything that implements [`Display`], or an `Option` of it.
///
/// `None` is an empty text. The compiler infers `Kind`, which is different for the two forms.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot fill a template variable",
    label = "does not implement `Display`",
    note = "a template variable is printed with `std::fmt::Display`; in an `Option`, `None` is an empty text",
    note = "`#[v(json)]` writes any type that implements `serde::Serialize` as JSON"
)]
pub trait TemplateValue<Kind> {
    #[doc(hidden)]
    fn printed(&self) -> Option<&dyn Display>;
}

/// Kind of a [`TemplateValue`] that implements [`Display`].
#[derive(Debug)]
pub struct PrintedText;

/// Kind of a [`TemplateValue`] that is an `Option`.
#[derive(Debug)]
pub struct OptionalText;

#[diagnostic::do_not_recommend]
impl<T: Display> TemplateValue<PrintedText> for T {
    fn printed(&self) -> Option<&dyn Display> {
        Some(self)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Display> TemplateValue<OptionalText> for Option<T> {
    fn printed(&self) -> Option<&dyn Display> {
        self.as_ref().map(|value| value as _)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Display> TemplateValue<OptionalText> for &Option<T> {
    fn printed(&self) -> Option<&dyn Display> {
        self.as_ref().map(|value| value as _)
    }
}

/// A type that can fill a `{{placeholder}}` as JSON: anything that implements [`Serialize`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot fill a template variable as JSON",
    label = "does not implement `Serialize`",
    note = "`#[v(json)]` writes types that implement `serde::Serialize`"
)]
pub trait JsonValue {
    #[doc(hidden)]
    fn to_json(&self) -> serde_json::Result<String>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> JsonValue for T {
    fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn printed<K>(value: &impl TemplateValue<K>) -> Option<String> {
        let variable = Variable::new(value);
        let text = variable.to_text().unwrap();
        assert!(!variable.is_missing() || text.is_empty());
        (!variable.is_missing()).then_some(text)
    }

    #[test]
    fn option_is_printed_as_its_value() {
        assert_eq!(printed(&7), Some("7".to_owned()));
        assert_eq!(printed(&Some("a")), Some("a".to_owned()));
        assert_eq!(printed(&&Some(String::new())), Some(String::new()));
        assert_eq!(printed(&None::<u8>), None);
        assert_eq!(printed(&&None::<&str>), None);
    }

    #[test]
    fn json_has_the_form_of_serde() {
        let json = |value: &dyn JsonValue| value.to_json().unwrap();
        assert_eq!(json(&["{{a}}", "\""]), r#"["{{a}}","\""]"#);
        assert_eq!(json(&None::<u8>), "null");
    }

    #[test]
    fn value_without_json_is_an_error() {
        let lists = BTreeMap::from([(vec![1], 2)]);
        let error = Variable::json(&lists).to_text().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Prompt);
        assert_eq!(error.to_string(), "a template value cannot be written as JSON");
    }
}

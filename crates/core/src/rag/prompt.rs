//! Prompts that are built in and can be replaced.

use crate::error::{Error, Result};
use crate::prompt::{PromptTemplate, PromptVariables};

/// A prompt for a model that helps to retrieve.
#[derive(Clone, Debug)]
pub(super) enum Prompt {
    BuiltIn(&'static str),
    Given(PromptTemplate),
}

impl Prompt {
    pub(super) fn render(&self, values: &PromptVariables) -> Result<String> {
        match self {
            Self::BuiltIn(source) => PromptTemplate::parse(source)?.render(values),
            Self::Given(template) => template.render(values),
        }
    }

    /// Checks the names of the variables of a prompt that was given. `of` is whose prompt it is.
    pub(super) fn check(&self, of: &str, required: &[&str], optional: &[&str]) -> Result<()> {
        match self {
            Self::BuiltIn(_) => Ok(()),
            Self::Given(template) => check(template, of, required, |name| optional.contains(&name)),
        }
    }
}

/// Whether a template has all variables that it must have, and no others than it can have.
pub(super) fn check(
    template: &PromptTemplate,
    of: &str,
    required: &[&str],
    is_optional: impl Fn(&str) -> bool,
) -> Result<()> {
    /// Filled in by the template itself.
    const BUILT_IN: [&str; 3] = ["current_date", "current_time", "current_date_time"];
    let missing = required.iter().find(|name| !template.variables().any(|own| own == **name));
    if let Some(name) = missing {
        return Err(Error::configuration(format!("the {of} needs `{{{{{name}}}}}` in it")));
    }
    let is_known =
        |name: &str| required.contains(&name) || BUILT_IN.contains(&name) || is_optional(name);
    match template.variables().find(|name| !is_known(name)) {
        Some(name) => Err(Error::configuration(format!("the {of} has no value for `{name}`"))),
        None => Ok(()),
    }
}

/// A text whose lines behind the first are indented, so that a line that is not begins something new.
pub(super) fn hanging(text: &str) -> String {
    text.replace("\r\n", "\n")
        .replace(['\r', '\u{85}', '\u{2028}', '\u{2029}'], "\n")
        .replace('\n', "\n    ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(template: &str) -> Result<()> {
        let template = PromptTemplate::parse(template).unwrap();
        check(&template, "prompt", &["query"], |name| name == "n")
    }

    #[test]
    fn templates_have_the_variables_that_they_must_and_can_have() {
        checked("{{query}}").unwrap();
        checked("{{n}} {{query}} {{current_date}}").unwrap();
        let error = |template| checked(template).unwrap_err().to_string();
        assert_eq!(error("{{n}}"), "the prompt needs `{{query}}` in it");
        assert_eq!(error("{{query}} {{m}}"), "the prompt has no value for `m`");
    }

    #[test]
    fn only_the_first_line_begins_at_the_margin() {
        assert_eq!(hanging("a\nb\r\nc\rd\u{2028}e"), "a\n    b\n    c\n    d\n    e");
    }
}

//! Built-in prompts that can be replaced.

use crate::error::{Error, Result};
use crate::prompt::{PromptTemplate, PromptVariables};

/// A prompt for a model that supports retrieval.
#[derive(Clone, Debug)]
pub(super) enum Prompt {
    BuiltIn(&'static str),
    Custom(PromptTemplate),
}

impl Prompt {
    pub(super) fn render(&self, values: &PromptVariables) -> Result<String> {
        match self {
            Self::BuiltIn(source) => PromptTemplate::parse(source)?.render(values),
            Self::Custom(template) => template.render(values),
        }
    }

    /// Checks the variables of a custom prompt. `of` names the prompt in errors.
    pub(super) fn check(&self, of: &str, required: &[&str], optional: &[&str]) -> Result<()> {
        match self {
            Self::BuiltIn(_) => Ok(()),
            Self::Custom(template) => {
                check_variables(template, of, required, |name| optional.contains(&name))
            }
        }
    }
}

/// Fails if a required variable is missing, or if the template has a variable that is neither required,
/// optional nor built in.
pub(super) fn check_variables(
    template: &PromptTemplate,
    of: &str,
    required: &[&str],
    is_optional: impl Fn(&str) -> bool,
) -> Result<()> {
    /// Variables that the template fills in itself.
    const BUILT_IN: [&str; 3] = ["current_date", "current_time", "current_date_time"];
    let missing = required.iter().find(|name| !template.variables().any(|own| own == **name));
    if let Some(name) = missing {
        return Err(Error::configuration(format!("the {of} must contain `{{{{{name}}}}}`")));
    }
    let is_known =
        |name: &str| required.contains(&name) || BUILT_IN.contains(&name) || is_optional(name);
    match template.variables().find(|name| !is_known(name)) {
        Some(name) => {
            Err(Error::configuration(format!("the {of} has an unknown variable `{name}`")))
        }
        None => Ok(()),
    }
}

/// Indents all lines but the first, so that only the first line of an item starts at the margin.
pub(super) fn hanging_indent(text: &str) -> String {
    text.replace("\r\n", "\n")
        .replace(['\r', '\u{85}', '\u{2028}', '\u{2029}'], "\n")
        .replace('\n', "\n    ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_template(template: &str) -> Result<()> {
        let template = PromptTemplate::parse(template).unwrap();
        check_variables(&template, "prompt", &["query"], |name| name == "n")
    }

    #[test]
    fn variables_of_templates_are_checked() {
        check_template("{{query}}").unwrap();
        check_template("{{n}} {{query}} {{current_date}}").unwrap();
        let error = |template| check_template(template).unwrap_err().to_string();
        assert_eq!(error("{{n}}"), "the prompt must contain `{{query}}`");
        assert_eq!(error("{{query}} {{m}}"), "the prompt has an unknown variable `m`");
    }

    #[test]
    fn only_first_line_starts_at_the_margin() {
        assert_eq!(hanging_indent("a\nb\r\nc\rd\u{2028}e"), "a\n    b\n    c\n    d\n    e");
    }
}

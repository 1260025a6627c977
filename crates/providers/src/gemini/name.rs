//! Names of models, which become part of URLs.

use ai_services_core::{Error, Result};

/// The name of a model with its collection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ModelName<'a> {
    collection: &'a str,
    name: &'a str,
}

/// The generation of a model, which requests depend on. Names without a version count as older
/// models.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Generation {
    /// Up to Gemini 2.5.
    Second,
    /// Gemini 3 and later: signatures are required, and tool results may contain media.
    Third,
}

impl Generation {
    /// Returns the generation of a model by its name. Invalid names count as older models.
    pub(super) fn of(model: &str) -> Self {
        ModelName::of(model).map_or(Self::Second, ModelName::generation)
    }
}

/// Names of the latest models, after `gemini-`, which have no version.
const LATEST: [&str; 3] = ["pro-latest", "flash-latest", "flash-lite-latest"];

impl<'a> ModelName<'a> {
    /// Parses `x`, `models/x` and `tunedModels/x`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) for any other name,
    /// which could lead to another URL.
    pub(super) fn of(model: &'a str) -> Result<Self> {
        let model = model.trim();
        let (collection, name) = match model.split_once('/') {
            Some((collection @ ("models" | "tunedModels"), name)) => (collection, name),
            _ => ("models", model),
        };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
        let is_dots = name.bytes().all(|byte| byte == b'.');
        if name.bytes().all(is_plain) && !is_dots {
            return Ok(Self { collection, name });
        }
        Err(Error::configuration(format!(
            "`{}` is not the name of a model, like `gemini-2.5-flash` or `tunedModels/mine`",
            model.chars().take(100).collect::<String>().escape_debug()
        )))
    }

    /// Returns the path of a method.
    pub(super) fn method(self, method: &str) -> String {
        format!("{}/{}:{method}", self.collection, self.name)
    }

    /// Returns the name with its collection.
    pub(super) fn resource(self) -> String {
        format!("{}/{}", self.collection, self.name)
    }

    /// Returns the generation of the model.
    pub(super) fn generation(self) -> Generation {
        let version = self.name.strip_prefix("gemini-").unwrap_or_default();
        let is_later = version.starts_with(|first: char| ('3'..='9').contains(&first));
        if is_later || LATEST.contains(&version) { Generation::Third } else { Generation::Second }
    }

    /// Returns whether the name is that of an embedding model whose task is part of the text.
    pub(super) fn has_task_in_text(self) -> bool {
        let version = self.name.strip_prefix("gemini-embedding-").unwrap_or_default();
        version.starts_with(|first: char| ('2'..='9').contains(&first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::ErrorKind;

    #[test]
    fn name_becomes_a_path() {
        let path = |name| ModelName::of(name).unwrap().method("m");
        assert_eq!(path("gemini-2.5-flash"), "models/gemini-2.5-flash:m");
        assert_eq!(path(" models/gemini-2.5-flash "), "models/gemini-2.5-flash:m");
        assert_eq!(path("tunedModels/a_b@1"), "tunedModels/a_b@1:m");
    }

    #[test]
    fn name_cannot_lead_to_another_url() {
        for name in [
            "",
            " ",
            ".",
            "..",
            "../x",
            "models/..",
            "models/",
            "models/a/b",
            "files/x",
            "/x",
            "x/..",
            "a?b",
            "a#b",
            "a%2fb",
            "a%2e%2e",
            "a:b",
            "a\\b",
            "a b",
            "ä",
            "a\nb",
            "tunedModels/../x",
        ] {
            let error = ModelName::of(name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{name:?}");
        }
    }

    #[test]
    fn generation_depends_on_the_name() {
        let of = |name| ModelName::of(name).unwrap().generation();
        for name in ["gemini-3-pro", "models/gemini-3.5-flash", "gemini-flash-latest"] {
            assert_eq!(of(name), Generation::Third, "{name}");
        }
        for name in ["gemini-2.5-flash", "gemini-1.5-pro", "gemma-3", "tunedModels/x", "gemini-exp"]
        {
            assert_eq!(of(name), Generation::Second, "{name}");
        }
    }
}

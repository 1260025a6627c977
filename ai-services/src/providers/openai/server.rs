//! Where a server is, and what is known of it before it is asked.

use crate::error::{Error, Result};
use crate::model::{Capabilities, Capability};
use reqwest::Url;
use reqwest::header::HeaderValue;

/// What a server can do as far as its host tells. llama.cpp, for one, refuses a schema beside tools.
pub(super) fn default_capabilities(is_genuine: bool) -> Capabilities {
    let all = Capabilities::of([
        Capability::Tools,
        Capability::JsonSchema,
        Capability::JsonObject,
        Capability::Streaming,
        Capability::Images,
    ]);
    if is_genuine { all.with(Capability::JsonSchemaWithTools) } else { all }
}

/// The value of a variable, unless it is empty.
pub(super) fn set(var: impl Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    let value = var(name)?;
    Some(value.trim()).filter(|value| !value.is_empty()).map(str::to_owned)
}

pub(super) fn secret(value: &str, what: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        Error::configuration(format!("{what} contains characters that a header cannot carry"))
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Where requests go. Errors do not repeat the URL, which may contain a key.
pub(super) fn endpoint_url(base: &str) -> Result<Url> {
    let wrong = |why: &str| Error::configuration(format!("the base URL {why}"));
    let mut url = Url::parse(base.trim()).map_err(|source| {
        wrong("is not a URL, like `http://localhost:11434/v1`").with_source(source)
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("must begin with `http://` or `https://`"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("must not contain a user name or password; use `header`"));
    }
    if url.fragment().is_some() {
        return Err(wrong("must not contain a `#`"));
    }
    let path = format!("{}/chat/completions", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

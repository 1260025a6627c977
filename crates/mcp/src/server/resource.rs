//! Resources: a tool that reads what a URI names.

use super::definition;
use ai_services_core::Tool;
use ai_services_core::{Error, Result};
use rmcp::model;
use serde_json::{Map, Value};

/// A resource: data with a URI, read by a tool.
///
/// The URI may be a template. A placeholder stands for one segment of the path, and its value is the argument of the
/// same name. Name and description are those of the tool. A text has the media type `text/plain`, unless
/// [`media_type`](Self::media_type) sets another; images and other media have their own type.
///
/// # Examples
///
/// ```
/// use ai_services::mcp::{McpResource, McpServer};
/// use ai_services::tool;
///
/// /// The opening hours of a shop.
/// #[tool(read_only)]
/// async fn opening_hours(/** Name of the city. */ city: String) -> String {
///     format!("the shop in {city} opens at 9")
/// }
///
/// let hours = McpResource::new("shop://{city}/hours", opening_hours::tool());
/// let server = McpServer::builder("shop", "1.0.0").resource(hours).build()?;
/// # let _ = server;
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct McpResource {
    pattern: UriPattern,
    text_type: String,
    pub(super) tool: Tool,
}

impl McpResource {
    /// Creates a resource. Placeholders of a URI template have the form `{name}`; their values have at least one
    /// character, and no `/`.
    #[must_use]
    pub fn new(uri: impl Into<String>, tool: Tool) -> Self {
        let pattern = UriPattern::new(uri.into());
        Self { pattern, text_type: "text/plain".to_owned(), tool }
    }

    /// Sets the media type of texts, for example `application/json`. Default: `text/plain`.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.text_type = media_type.into();
        self
    }

    /// Fails unless the placeholders are parameters of the tool, and include all required ones.
    pub(super) fn check(&self) -> Result<()> {
        let parameters = definition::parameters(&self.tool)?;
        let names: Vec<&str> = self.pattern.names().collect();
        let error = |problem: String| {
            Error::configuration(format!("invalid resource `{}`: {problem}", self.pattern.text))
        };
        if !self.pattern.is_valid() {
            return Err(error("the URI needs a scheme and placeholders like `{name}`".to_owned()));
        }
        if let Some(name) = names.iter().find(|name| !parameters.contains_key(**name)) {
            return Err(error(format!("the tool has no parameter `{name}`")));
        }
        let is_missing =
            |(name, _): &(&String, &definition::Parameter)| !names.contains(&name.as_str());
        let mut required = parameters.iter().filter(|(_, parameter)| parameter.is_required);
        match required.find(is_missing) {
            Some((name, _)) => Err(error(format!("the URI has no placeholder `{{{name}}}`"))),
            None => Ok(()),
        }
    }

    pub(super) fn text_type(&self) -> &str {
        &self.text_type
    }

    /// Returns the arguments for a URI. `None` if it is not a URI of this resource.
    pub(super) fn arguments(&self, uri: &str) -> Option<Map<String, Value>> {
        self.pattern.values(uri)
    }

    /// Returns the definition of a resource without placeholders.
    pub(super) fn definition(&self) -> Option<model::Resource> {
        let description = self.tool.specification().description.to_string();
        (self.pattern.names().next().is_none()).then(|| {
            model::Resource::new(&*self.pattern.text, self.tool.name())
                .with_description(description)
                .with_mime_type(&*self.text_type)
        })
    }

    /// Returns the definition of a resource with placeholders.
    pub(super) fn template(&self) -> Option<model::ResourceTemplate> {
        let description = self.tool.specification().description.to_string();
        (self.pattern.names().next().is_some()).then(|| {
            model::ResourceTemplate::new(&*self.pattern.text, self.tool.name())
                .with_description(description)
                .with_mime_type(&*self.text_type)
        })
    }
}

/// A URI with placeholders.
#[derive(Clone, Debug)]
struct UriPattern {
    text: String,
    /// The parts between the placeholders, each with the placeholder behind it.
    parts: Vec<(String, Option<String>)>,
}

impl UriPattern {
    fn new(text: String) -> Self {
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, name, after)) = next_placeholder(rest) {
            parts.push((before.to_owned(), Some(name.to_owned())));
            rest = after;
        }
        parts.push((rest.to_owned(), None));
        Self { text, parts }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|(_, name)| name.as_deref())
    }

    fn is_valid(&self) -> bool {
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        };
        let is_separated = |pair: &[(String, Option<String>)]| !matches!(pair, [(_, Some(_)), (text, Some(_))] if text.is_empty());
        self.text.contains(':')
            && self.names().all(is_name)
            && self.parts.windows(2).all(is_separated)
            && self.parts.iter().all(|(text, _)| !text.contains(['{', '}']))
    }

    fn values(&self, uri: &str) -> Option<Map<String, Value>> {
        let mut values = Map::new();
        let mut rest = uri;
        let mut pending: Option<&str> = None;
        for (text, name) in &self.parts {
            let value;
            (value, rest) = match pending {
                None => ("", rest.strip_prefix(text.as_str())?),
                Some(_) if text.is_empty() && name.is_none() => (rest, ""),
                Some(_) => rest.split_once(text.as_str())?,
            };
            if let Some(name) = pending {
                if value.is_empty() || value.contains('/') {
                    return None;
                }
                values.insert(name.to_owned(), Value::String(percent_decoded(value)?));
            }
            pending = name.as_deref();
        }
        rest.is_empty().then_some(values)
    }
}

fn next_placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

/// Decodes `%2F` and the like. `None` if the text is malformed.
fn percent_decoded(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let digits = piece.get(..2).filter(|digits| !digits.starts_with('+'))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(piece.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values(pattern: &str, uri: &str) -> Option<Value> {
        UriPattern::new(pattern.to_owned()).values(uri).map(Value::Object)
    }

    #[test]
    fn uri_without_placeholders_matches_itself() {
        assert_eq!(values("docs://prices", "docs://prices"), Some(json!({})));
        assert_eq!(values("docs://prices", "docs://prices/2"), None);
        assert_eq!(values("docs://prices", "docs://price"), None);
    }

    #[test]
    fn placeholder_matches_one_segment() {
        let template = "shop://{city}/orders/{id}";
        let expected = json!({ "city": "Oslo", "id": "7" });
        assert_eq!(values(template, "shop://Oslo/orders/7"), Some(expected));
        for other in
            ["shop:///orders/7", "shop://Oslo/orders/", "shop://Oslo/orders/7/8", "shop://"]
        {
            assert_eq!(values(template, other), None, "{other}");
        }
    }

    #[test]
    fn value_is_percent_decoded() {
        assert_eq!(values("f://{name}", "f://a%2Fb%20%C3%A9"), Some(json!({ "name": "a/b é" })));
        for malformed in ["f://%", "f://%2", "f://%zz", "f://%+1", "f://%FF"] {
            assert_eq!(values("f://{name}", malformed), None, "{malformed}");
        }
    }

    #[test]
    fn malformed_templates_are_invalid() {
        for malformed in ["prices", "f://{", "f://{}", "f://}a{", "f://{a}{b}", "f://{+a}"] {
            assert!(!UriPattern::new(malformed.to_owned()).is_valid(), "{malformed}");
        }
        assert!(UriPattern::new("f://{a}/{b}.txt".to_owned()).is_valid());
    }
}

//! Building a [`GeminiChatModel`].

use super::name::{Generation, ModelName};
use super::options::{
    HarmCategory, HarmThreshold, Options, SafetySetting, SchemaDialect, ThoughtSummaries,
};
use super::parameters::Frame;
use super::server::connect;
use super::{GeminiChatModel, Inner, Target};
use crate::protocol::connection::{Connection, connection_setters, set};
use crate::protocol::frames::Frames;
use ai_services_core::model::{Capabilities, Capability, ChatRequestParameters};
use ai_services_core::{Error, Result};
use secrecy::SecretString;
use std::fmt;
use std::sync::Arc;

/// The model of [`GeminiChatModel::from_env`].
const DEFAULT_MODEL: &str = "gemini-flash-latest";

/// Builds a [`GeminiChatModel`].
///
/// Only [`model`](Self::model) is required. With neither [`api_key`](Self::api_key) nor
/// [`base_url`](Self::base_url), key and server come from the environment, as in
/// [`GeminiChatModel::from_env`]; if one of the two is set, the environment is not read.
///
/// # Examples
///
/// ```
/// use ai_services::model::ChatRequestParameters;
/// use ai_services::providers::gemini::{GeminiChatModel, HarmCategory, HarmThreshold};
///
/// let model = GeminiChatModel::builder()
///     .api_key("secret")
///     .model("gemini-2.5-flash")
///     .parameters(ChatRequestParameters::new().temperature(0.2))
///     .safety_setting(HarmCategory::DangerousContent, HarmThreshold::OnlyHigh)
///     .build()?;
/// assert!(!format!("{model:?}").contains("secret"));
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct GeminiChatModelBuilder {
    connection: Connection,
    model: Option<Box<str>>,
    parameters: ChatRequestParameters,
    options: Options,
    capabilities: Option<Capabilities>,
}

impl GeminiChatModelBuilder {
    /// Sets the key. It is sent in the header `x-goog-api-key`, never in the URL. Servers other than
    /// Google's may need none.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.connection.api_key = Some(SecretString::from(key.into()));
        self
    }

    /// Sets the server: the URL to which `/models/…` is appended, with the version of the API;
    /// `https://generativelanguage.googleapis.com/v1beta` by default.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.connection.base_url = Some(url.into());
        self
    }

    /// Sets the model to ask, for example `gemini-2.5-flash`, `models/gemini-2.5-flash` or
    /// `tunedModels/mine`.
    pub fn model(mut self, model: impl Into<Box<str>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets parameters for all requests; those of a request win over them.
    ///
    /// Most become members of `generationConfig`, which a member of this name in
    /// [`extra`](ChatRequestParameters::extra) replaces as a whole. A tool choice is sent only with
    /// tools. How hard to think is sent as a level to Gemini 3 and later, as a number of tokens to
    /// older models: 1024, 8192 and 24576; a level that is a number is sent as a number of tokens to
    /// all of them.
    pub fn parameters(mut self, parameters: ChatRequestParameters) -> Self {
        self.parameters = parameters;
        self
    }

    connection_setters!(streams);

    /// Sets in which dialect schemas are sent; the API's own by default, which all models know.
    pub fn schema_dialect(mut self, dialect: SchemaDialect) -> Self {
        self.options.schemas = dialect;
        self
    }

    /// Sets whether the model tells what it thinks;
    /// [`NotRequested`](ThoughtSummaries::NotRequested) by default.
    pub fn thought_summaries(mut self, summaries: ThoughtSummaries) -> Self {
        self.options.thoughts = summaries;
        self
    }

    /// Sets how many tokens the model may think, 0 for not at all and -1 for what it takes; left to
    /// the model by default. Wins over the reasoning effort of the parameters. Gemini 3 and later have
    /// levels for this.
    pub fn thinking_budget(mut self, tokens: i32) -> Self {
        self.options.thinking_budget = Some(tokens);
        self
    }

    /// Sets from where on one kind of harm is blocked; a second call for the same kind replaces the
    /// first. Left to the provider by default.
    pub fn safety_setting(mut self, category: HarmCategory, threshold: HarmThreshold) -> Self {
        self.options.safety.retain(|setting| setting.category != category);
        self.options.safety.push(SafetySetting { category, threshold });
        self
    }

    /// Puts content that is cached at the provider before every request, for example
    /// `cachedContents/abc`. The API wants system messages and tools to be in it, then, and refuses
    /// requests that have their own.
    pub fn cached_content(mut self, name: impl Into<Box<str>>) -> Self {
        self.options.cached_content = Some(name.into());
        self
    }

    /// Sets what the model can do. By default everything; but
    /// [`JsonSchemaWithTools`](Capability::JsonSchemaWithTools) only if its name says Gemini 3 or later.
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// Builds the model. Nothing is sent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a model or for one whose
    /// name could lead to another URL, without a key for Google, for a base URL that is not one, a key
    /// or header that HTTP cannot carry, and if TLS cannot be set up.
    pub fn build(self) -> Result<GeminiChatModel> {
        self.build_with(|name| std::env::var(name).ok())
    }

    /// The model of [`GeminiChatModel::from_env`].
    pub(super) fn from_env(var: impl Fn(&str) -> Option<String>) -> Result<GeminiChatModel> {
        let model = set(&var, "GEMINI_MODEL").unwrap_or_else(|| DEFAULT_MODEL.to_owned());
        Self::default().model(model).build_with(var)
    }

    fn build_with(self, var: impl Fn(&str) -> Option<String>) -> Result<GeminiChatModel> {
        let model = self.parameters.model.clone().or(self.model);
        let model = model.ok_or_else(|| Error::configuration("no model: call `model`"))?;
        let name = ModelName::of(&model)?;
        let server = connect(self.connection, var)?;
        let generation = name.generation();
        let frames = Frames::new(self.parameters, |parameters, _| {
            Frame::new(parameters, generation, &self.options)
        });
        Ok(GeminiChatModel(Arc::new(Inner {
            target: Target::of(&server, name),
            frames,
            server,
            options: self.options,
            capabilities: self.capabilities.unwrap_or_else(|| default_capabilities(generation)),
            model,
        })))
    }
}

/// What models can do as far as their names tell. Older ones refuse a schema beside tools.
fn default_capabilities(generation: Generation) -> Capabilities {
    let all = Capabilities::of([
        Capability::Tools,
        Capability::JsonSchema,
        Capability::JsonObject,
        Capability::Streaming,
        Capability::Images,
        Capability::Audio,
        Capability::Videos,
        Capability::Pdfs,
        Capability::ToolChoice,
    ]);
    match generation {
        Generation::Second => all,
        Generation::Third => all.with(Capability::JsonSchemaWithTools),
    }
}

impl fmt::Debug for GeminiChatModelBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GeminiChatModelBuilder")
            .field("model", &self.model)
            .field("connection", &self.connection)
            .field("parameters", &self.parameters)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::ErrorKind;

    fn from_env(variables: &[(&str, &str)]) -> Result<GeminiChatModel> {
        GeminiChatModelBuilder::from_env(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn url(model: &GeminiChatModel) -> &str {
        model.0.target.whole.url()
    }

    #[test]
    fn missing_key_names_the_variable() {
        let google = "https://generativelanguage.googleapis.com/v1beta";
        for variables in [vec![], vec![("GEMINI_API_KEY", " ")], vec![("GEMINI_BASE_URL", google)]]
        {
            let error = from_env(&variables).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.to_string().contains("GEMINI_API_KEY"), "{error}");
        }
    }

    #[test]
    fn environment_sets_everything() {
        let model = from_env(&[("GOOGLE_API_KEY", "canary"), ("GEMINI_MODEL", "gemini-2.5-pro")]);
        let model = model.unwrap();
        let expected = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent";
        assert_eq!(url(&model), expected);
        assert!(!format!("{model:?}").contains("canary"));
        let local = from_env(&[("GEMINI_BASE_URL", "http://localhost:1/v1beta/")]).unwrap();
        let expected = "http://localhost:1/v1beta/models/gemini-flash-latest:generateContent";
        assert_eq!(url(&local), expected);
        let stream = local.0.target.stream.url();
        let expected =
            "http://localhost:1/v1beta/models/gemini-flash-latest:streamGenerateContent?alt=sse";
        assert_eq!(stream, expected);
    }

    #[test]
    fn environment_is_not_read_if_something_is_set() {
        let builder = GeminiChatModel::builder().base_url("http://localhost").model("m");
        assert!(builder.build_with(|_| unreachable!("the environment is not read")).is_ok());
        let builder = GeminiChatModel::builder().api_key("k").model("m");
        assert!(builder.build_with(|_| unreachable!("the environment is not read")).is_ok());
    }

    #[test]
    fn key_is_nowhere_to_be_seen() {
        let local = || GeminiChatModel::builder().base_url("http://localhost").model("m");
        let errors = [
            local().api_key("ca\nnary").build().unwrap_err(),
            local().header("x-goog-api-key", "ca\nnary").build().unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(!format!("{error:?}").contains("nary"), "{error:?}");
        }
        let builder = local().api_key("canary").header("x", "canary");
        assert!(!format!("{builder:?}").contains("canary"), "{builder:?}");
        assert!(!url(&builder.build().unwrap()).contains("canary"));
    }

    #[test]
    fn name_that_leads_elsewhere_is_refused() {
        let error = GeminiChatModel::builder().api_key("k").model("../files").build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        let error = GeminiChatModel::builder().api_key("k").build().unwrap_err();
        assert!(error.to_string().contains("`model`"), "{error}");
    }
}

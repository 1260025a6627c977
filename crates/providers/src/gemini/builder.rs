//! The builder of [`GeminiChatModel`].

use super::name::{Generation, ModelName};
use super::options::{
    HarmCategory, HarmThreshold, Options, SafetySetting, SchemaDialect, ThoughtSummaries,
};
use super::server::GOOGLE;
use super::{GeminiChatModel, GenerateContent};
use crate::protocol::builder::{builder_methods, debug_fields, required_model};
use crate::protocol::client::Client;
use crate::protocol::connection::{Connection, connection_setters};
use ai_services_core::Result;
use ai_services_core::model::{Capabilities, Capability, ChatRequestParameters};

/// The model of [`GeminiChatModel::from_env`].
const DEFAULT_MODEL: &str = "gemini-flash-latest";

/// Builds a [`GeminiChatModel`].
///
/// Only [`model`](Self::model) is required. If neither [`api_key`](Self::api_key) nor
/// [`base_url`](Self::base_url) is set, the key and the server come from the environment, as in
/// [`GeminiChatModel::from_env`].
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

debug_fields!(GeminiChatModelBuilder { model, connection, parameters });

impl GeminiChatModelBuilder {
    builder_methods! {
        /// Sets the API key. It is sent in the header `x-goog-api-key`, never in the URL. Servers other
        /// than Google's may need none.
        api_key;
        /// Sets the server: the URL to which `/models/…` is appended, with the version of the API.
        /// Default: `https://generativelanguage.googleapis.com/v1beta`.
        base_url;
        /// Sets the model, for example `gemini-2.5-flash`, `models/gemini-2.5-flash` or
        /// `tunedModels/mine`.
        model;
        /// Sets the parameters of all requests. Parameters of a request win over them.
        ///
        /// Most become members of `generationConfig`. A member of that name in
        /// [`extra`](ChatRequestParameters::extra) replaces the whole object. A tool choice is sent only
        /// with tools. The reasoning effort is sent as a level to Gemini 3 and later, and as a number of
        /// tokens to older models: 1024, 8192 and 24576. An effort that is a number is sent as a number
        /// of tokens to all models.
        parameters;
    }

    connection_setters!(streams);

    /// Sets the dialect of schemas. Default: [`OpenApi`](SchemaDialect::OpenApi), which all models know.
    pub fn schema_dialect(mut self, dialect: SchemaDialect) -> Self {
        self.options.schemas = dialect;
        self
    }

    /// Sets whether summaries of the model's thoughts are requested. Default:
    /// [`NotRequested`](ThoughtSummaries::NotRequested).
    pub fn thought_summaries(mut self, summaries: ThoughtSummaries) -> Self {
        self.options.thoughts = summaries;
        self
    }

    /// Sets the maximum number of thinking tokens: 0 turns thinking off, -1 lets the model decide.
    /// Default: the model's own.
    ///
    /// The budget wins over the reasoning effort of the parameters. Gemini 3 and later have levels
    /// instead.
    pub fn thinking_budget(mut self, tokens: i32) -> Self {
        self.options.thinking_budget = Some(tokens);
        self
    }

    /// Sets the threshold from which one kind of harm is blocked. A second call for the same kind
    /// replaces the first. Default: the provider's.
    pub fn safety_setting(mut self, category: HarmCategory, threshold: HarmThreshold) -> Self {
        self.options.safety.retain(|setting| setting.category != category);
        self.options.safety.push(SafetySetting { category, threshold });
        self
    }

    /// Sets cached content of the provider that precedes every request, for example
    /// `cachedContents/abc`. The cached content has the system messages and tools; the API rejects
    /// requests with their own.
    pub fn cached_content(mut self, name: impl Into<Box<str>>) -> Self {
        self.options.cached_content = Some(name.into());
        self
    }

    builder_methods! {
        /// Sets the capabilities of the model. Default: all, but
        /// [`JsonSchemaWithTools`](Capability::JsonSchemaWithTools) only for Gemini 3 and later.
        capabilities;
        /// Builds the model. Sends nothing.
        ///
        /// # Errors
        ///
        /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a model or for
        /// one whose name could lead to another URL, without a key for Google, for an invalid base URL,
        /// for a key or header that HTTP cannot carry, and if TLS cannot be set up.
        build -> GeminiChatModel;
        from_env("GEMINI_MODEL", DEFAULT_MODEL) -> GeminiChatModel;
    }

    fn build_with(self, var: impl Fn(&str) -> Option<String>) -> Result<GeminiChatModel> {
        let model = required_model(self.parameters.model.clone().or(self.model))?;
        let name = ModelName::of(&model)?;
        let server = GOOGLE.connect(self.connection, var)?;
        let capabilities =
            self.capabilities.unwrap_or_else(|| default_capabilities(name.generation()));
        let protocol = GenerateContent::new(server, name, self.options);
        Ok(GeminiChatModel(Client::new(protocol, model, self.parameters, capabilities)))
    }
}

/// Returns the capabilities of a generation. Older models reject a schema beside tools.
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
        model.0.protocol().endpoints.whole.url()
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
        let stream = local.0.protocol().endpoints.stream.url();
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
    fn key_is_in_no_error_and_no_debug_output() {
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
    fn model_name_with_a_path_is_rejected() {
        let error = GeminiChatModel::builder().api_key("k").model("../files").build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        let error = GeminiChatModel::builder().api_key("k").build().unwrap_err();
        assert!(error.to_string().contains("`model`"), "{error}");
    }
}

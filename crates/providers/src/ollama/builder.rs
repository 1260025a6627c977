//! The builder of [`OllamaChatModel`].

use super::options::{KeepAlive, Options, Think};
use super::{Chat, OllamaChatModel, OllamaServer, default_capabilities};
use crate::ThinkingReplay;
use crate::protocol::builder::{builder_methods, debug_fields, required_model};
use crate::protocol::client::Client;
use crate::protocol::connection::{Connection, connection_setters, environment, variable};
use ai_services_core::model::{Capabilities, ChatRequestParameters};
use ai_services_core::{Error, Result};
use serde_json::Value;

/// Builds an [`OllamaChatModel`].
///
/// Only [`model`](Self::model) is required. If neither [`api_key`](Self::api_key) nor
/// [`base_url`](Self::base_url) is set, both come from the environment, as in
/// [`OllamaChatModel::from_env`].
///
/// # Examples
///
/// ```
/// use ai_services::model::ChatRequestParameters;
/// use ai_services::providers::ollama::{KeepAlive, OllamaChatModel};
///
/// let model = OllamaChatModel::builder()
///     .base_url("http://gpu:11434")
///     .model("llama3.2")
///     .parameters(ChatRequestParameters::new().temperature(0.2))
///     .context_length(16_384)
///     .keep_alive(KeepAlive::Forever)
///     .build()?;
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct OllamaChatModelBuilder {
    connection: Connection,
    model: Option<Box<str>>,
    parameters: ChatRequestParameters,
    options: Options,
    capabilities: Option<Capabilities>,
}

debug_fields!(OllamaChatModelBuilder { model, connection, parameters });

impl OllamaChatModelBuilder {
    builder_methods! {
        /// Sets the API key, which only `ollama.com` requires.
        api_key;
        /// Sets the server: the URL to which `/api/chat` is appended. Default:
        /// `http://127.0.0.1:11434`.
        base_url;
        /// Sets the model, for example `llama3.2` or `qwen3:4b`.
        model;
        /// Sets the parameters of all requests. Parameters of a request win over them.
        ///
        /// The object `options` of `extra` is merged with the options of the client.
        parameters;
    }

    connection_setters!(streams);

    /// Sets the length of the context in tokens (`num_ctx`): the conversation and the answer together.
    /// Default: the server's, often 4,096.
    ///
    /// The server silently drops the beginning of longer conversations. A new length reloads the model.
    pub fn context_length(self, tokens: u32) -> Self {
        self.option("num_ctx", tokens)
    }

    /// Sets the penalty for repetitions: 1 for none, 1.1 is usual. Default: the model's own.
    pub fn repeat_penalty(self, penalty: f64) -> Self {
        self.option("repeat_penalty", penalty)
    }

    /// Sets another member of `options`, for example `min_p` or `num_gpu`. Parameters of a request win
    /// over it.
    pub fn option(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.own.insert(name.into(), value.into());
        self
    }

    /// Sets whether the model thinks before it answers. Default: the model's own. The
    /// [`reasoning_effort`](ChatRequestParameters::reasoning_effort) of a request wins over it.
    pub fn think(mut self, think: Think) -> Self {
        self.options.think = Some(think);
        self
    }

    /// Sets whether earlier thinking is sent back to the model. Default:
    /// [`CurrentTurn`](ThinkingReplay::CurrentTurn).
    ///
    /// The templates of most models use thinking only between the calls of one turn.
    pub fn thinking_replay(mut self, replay: ThinkingReplay) -> Self {
        self.options.replay = Some(replay);
        self
    }

    /// Sets how long the server keeps the model loaded. Default: the server's, usually five minutes.
    pub fn keep_alive(mut self, keep_alive: KeepAlive) -> Self {
        self.options.keep_alive = Some(keep_alive);
        self
    }

    builder_methods! {
        /// Sets the capabilities of the model. Default: tools, images, streams, and schemas without
        /// tools. [`detect`](Self::detect) asks the server.
        capabilities;
        /// Builds the model. Sends nothing.
        ///
        /// # Errors
        ///
        /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a model,
        /// without a key for `ollama.com`, for an invalid base URL or `OLLAMA_HOST`, for a key or header
        /// that HTTP cannot carry, and if TLS cannot be set up.
        build -> OllamaChatModel;
    }

    /// Builds the model with the capabilities that the server reports. If
    /// [`capabilities`](Self::capabilities) were set, no request is sent.
    ///
    /// Models differ in whether they support tools and images. Servers before version 0.6.4 report no
    /// capabilities; the defaults apply then.
    ///
    /// # Errors
    ///
    /// The errors of [`build`](Self::build) and [`OllamaServer::model`]: if there is no server, or no
    /// such model.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels the request.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use ai_services::model::{Capability, ChatModel};
    /// use ai_services::providers::ollama::OllamaChatModel;
    ///
    /// # async fn run() -> ai_services::Result<()> {
    /// let model = OllamaChatModel::builder().model("gemma3").detect().await?;
    /// if !model.capabilities().contains(Capability::Tools) {
    ///     println!("{} calls no tools", model.name());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn detect(mut self) -> Result<OllamaChatModel> {
        let (server, model) = self.connect(environment)?;
        if self.capabilities.is_none() {
            self.capabilities = server.model(&model).await?.chat_capabilities();
        }
        Ok(self.finish(server, model))
    }

    /// Builds the model that environment variables describe.
    pub(super) fn from_env(var: impl Fn(&str) -> Option<String>) -> Result<OllamaChatModel> {
        let model = variable(&var, "OLLAMA_MODEL").ok_or_else(|| {
            Error::configuration(
                "no model: set the environment variable OLLAMA_MODEL, for example to `llama3.2`",
            )
        })?;
        Self::default().model(model).build_with(var)
    }

    fn build_with(mut self, var: impl Fn(&str) -> Option<String>) -> Result<OllamaChatModel> {
        let (server, model) = self.connect(var)?;
        Ok(self.finish(server, model))
    }

    /// Returns the server and the model.
    fn connect(
        &mut self,
        var: impl Fn(&str) -> Option<String>,
    ) -> Result<(OllamaServer, Box<str>)> {
        let server = OllamaServer::connect(std::mem::take(&mut self.connection), var)?;
        let model = required_model(self.parameters.model.clone().or(self.model.take()))?;
        Ok((server, model))
    }

    fn finish(self, server: OllamaServer, model: Box<str>) -> OllamaChatModel {
        let endpoint = server.endpoint("api/chat");
        let capabilities = self.capabilities.unwrap_or_else(default_capabilities);
        let protocol = Chat { server, endpoint, options: self.options };
        OllamaChatModel(Client::new(protocol, model, self.parameters, capabilities))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::ErrorKind;
    use ai_services_core::model::ChatModel;

    fn from_env(variables: &[(&str, &str)]) -> Result<OllamaChatModel> {
        OllamaChatModelBuilder::from_env(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn environment_sets_everything() {
        let model = from_env(&[
            ("OLLAMA_MODEL", "qwen3"),
            ("OLLAMA_HOST", "gpu:9"),
            ("OLLAMA_API_KEY", "canary"),
        ]);
        let model = model.unwrap();
        assert_eq!((model.name(), model.server().origin()), ("qwen3", "http://gpu:9".to_owned()));
        assert_eq!(model.0.protocol().endpoint.url(), "http://gpu:9/api/chat");
        assert!(!format!("{model:?}").contains("canary"), "{model:?}");
    }

    #[test]
    fn missing_variable_is_named() {
        let cloud = [("OLLAMA_MODEL", "gpt-oss:120b"), ("OLLAMA_HOST", "ollama.com")];
        for (variables, missing) in [(&[][..], "OLLAMA_MODEL"), (&cloud[..], "OLLAMA_API_KEY")] {
            let error = from_env(variables).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.to_string().contains(missing), "{error}");
        }
    }

    #[test]
    fn environment_is_not_read_if_the_server_is_set() {
        let builder = OllamaChatModel::builder().base_url("http://localhost:1").model("m");
        let model = builder.build_with(|_| unreachable!("the environment is not read")).unwrap();
        assert_eq!(model.0.protocol().endpoint.url(), "http://localhost:1/api/chat");
        assert!(OllamaChatModel::builder().base_url("http://localhost:1").build().is_err());
    }
}

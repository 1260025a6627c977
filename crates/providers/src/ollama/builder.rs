//! Building an [`OllamaChatModel`].

use super::options::{KeepAlive, Options, Think};
use super::parameters::Frame;
use super::{Inner, OllamaChatModel, OllamaServer, default_capabilities};
use crate::ThinkingReplay;
use crate::protocol::connection::{Connection, connection_setters, set};
use crate::protocol::frames::Frames;
use ai_services_core::model::{Capabilities, ChatRequestParameters};
use ai_services_core::{Error, Result};
use secrecy::SecretString;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// Builds an [`OllamaChatModel`].
///
/// Only [`model`](Self::model) is required. With neither [`api_key`](Self::api_key) nor
/// [`base_url`](Self::base_url), both come from the environment, as in [`OllamaChatModel::from_env`];
/// if one of the two is set, it is not read.
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

impl OllamaChatModelBuilder {
    /// Sets the key, which only `ollama.com` needs.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.connection.api_key = Some(SecretString::from(key.into()));
        self
    }

    /// Sets the server: the URL to which `/api/chat` is appended; `http://127.0.0.1:11434` by default.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.connection.base_url = Some(url.into());
        self
    }

    /// Sets the model to ask, for example `llama3.2` or `qwen3:4b`.
    pub fn model(mut self, model: impl Into<Box<str>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets parameters for all requests; those of a request win over them.
    ///
    /// `extra` may have `options` of its own, which are added to what is sent there.
    pub fn parameters(mut self, parameters: ChatRequestParameters) -> Self {
        self.parameters = parameters;
        self
    }

    connection_setters!(streams);

    /// Sets how many tokens of a conversation the server reads and writes (`num_ctx`). By default the
    /// server decides, often for 4,096, and silently forgets the beginning of what is longer. A change
    /// loads the model again.
    pub fn context_length(self, tokens: u32) -> Self {
        self.option("num_ctx", tokens)
    }

    /// Sets how strongly repetitions are discouraged; 1 is not at all, 1.1 is usual.
    pub fn repeat_penalty(self, penalty: f64) -> Self {
        self.option("repeat_penalty", penalty)
    }

    /// Sets any other member of `options`, for example `min_p` or `num_gpu`. The parameters of a
    /// request win over it.
    pub fn option(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.own.insert(name.into(), value.into());
        self
    }

    /// Sets whether the model thinks before it answers; its own choice by default.
    /// [`reasoning_effort`](ChatRequestParameters::reasoning_effort) wins over it.
    pub fn think(mut self, think: Think) -> Self {
        self.options.think = Some(think);
        self
    }

    /// Sets whether the model's earlier thinking is sent back to it;
    /// [`CurrentTurn`](ThinkingReplay::CurrentTurn) by default. The templates of most models show it
    /// only between the calls of one turn, whatever is sent.
    pub fn thinking_replay(mut self, replay: ThinkingReplay) -> Self {
        self.options.replay = Some(replay);
        self
    }

    /// Sets how long the server keeps the model in memory; its own choice by default, mostly five
    /// minutes.
    pub fn keep_alive(mut self, keep_alive: KeepAlive) -> Self {
        self.options.keep_alive = Some(keep_alive);
        self
    }

    /// Sets what the model can do. By default it calls tools, looks at images, answers by a schema,
    /// but not while it has tools, and streams. [`detect`](Self::detect) asks the server.
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// Builds the model. Nothing is sent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a model, without a key
    /// for `ollama.com`, for a base URL or an `OLLAMA_HOST` that is none, a key or header that HTTP
    /// cannot carry, and if TLS cannot be set up.
    pub fn build(self) -> Result<OllamaChatModel> {
        self.build_with(|name| std::env::var(name).ok())
    }

    /// Builds the model, and asks the server what it can do unless
    /// [`capabilities`](Self::capabilities) says so.
    ///
    /// Whether a model calls tools or looks at images differs from model to model. Servers before
    /// version 0.6.4 do not say; then the defaults hold.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build) and [`OllamaServer::model`]: if there is no server, or no such model.
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
    /// if !model.capabilities().include(Capability::Tools) {
    ///     println!("{} calls no tools", model.name());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn detect(self) -> Result<OllamaChatModel> {
        let is_set = self.capabilities.is_some();
        let model = self.build()?;
        if is_set {
            return Ok(model);
        }
        let details = model.0.server.model(&model.0.model).await?;
        Ok(match details.chat_capabilities() {
            Some(capabilities) => model.with_capabilities(capabilities),
            None => model,
        })
    }

    /// The model of [`OllamaChatModel::from_env`].
    pub(super) fn from_env(var: impl Fn(&str) -> Option<String>) -> Result<OllamaChatModel> {
        let model = set(&var, "OLLAMA_MODEL").ok_or_else(|| {
            Error::configuration(
                "no model: set the environment variable OLLAMA_MODEL, for example to `llama3.2`",
            )
        })?;
        Self::default().model(model).build_with(var)
    }

    fn build_with(self, var: impl Fn(&str) -> Option<String>) -> Result<OllamaChatModel> {
        let server = OllamaServer::connect(self.connection, var)?;
        let model = self.parameters.model.clone().or(self.model);
        let model = model.ok_or_else(|| Error::configuration("no model: call `model`"))?;
        let frames = Frames::new(self.parameters, |parameters, delivery| {
            Frame::new(parameters, &model, &self.options, delivery)
        });
        Ok(OllamaChatModel(Arc::new(Inner {
            frames,
            endpoint: server.endpoint("api/chat"),
            server,
            options: self.options,
            model,
            capabilities: self.capabilities.unwrap_or_else(default_capabilities),
        })))
    }
}

impl fmt::Debug for OllamaChatModelBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OllamaChatModelBuilder")
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
        assert_eq!(
            (&*model.0.model, model.server().origin()),
            ("qwen3", "http://gpu:9".to_owned())
        );
        assert_eq!(model.0.endpoint.url(), "http://gpu:9/api/chat");
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
    fn environment_is_not_read_where_the_server_is_told() {
        let builder = OllamaChatModel::builder().base_url("http://localhost:1").model("m");
        let model = builder.build_with(|_| unreachable!("the environment is not read")).unwrap();
        assert_eq!(model.0.endpoint.url(), "http://localhost:1/api/chat");
        assert!(OllamaChatModel::builder().base_url("http://localhost:1").build().is_err());
    }
}

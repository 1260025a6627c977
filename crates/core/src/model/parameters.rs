//! Request parameters of the model, the service and the call.

use schemars::Schema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Parameters of a request to a chat model.
///
/// A parameter that is `None` falls back to the next level: the call's parameters take precedence
/// over the service's, and these over the model's own. If no level sets a parameter, the provider's
/// default applies.
///
/// # Examples
///
/// ```
/// use ai_services::model::ChatRequestParameters;
///
/// let service = ChatRequestParameters::new().temperature(0.2).max_output_tokens(500);
/// let call = ChatRequestParameters::new().temperature(0.9);
/// let merged = call.or(&service);
/// assert_eq!((merged.temperature, merged.max_output_tokens), (Some(0.9), Some(500)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ChatRequestParameters {
    /// The model to call instead of the client's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Box<str>>,
    /// The sampling temperature. Most providers accept 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling: the probability mass to choose from, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// The number of most likely tokens to sample from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// The penalty for tokens by their frequency so far, -2 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// The penalty for tokens that occurred at least once, -2 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// The maximum length of the answer in tokens, including reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// Texts that end the answer. Empty: not set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<Box<str>>,
    /// The seed of the sampling. Makes answers repeatable as far as the provider supports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// Permission or obligation to call tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// The format of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_format: Option<ResponseFormat>,
    /// The effort of a reasoning model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Members that are added to the provider's request unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra: Option<Box<Map<String, Value>>>,
}

impl ChatRequestParameters {
    /// Creates parameters without any value set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns these parameters, with unset ones taken from `fallback`. The members of `extra` are
    /// merged one by one.
    #[must_use]
    pub fn or(&self, fallback: &Self) -> Self {
        let extra = match (&self.extra, &fallback.extra) {
            (Some(own), Some(other)) => {
                let mut merged = (**other).clone();
                merged.extend((**own).clone());
                Some(Box::new(merged))
            }
            (own, other) => own.as_ref().or(other.as_ref()).cloned(),
        };
        Self {
            model: self.model.as_ref().or(fallback.model.as_ref()).cloned(),
            temperature: self.temperature.or(fallback.temperature),
            top_p: self.top_p.or(fallback.top_p),
            top_k: self.top_k.or(fallback.top_k),
            frequency_penalty: self.frequency_penalty.or(fallback.frequency_penalty),
            presence_penalty: self.presence_penalty.or(fallback.presence_penalty),
            max_output_tokens: self.max_output_tokens.or(fallback.max_output_tokens),
            stop: if self.stop.is_empty() { &fallback.stop } else { &self.stop }.clone(),
            seed: self.seed.or(fallback.seed),
            tool_choice: self.tool_choice.as_ref().or(fallback.tool_choice.as_ref()).cloned(),
            response_format: self
                .response_format
                .as_ref()
                .or(fallback.response_format.as_ref())
                .cloned(),
            reasoning_effort: self
                .reasoning_effort
                .as_ref()
                .or(fallback.reasoning_effort.as_ref())
                .cloned(),
            extra,
        }
    }

    /// Sets the model to call.
    #[must_use]
    pub fn model(mut self, model: impl Into<Box<str>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets the sampling temperature. Most providers accept 0 to 2.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets the probability mass to choose from, 0 to 1.
    #[must_use]
    pub fn top_p(mut self, top_p: f64) -> Self {
        self.top_p = Some(top_p);
        self
    }

    /// Sets the number of most likely tokens to sample from.
    #[must_use]
    pub fn top_k(mut self, top_k: u32) -> Self {
        self.top_k = Some(top_k);
        self
    }

    /// Sets the penalty for frequent tokens, -2 to 2.
    #[must_use]
    pub fn frequency_penalty(mut self, penalty: f64) -> Self {
        self.frequency_penalty = Some(penalty);
        self
    }

    /// Sets the penalty for tokens that occurred at least once, -2 to 2.
    #[must_use]
    pub fn presence_penalty(mut self, penalty: f64) -> Self {
        self.presence_penalty = Some(penalty);
        self
    }

    /// Limits the answer to this many tokens.
    #[must_use]
    pub fn max_output_tokens(mut self, tokens: u32) -> Self {
        self.max_output_tokens = Some(tokens);
        self
    }

    /// Sets the texts that end the answer.
    #[must_use]
    pub fn stop<T: Into<Box<str>>>(mut self, stop: impl IntoIterator<Item = T>) -> Self {
        self.stop = stop.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the seed of the sampling. Makes answers repeatable as far as the provider supports it.
    #[must_use]
    pub fn seed(mut self, seed: i64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets whether the model may, must or must not call tools.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = Some(choice);
        self
    }

    /// Sets the format of the answer.
    #[must_use]
    pub fn response_format(mut self, format: ResponseFormat) -> Self {
        self.response_format = Some(format);
        self
    }

    /// Sets the effort of a reasoning model.
    #[must_use]
    pub fn reasoning_effort(mut self, effort: ReasoningEffort) -> Self {
        self.reasoning_effort = Some(effort);
        self
    }

    /// Adds a member to the provider's request. Overrides the client's own member of the same name.
    #[must_use]
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.get_or_insert_default().insert(name.into(), value.into());
        self
    }
}

/// The choice between optional, forbidden and required tool calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// The model must not call a tool.
    None,
    /// The model must call at least one tool.
    Required,
    /// The model must call this tool.
    Tool(Box<str>),
}

/// The format of the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseFormat {
    /// Text.
    Text,
    /// Any JSON object.
    JsonObject,
    /// JSON that follows a schema.
    JsonSchema {
        /// The name of the schema, for the provider's logs and caches.
        name: Box<str>,
        /// The schema. Serialize it [in order](crate::schema::in_order).
        schema: Box<Schema>,
    },
}

/// The effort of a reasoning model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningEffort {
    /// Almost no reasoning.
    Minimal,
    /// Little reasoning.
    Low,
    /// The usual amount of reasoning.
    Medium,
    /// As much reasoning as possible.
    High,
    /// A level of a particular provider, by its name.
    Other(Box<str>),
}

impl ReasoningEffort {
    /// Returns the level as providers name it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Other(level) => level,
        }
    }
}

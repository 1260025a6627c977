//! Parameters of a request: at the model, at the service, at the call.

use schemars::Schema;
use serde_json::{Map, Value};

/// Parameters of a request to a chat model.
///
/// What is `None` is left to the next level: the call's parameters win over the service's, these over
/// the model's own, and what nobody sets is left to the provider.
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
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ChatRequestParameters {
    /// The model to ask, in place of the client's own.
    pub model: Option<Box<str>>,
    /// Randomness; most providers accept 0 to 2.
    pub temperature: Option<f64>,
    /// Nucleus sampling: the probability mass to choose from, 0 to 1.
    pub top_p: Option<f64>,
    /// Sampling among this many most likely tokens.
    pub top_k: Option<u32>,
    /// Penalty for tokens by how often they occurred, -2 to 2.
    pub frequency_penalty: Option<f64>,
    /// Penalty for tokens that occurred at all, -2 to 2.
    pub presence_penalty: Option<f64>,
    /// The longest answer, in tokens, reasoning included.
    pub max_output_tokens: Option<u32>,
    /// Texts at which the model stops. Empty: not set.
    pub stop: Vec<Box<str>>,
    /// Makes answers repeatable as far as the provider can.
    pub seed: Option<i64>,
    /// Whether the model may, must or must not call tools.
    pub tool_choice: Option<ToolChoice>,
    /// The form of the answer.
    pub response_format: Option<ResponseFormat>,
    /// How hard a reasoning model should think.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Members that are added to the provider's request as they are.
    pub extra: Option<Box<Map<String, Value>>>,
}

impl ChatRequestParameters {
    /// Nothing set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// These, and what they leave open from `fallback`. Members of `extra` are merged one by one.
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

    /// Asks this model.
    #[must_use]
    pub fn model(mut self, model: impl Into<Box<str>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets the randomness; most providers accept 0 to 2.
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

    /// Samples among this many most likely tokens.
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

    /// Sets the penalty for tokens that occurred, -2 to 2.
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

    /// Stops the answer at any of these texts.
    #[must_use]
    pub fn stop<T: Into<Box<str>>>(mut self, stop: impl IntoIterator<Item = T>) -> Self {
        self.stop = stop.into_iter().map(Into::into).collect();
        self
    }

    /// Makes answers repeatable as far as the provider can.
    #[must_use]
    pub fn seed(mut self, seed: i64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Says whether the model may, must or must not call tools.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = Some(choice);
        self
    }

    /// Sets the form of the answer.
    #[must_use]
    pub fn response_format(mut self, format: ResponseFormat) -> Self {
        self.response_format = Some(format);
        self
    }

    /// Sets how hard a reasoning model should think.
    #[must_use]
    pub fn reasoning_effort(mut self, effort: ReasoningEffort) -> Self {
        self.reasoning_effort = Some(effort);
        self
    }

    /// Adds a member to the provider's request. It wins over what the client writes itself.
    #[must_use]
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.get_or_insert_default().insert(name.into(), value.into());
        self
    }
}

/// Whether the model may, must or must not call tools.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// It must not call any.
    None,
    /// It must call at least one.
    Required,
    /// It must call this one.
    Tool(Box<str>),
}

impl ToolChoice {
    /// Whether the model has less than a free choice.
    pub(super) fn is_forced(&self) -> bool {
        *self != Self::Auto
    }
}

/// The form of the answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ResponseFormat {
    /// Text.
    Text,
    /// Any JSON object.
    JsonObject,
    /// JSON that follows a schema.
    JsonSchema {
        /// The name of the schema, for the provider's logs and caches.
        name: Box<str>,
        /// The schema. To be written [in order](crate::schema::in_order).
        schema: Box<Schema>,
    },
}

/// How hard a reasoning model should think.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningEffort {
    /// Hardly at all.
    Minimal,
    /// A little.
    Low,
    /// The usual amount.
    Medium,
    /// As hard as it can.
    High,
    /// A level that only some models know, in the provider's words.
    Other(Box<str>),
}

impl ReasoningEffort {
    /// The level in the words that providers use.
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

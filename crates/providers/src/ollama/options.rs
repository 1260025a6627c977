//! What only Ollama can be told.

use crate::ThinkingReplay;
use ai_services_core::model::ReasoningEffort;
use serde_json::{Map, Value};
use std::time::Duration;

/// How long the server keeps a model in memory after it answered; five minutes unless told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeepAlive {
    /// For this long. Zero is as [`Unload`](Self::Unload).
    For(Duration),
    /// Until the server ends.
    Forever,
    /// Not at all: the model is unloaded at once.
    Unload,
}

impl KeepAlive {
    /// Seconds, of which a negative number is for ever.
    pub(super) fn to_json(self) -> Value {
        match self {
            Self::For(time) if time.subsec_nanos() == 0 => time.as_secs().into(),
            Self::For(time) => time.as_secs_f64().into(),
            Self::Forever => (-1).into(),
            Self::Unload => 0.into(),
        }
    }
}

/// Whether a model that can think before it answers does so.
///
/// Models that cannot think refuse everything but [`Off`](Self::Off). Unless it is told, a thinking model
/// thinks; servers before version 0.9 then leave its thoughts in the text, between `<think>` tags.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Think {
    /// It answers at once.
    Off,
    /// It thinks.
    On,
    /// It thinks this much, if it knows levels, as `gpt-oss` does; all others just think.
    Effort(ReasoningEffort),
}

impl Think {
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Off => false.into(),
            Self::On => true.into(),
            // The protocol has three levels, and models that always think have no "none".
            Self::Effort(ReasoningEffort::Minimal) => "low".into(),
            Self::Effort(effort) => match effort.as_str() {
                "none" | "false" => false.into(),
                "true" => true.into(),
                level => level.into(),
            },
        }
    }
}

/// What requests depend on, beside the parameters.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    pub(super) replay: Option<ThinkingReplay>,
    pub(super) think: Option<Think>,
    pub(super) keep_alive: Option<KeepAlive>,
    /// Members of `options` that parameters have no name for.
    pub(super) own: Map<String, Value>,
}

impl Options {
    /// A model that thinks between tool calls sees its thoughts of this turn, as in Ollama's own loop.
    pub(super) fn replay(&self) -> ThinkingReplay {
        self.replay.unwrap_or(ThinkingReplay::CurrentTurn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keep_alive_is_written_in_seconds() {
        let json = |keep_alive: KeepAlive| keep_alive.to_json().to_string();
        assert_eq!(json(KeepAlive::For(Duration::from_secs(90))), "90");
        assert_eq!(json(KeepAlive::For(Duration::from_millis(1500))), "1.5");
        assert_eq!(json(KeepAlive::Forever), "-1");
        assert_eq!(json(KeepAlive::Unload), "0");
    }

    #[test]
    fn effort_is_written_in_the_words_of_the_protocol() {
        let json = |effort| Think::Effort(effort).to_json().to_string();
        assert_eq!(json(ReasoningEffort::Minimal), r#""low""#);
        assert_eq!(json(ReasoningEffort::Medium), r#""medium""#);
        assert_eq!(json(ReasoningEffort::Other("max".into())), r#""max""#);
        assert_eq!(json(ReasoningEffort::Other("none".into())), "false");
        assert_eq!((Think::Off.to_json(), Think::On.to_json()), (false.into(), true.into()));
    }
}

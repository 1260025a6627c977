//! Options of Ollama.

use crate::ThinkingReplay;
use ai_services_core::model::ReasoningEffort;
use serde_json::{Map, Value};
use std::time::Duration;

/// The time for which the server keeps a model loaded after an answer. Default: the server's, usually five
/// minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeepAlive {
    /// A duration. Zero has the effect of [`Unload`](Self::Unload).
    For(Duration),
    /// Until the server stops.
    Forever,
    /// No time: the model is unloaded immediately.
    Unload,
}

impl KeepAlive {
    /// Converts to seconds. A negative number means forever.
    pub(super) fn to_json(self) -> Value {
        match self {
            Self::For(time) if time.subsec_nanos() == 0 => time.as_secs().into(),
            Self::For(time) => time.as_secs_f64().into(),
            Self::Forever => (-1).into(),
            Self::Unload => 0.into(),
        }
    }
}

/// The thinking of the model before it answers.
///
/// Models without thinking reject all values except [`Off`](Self::Off). Without this setting, a thinking
/// model thinks; servers before version 0.9 then leave the thoughts in the text, between `<think>` tags.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Think {
    /// No thinking.
    Off,
    /// Thinking.
    On,
    /// Thinking with an effort, for models with levels such as `gpt-oss`. Other models think as with
    /// [`On`](Self::On).
    Effort(ReasoningEffort),
}

impl Think {
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Off => false.into(),
            Self::On => true.into(),
            // The protocol has three levels. Models that always think do not accept "none".
            Self::Effort(ReasoningEffort::Minimal) => "low".into(),
            Self::Effort(effort) => match effort.as_str() {
                "none" | "false" => false.into(),
                "true" => true.into(),
                level => level.into(),
            },
        }
    }
}

/// The options of a client, beside the parameters of its requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    pub(super) replay: Option<ThinkingReplay>,
    pub(super) think: Option<Think>,
    pub(super) keep_alive: Option<KeepAlive>,
    /// Members of `options` that are not request parameters.
    pub(super) own: Map<String, Value>,
}

impl Options {
    /// Returns the replay of thinking. Default: the current turn, so that a model sees its thoughts between
    /// tool calls, as in Ollama's own loop.
    pub(super) fn replay(&self) -> ThinkingReplay {
        self.replay.unwrap_or(ThinkingReplay::CurrentTurn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keep_alive_is_sent_in_seconds() {
        let json = |keep_alive: KeepAlive| keep_alive.to_json().to_string();
        assert_eq!(json(KeepAlive::For(Duration::from_secs(90))), "90");
        assert_eq!(json(KeepAlive::For(Duration::from_millis(1500))), "1.5");
        assert_eq!(json(KeepAlive::Forever), "-1");
        assert_eq!(json(KeepAlive::Unload), "0");
    }

    #[test]
    fn effort_is_sent_as_a_level_of_the_protocol() {
        let json = |effort| Think::Effort(effort).to_json().to_string();
        assert_eq!(json(ReasoningEffort::Minimal), r#""low""#);
        assert_eq!(json(ReasoningEffort::Medium), r#""medium""#);
        assert_eq!(json(ReasoningEffort::Other("max".into())), r#""max""#);
        assert_eq!(json(ReasoningEffort::Other("none".into())), "false");
        assert_eq!((Think::Off.to_json(), Think::On.to_json()), (false.into(), true.into()));
    }
}

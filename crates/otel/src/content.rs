//! The capture of content.

use crate::truncation::fit;
use opentelemetry::KeyValue;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// The content that is recorded: prompts, answers, arguments and results of tools, retrieved texts.
///
/// Default: [`Nothing`](Self::Nothing). No environment variable changes it.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum ContentCapture {
    /// No content is recorded.
    #[default]
    Nothing,
    /// Content is recorded as attributes of spans, as JSON in the form of the conventions.
    Attributes {
        /// Maximum size of one attribute in bytes. Longer content is shortened: texts are cut and end with `…`, then the
        /// oldest entries of lists are left out. The result is still JSON.
        max_bytes: usize,
    },
    /// A function decides. See [`hook`](Self::hook).
    Hook(ContentHook),
}

/// A function that receives the name of an attribute and its content before it is serialized, and returns the content
/// to record.
#[derive(Clone)]
pub struct ContentHook(Arc<HookFn>);

type HookFn = dyn Fn(&str, Value) -> Option<Value> + Send + Sync;

impl ContentCapture {
    /// Passes content to a function, for each call, whether or not its trace is sampled.
    ///
    /// The arguments are the name of the attribute, such as `gen_ai.input.messages`, and its content. The function
    /// returns the value to record, for example a redacted copy or the address of an upload, or `None` to record
    /// nothing. It runs on the task of the call, and should return quickly.
    #[must_use]
    pub fn hook(hook: impl Fn(&str, Value) -> Option<Value> + Send + Sync + 'static) -> Self {
        Self::Hook(ContentHook(Arc::new(hook)))
    }

    /// Returns the attribute for a content, which is computed only if it may be recorded.
    pub(crate) fn attribute(
        &self,
        name: &'static str,
        content: impl FnOnce() -> Value,
    ) -> Option<KeyValue> {
        let text = match self {
            Self::Nothing => return None,
            Self::Attributes { max_bytes } => fit(content(), *max_bytes)?,
            Self::Hook(hook) => match (hook.0)(name, content())? {
                Value::String(text) => text,
                value => value.to_string(),
            },
        };
        Some(KeyValue::new(name, text))
    }
}

impl fmt::Debug for ContentCapture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("Nothing"),
            Self::Attributes { max_bytes } => {
                f.debug_struct("Attributes").field("max_bytes", max_bytes).finish()
            }
            Self::Hook(_) => f.write_str("Hook"),
        }
    }
}

impl fmt::Debug for ContentHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ContentHook")
    }
}

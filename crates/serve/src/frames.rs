//! Server-sent events.

use bytes::Bytes;
use serde::Serialize;

/// A buffer of server-sent events.
#[derive(Debug, Default)]
pub(crate) struct Frames(Vec<u8>);

impl Frames {
    /// Adds an event with JSON data.
    pub(crate) fn data(&mut self, data: &impl Serialize) {
        self.0.extend_from_slice(b"data: ");
        self.json(data);
    }

    /// Adds an event with a name and JSON data.
    pub(crate) fn event(&mut self, name: &str, data: &impl Serialize) {
        self.0.extend_from_slice(b"event: ");
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\ndata: ");
        self.json(data);
    }

    /// Adds the event that ends OpenAI's streams and those of the AI SDK.
    pub(crate) fn done(&mut self) {
        self.0.extend_from_slice(b"data: [DONE]\n\n");
    }

    /// Adds a comment, which clients ignore and proxies take for activity.
    pub(crate) fn keep_alive(&mut self) {
        self.0.extend_from_slice(b": keep-alive\n\n");
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the events so far, unless there are none.
    pub(crate) fn take(&mut self) -> Option<Bytes> {
        (!self.0.is_empty()).then(|| Bytes::from(std::mem::take(&mut self.0)))
    }

    /// Adds JSON, which contains no line breaks, and the end of the event.
    fn json(&mut self, data: &impl Serialize) {
        if let Err(error) = serde_json::to_writer(&mut self.0, data) {
            // The data are plain structs with text keys: serde_json writes all of them.
            tracing::error!(%error, "cannot write an event");
        }
        self.0.extend_from_slice(b"\n\n");
    }
}

//! Reads of several keys of one conversation.

use super::RedisChatMemoryStore;
use super::rows::RawField;
use ai_services_core::memory::MemoryId;
use ai_services_core::{Error, ErrorKind, Result};
use redis::{FromRedisValue, Pipeline, Value};

/// Maximum number of attempts to read a conversation that changes in the meantime.
const ATTEMPTS: u32 = 16;

impl RedisChatMemoryStore {
    /// Reads several keys of one conversation, all of the same version.
    ///
    /// The queries are sent between two reads of the version, and again if a commit came between. A
    /// transaction would have the same effect, but a server that has reached `maxmemory` rejects every command
    /// in `MULTI`, also those that read.
    pub(super) async fn read_consistently<T: FromRedisValue>(
        &self,
        action: &str,
        id: &MemoryId,
        add_queries: impl Fn(&mut Pipeline),
    ) -> Result<T> {
        let head = self.0.keys.of(id).head;
        let unexpected = |reason: String| {
            let message = format!("Redis: cannot {action}: unexpected answer: {reason}");
            Error::new(ErrorKind::Store, message)
        };
        for _ in 0..ATTEMPTS {
            let mut pipeline = redis::pipe();
            pipeline.cmd("HGET").arg(&head).arg("version");
            add_queries(&mut pipeline);
            pipeline.cmd("HGET").arg(&head).arg("version");
            let mut answers: Vec<Value> = self.0.connections.request(action, pipeline).await?;
            let Some(after) = answers.pop().filter(|_| !answers.is_empty()) else {
                return Err(unexpected("it is too short".to_owned()));
            };
            let before = answers.remove(0);
            let parsed = |value| RawField::from_redis_value(value);
            let versions = parsed(before).and_then(|before| Ok((before, parsed(after)?)));
            let (before, after) = versions.map_err(|error| unexpected(error.to_string()))?;
            if before == after {
                let answers = T::from_redis_value(Value::Array(answers));
                return answers.map_err(|error| unexpected(error.to_string()));
            }
        }
        let message = format!("the conversation `{id}` changed repeatedly while it was read");
        Err(Error::new(ErrorKind::Store, message).with_retryable(true))
    }
}

//! What an answer is found by.

use crate::combinators::canonical::write_request;
use crate::error::Result;
use crate::model::ChatRequest;
use sha2::{Digest, Sha256};
use std::fmt;

/// Changes whenever answers should not be found by keys that were made before.
const VERSION: &str = "ai-services response 1";

/// What a cached answer is found by: a digest of the whole request.
///
/// SHA-256 of a canonical JSON of messages, tools and parameters, with the name of the model and the
/// [namespace](super::CachedModelBuilder::namespace). Equal requests have equal keys, in every process;
/// attributes of messages, which no model sees, do not count.
///
/// # Examples
///
/// ```
/// use ai_services::combinators::CacheKey;
/// use ai_services::message::ChatMessage;
/// use ai_services::model::ChatRequest;
///
/// let key = |text: &str| CacheKey::of(&ChatRequest::new([ChatMessage::user(text)]), "gpt-4o", "");
/// assert_eq!(key("Hi!")?, key("Hi!")?);
/// assert_ne!(key("Hi!")?, key("Hi")?);
/// assert_eq!(key("Hi!")?.to_string().len(), 64);
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    /// The key of a request to a model.
    ///
    /// # Errors
    ///
    /// None in practice: only for a request that cannot be written as JSON.
    pub fn of(request: &ChatRequest, model: &str, namespace: &str) -> Result<Self> {
        let mut json = Vec::with_capacity(1024);
        // As JSON, so that no name can end early and be continued by another part.
        json.extend(serde_json::json!([VERSION, namespace, model]).to_string().bytes());
        write_request(request, &mut json)?;
        Ok(Self(Sha256::digest(&json).into()))
    }
}

/// 64 hexadecimal digits.
impl fmt::Display for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CacheKey({self})")
    }
}

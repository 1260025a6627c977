//! Keys of cached answers.

use crate::combinators::canonical::write_request;
use crate::error::Result;
use crate::model::ChatRequest;
use sha2::{Digest, Sha256};
use std::fmt;

/// Version of the key format. A new version invalidates all earlier keys.
const VERSION: &str = "ai-services response 1";

/// The key of a cached answer: a digest of the whole request.
///
/// SHA-256 of the canonical JSON of messages, tools and parameters, of the model's name and of the
/// [namespace](super::CachedModelBuilder::namespace). Equal requests have equal keys in every process.
/// Attributes of messages are ignored, because they are not sent to a model.
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
    /// Returns the key of a request to a model.
    ///
    /// # Errors
    ///
    /// Fails only for a request that cannot be written as JSON, which does not happen in practice.
    pub fn of(request: &ChatRequest, model: &str, namespace: &str) -> Result<Self> {
        let mut json = Vec::with_capacity(1024);
        // As JSON, so that the boundary between two names is unambiguous.
        json.extend(serde_json::json!([VERSION, namespace, model]).to_string().bytes());
        write_request(request, &mut json)?;
        Ok(Self(Sha256::digest(&json).into()))
    }
}

/// Writes 64 hexadecimal digits.
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

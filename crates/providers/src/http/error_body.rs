//! Parsing of the error bodies of all providers.

use serde_json::{Map, Value};
use std::time::Duration;

/// The content of an error body.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ErrorBody {
    pub(super) message: Option<String>,
    /// The most specific code: `code`, else `type`, else the reason in Google's `details`, else
    /// `status`.
    pub(super) code: Option<String>,
    /// A numeric code, which some gateways send instead of the status.
    pub(super) number: Option<u16>,
    /// Delay before the next attempt, from Google's `details`.
    pub(super) retry_after: Option<Duration>,
}

impl ErrorBody {
    /// Parses `{"error": {…}}`, `{"error": "…"}`, `{"response": {"error": {…}}}`, `{"message": …}`,
    /// `{"detail": …}`, `{"detail": {"error": …}}`, and an array with one of them as its first element.
    /// Returns `None` for other bodies.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let document: Value = serde_json::from_slice(body).ok()?;
        let document = match &document {
            Value::Array(list) => list.first()?,
            document => document,
        };
        let outer = document.as_object()?;
        // Tavily wraps the error in one more object: `{"detail": {"error": "…"}}`.
        let detail = outer.get("detail").and_then(Value::as_object);
        let outer = detail.filter(|detail| detail.contains_key("error")).unwrap_or(outer);
        // The event of a failed answer wraps the answer: `{"response": {"error": {…}}}`.
        let inner = || outer.get("response")?.get("error");
        let error = outer.get("error").filter(|error| !error.is_null());
        match error.or_else(inner) {
            Some(Value::Object(error)) => Some(Self::of(error)),
            // The other members have more detail: `{"error": "…", "code": …}`.
            Some(Value::String(text)) => {
                let members = Self::of(outer);
                let message = members.message.unwrap_or_else(|| text.clone());
                Some(Self { message: Some(message), ..members })
            }
            _ => Some(Self::of(outer)).filter(|error| error.message.is_some()),
        }
    }

    /// Reads the members of an error object.
    fn of(error: &Map<String, Value>) -> Self {
        let text = |name: &str| match error.get(name)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            _ => None,
        };
        let details = || error.get("details").and_then(Value::as_array).into_iter().flatten();
        let detail = |name: &str| details().find_map(|detail| detail.get(name)?.as_str());
        let message = ["message", "detail", "msg"].iter().find_map(|name| text(name));
        let number = error.get("code").and_then(|code| match code {
            Value::String(digits) => digits.parse().ok(),
            number => number.as_u64().and_then(|number| u16::try_from(number).ok()),
        });
        Self {
            message: message
                .or_else(|| error.get("detail").map(ToString::to_string))
                .or_else(|| error.get("message").map(ToString::to_string)),
            code: text("code")
                .or_else(|| text("type"))
                .or_else(|| detail("reason").map(str::to_owned))
                .or_else(|| text("status")),
            number,
            retry_after: detail("retryDelay").and_then(seconds),
        }
    }
}

/// Parses a duration in the JSON form of Protocol Buffers, for example `13.5s`.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(body: &Value) -> ErrorBody {
        ErrorBody::parse(body.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn error_inside_a_detail_is_found() {
        let error = parse(&json!({ "detail": { "error": "no such key" } }));
        assert_eq!(error.message.as_deref(), Some("no such key"));
        let listed = parse(&json!({ "detail": [{ "loc": ["body"], "msg": "m" }] }));
        assert_eq!(listed.message.as_deref(), Some(r#"[{"loc":["body"],"msg":"m"}]"#));
        assert_eq!(parse(&json!({ "detail": { "a": 1 } })).message.as_deref(), Some(r#"{"a":1}"#));
    }

    #[test]
    fn details_have_the_reason_and_the_retry_delay() {
        let retry = |delay: Value| {
            json!({ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "m",
                "details": [7, { "@type": "a/QuotaFailure" }, { "@type": "a/RetryInfo", "retryDelay": delay }] } })
        };
        let error = parse(&retry(json!("13.5s")));
        assert_eq!(error.retry_after, Some(Duration::from_millis(13_500)));
        assert_eq!((error.code.as_deref(), error.number), (Some("RESOURCE_EXHAUSTED"), Some(429)));
        for malformed in
            [json!("13"), json!("-1s"), json!("s"), json!("NaNs"), json!(13), json!(null)]
        {
            assert_eq!(parse(&retry(malformed)).retry_after, None);
        }
        let invalid_key = json!({ "error": { "code": 400, "status": "INVALID_ARGUMENT", "message": "m",
            "details": [{ "@type": "a/ErrorInfo", "reason": "API_KEY_INVALID" }] } });
        assert_eq!(parse(&invalid_key).code.as_deref(), Some("API_KEY_INVALID"));
        for odd in [json!({}), json!("no"), json!(null)] {
            let body = json!({ "error": { "message": "m", "status": "S", "details": odd } });
            assert_eq!(parse(&body).code.as_deref(), Some("S"));
        }
    }
}

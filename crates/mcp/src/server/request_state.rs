//! The state of a request that waits for the client, in the client's hands.

use ai_services_core::memory::{MemoryId, TurnId};
use ai_services_core::{Error, Result};
use rmcp::ErrorData;
use rmcp::model::{JsonObject, RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::time::Duration;

/// Time in which the client may answer.
const TIME_TO_LIVE: Duration = Duration::from_secs(60 * 60);

/// Largest size of the answers of one request, as JSON in bytes.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// The answers of a client, by key.
pub(super) type Answers = BTreeMap<String, Value>;

/// The state of a request that waits for the client.
#[derive(Serialize, Deserialize)]
pub(super) struct RequestState {
    turn: String,
    pub(super) answers: Answers,
}

/// The request that a state belongs to. The state of another request is rejected.
pub(super) struct Binding<'a> {
    pub(super) method: &'static str,
    pub(super) name: &'a str,
    pub(super) arguments: &'a JsonObject,
    pub(super) caller: Option<&'a MemoryId>,
}

/// Seals states: a client can neither change a state nor use it for another request.
#[derive(Debug)]
pub(super) struct Sealer(RequestStateCodec);

impl Sealer {
    /// Creates a sealer with a key of at least 32 bytes.
    pub(super) fn new(key: Vec<u8>) -> Result<Self> {
        let codec = RequestStateCodec::try_new(key).map_err(|error| {
            Error::configuration(format!("invalid key of request states: {error}"))
        })?;
        Ok(Self(codec))
    }

    /// Creates a sealer with a random key.
    pub(super) fn random() -> Result<Self> {
        let random = std::iter::repeat_with(uuid::Uuid::new_v4);
        Self::new(random.take(3).flat_map(uuid::Uuid::into_bytes).collect())
    }

    pub(super) fn seal(
        &self,
        state: &RequestState,
        binding: &Binding<'_>,
    ) -> Result<String, ErrorData> {
        let text = serde_json::to_vec(state)
            .map_err(|_| ErrorData::internal_error("the request state cannot be sealed", None))?;
        if text.len() > MAX_ANSWER_BYTES {
            return Err(ErrorData::invalid_params("the input responses are too large", None));
        }
        let digest = binding.digest();
        let options = SealOptions::new().associated_data(&digest).ttl(TIME_TO_LIVE);
        Ok(self.0.seal_with(&text, &options))
    }

    /// Returns the state of a request. Fails if the state is forged, expired, or of another request.
    pub(super) fn open(
        &self,
        sealed: &str,
        binding: &Binding<'_>,
    ) -> Result<RequestState, ErrorData> {
        let invalid = |reason: String| {
            tracing::warn!(reason, "rejected a request state");
            ErrorData::invalid_params("invalid request state; call again without it", None)
        };
        let text = self.0.open_with(sealed, &binding.digest());
        let text = text.map_err(|error| invalid(error.to_string()))?;
        serde_json::from_slice(&text).map_err(|error| invalid(error.to_string()))
    }
}

impl RequestState {
    pub(super) fn new(turn: TurnId, answers: Answers) -> Self {
        Self { turn: turn.to_string(), answers }
    }

    /// Returns the identity of the call, which is the same for each round.
    pub(super) fn turn(&self) -> TurnId {
        self.turn.parse().unwrap_or_else(|_| TurnId::new())
    }
}

impl Binding<'_> {
    /// Returns a digest of the request. The order of the arguments does not count.
    fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        let caller = self.caller.map(MemoryId::as_str);
        let mut arguments = Value::Object(self.arguments.clone());
        arguments.sort_all_objects();
        // JSON separates the parts: no two requests have the same text.
        digest.update(serde_json::json!([self.method, self.name, caller, arguments]).to_string());
        digest.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn binding<'a>(arguments: &'a JsonObject, caller: Option<&'a MemoryId>) -> Binding<'a> {
        Binding { method: "tools/call", name: "pay", arguments, caller }
    }

    fn arguments(json: Value) -> JsonObject {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn state_of_the_same_request_is_opened() {
        let sealer = Sealer::random().unwrap();
        let one = arguments(json!({ "order": "A7", "details": { "a": 1, "b": 2 } }));
        let same = arguments(json!({ "details": { "b": 2, "a": 1 }, "order": "A7" }));
        let answers = BTreeMap::from([("name".to_owned(), json!("Ann"))]);
        let state = RequestState::new(TurnId::from_u128(7), answers);
        let sealed = sealer.seal(&state, &binding(&one, None)).unwrap();
        let opened = sealer.open(&sealed, &binding(&same, None)).unwrap();
        assert_eq!((opened.turn(), &opened.answers), (TurnId::from_u128(7), &state.answers));
    }

    #[test]
    fn state_of_another_request_or_caller_or_server_is_rejected() {
        let sealer = Sealer::random().unwrap();
        let (one, other) = (arguments(json!({ "order": 1 })), arguments(json!({ "order": 2 })));
        let (ann, bob) = (MemoryId::from("ann"), MemoryId::from("bob"));
        let state = RequestState::new(TurnId::new(), Answers::new());
        let sealed = sealer.seal(&state, &binding(&one, Some(&ann))).unwrap();
        let rejected =
            |sealer: &Sealer, sealed: &str, binding| sealer.open(sealed, &binding).is_err();
        assert!(!rejected(&sealer, &sealed, binding(&one, Some(&ann))));
        assert!(rejected(&sealer, &sealed, binding(&other, Some(&ann))));
        assert!(rejected(&sealer, &sealed, binding(&one, Some(&bob))));
        assert!(rejected(&sealer, &sealed, binding(&one, None)));
        assert!(rejected(
            &sealer,
            &sealed,
            Binding { name: "refund", ..binding(&one, Some(&ann)) }
        ));
        assert!(rejected(&Sealer::random().unwrap(), &sealed, binding(&one, Some(&ann))));
        for forged in ["", "rs1.x.y", &format!("{sealed}x"), &sealed[1..]] {
            assert!(rejected(&sealer, forged, binding(&one, Some(&ann))), "{forged}");
        }
    }

    #[test]
    fn short_key_is_a_configuration_error() {
        let error = Sealer::new(vec![0; 31]).unwrap_err();
        assert!(error.to_string().contains("at least 32 bytes"), "{error}");
    }
}

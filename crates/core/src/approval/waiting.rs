//! The entry of a journal that waits for decisions.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The entry of a journal that waits for decisions.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The number of the round, from 1.
    pub round: u32,
    /// The calls that wait.
    pub calls: Vec<WaitingCall>,
    /// The time after which no decision is accepted, in milliseconds since 1970.
    pub expires: u64,
}

/// A call of a [`Waiting`] entry.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingCall {
    /// The index of the call in the answer of the model.
    pub index: usize,
    /// The description of the tool.
    pub description: String,
    /// The digest of the definition of the tool.
    pub definition: String,
    /// The digest of the call: turn, tool, arguments, definition and questions.
    pub digest: String,
}

/// Returns 32 hexadecimal digits of SHA-256 over the parts with their lengths.
#[doc(hidden)]
#[must_use]
pub fn digest(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the value with the members of all objects in the order of their names. A value that passed through another
/// program may have another order.
pub(super) fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(sorted).collect(),
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            let sorted = members.into_iter().map(|(name, value)| (name.clone(), sorted(value)));
            Value::Object(sorted.collect::<Map<_, _>>())
        }
        value => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sorted_values_do_not_depend_on_the_order_of_members() {
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let (one, other) =
            (parse(r#"[{"b":{"d":1,"c":2},"a":0}]"#), parse(r#"[{"a":0,"b":{"c":2,"d":1}}]"#));
        assert_eq!(sorted(&one).to_string(), sorted(&other).to_string());
        assert_eq!(sorted(&one), json!([{"a": 0, "b": {"c": 2, "d": 1}}]));
    }
}

//! The identity of one call.

use super::TurnId;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Identifies one call of a service method. All events of the call carry it.
///
/// Random, with 128 bits. The text form, also in JSON, has 32 hexadecimal digits.
///
/// A call is not a turn: a durable turn that is [resumed](super::TurnId) after a crash goes on in another call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(u128);

impl CallId {
    /// Creates a random id.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "two defaults would not be equal")]
    pub fn new() -> Self {
        Self(TurnId::new().as_u128())
    }

    /// Creates an id from its number.
    #[must_use]
    pub const fn from_u128(number: u128) -> Self {
        Self(number)
    }

    /// Returns the id as a number.
    #[must_use]
    pub const fn as_u128(self) -> u128 {
        self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TurnId::from_u128(self.0).fmt(f)
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallId({self})")
    }
}

impl Serialize for CallId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CallId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let id: TurnId = text.parse().map_err(|_| D::Error::custom("not a call id"))?;
        Ok(Self(id.as_u128()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_form_round_trips() {
        for id in [CallId::new(), CallId::from_u128(0), CallId::from_u128(u128::MAX)] {
            let json = serde_json::to_string(&id).unwrap();
            assert_eq!(serde_json::from_str::<CallId>(&json).unwrap(), id);
        }
        assert!(serde_json::from_str::<CallId>("\"7\"").is_err());
    }
}

//! The identity of one turn.

use crate::random::random;
use std::fmt;
use std::str::FromStr;

/// Identifies one turn of a conversation, also after a restart of the process.
///
/// Random, with 128 bits. The text form has 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnId(u128);

impl TurnId {
    /// Creates a random id.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "two defaults would not be equal")]
    pub fn new() -> Self {
        Self((u128::from(random()) << 64) | u128::from(random()))
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

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TurnId({self})")
    }
}

/// The error of a text that is not a [`TurnId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidTurnId;

impl fmt::Display for InvalidTurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a turn id has 32 hexadecimal digits in lower case")
    }
}

impl std::error::Error for InvalidTurnId {}

impl FromStr for TurnId {
    type Err = InvalidTurnId;

    fn from_str(text: &str) -> Result<Self, InvalidTurnId> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() != 32 || !text.bytes().all(is_digit) {
            return Err(InvalidTurnId);
        }
        u128::from_str_radix(text, 16).map(Self).map_err(|_| InvalidTurnId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips() {
        for id in [TurnId::new(), TurnId::from_u128(0), TurnId::from_u128(u128::MAX)] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
    }

    #[test]
    fn other_texts_are_rejected() {
        let upper = TurnId::from_u128(u128::MAX).to_string().to_uppercase();
        for text in ["", "1", "+0000000000000000000000000000001", &upper] {
            assert_eq!(text.parse::<TurnId>(), Err(InvalidTurnId), "{text}");
        }
    }

    #[test]
    fn ids_are_unique() {
        assert_ne!(TurnId::new(), TurnId::new());
    }
}

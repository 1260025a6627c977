//! The identity of a conversation.

use crate::error::{Error, Result};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Identifies a chat memory, for example by user or by conversation.
///
/// An id is a text. Different tuples give different ids: a tuple writes the length of each part
/// before the part, so `("ab", "c")` and `("a", "bc")` do not collide. A service rejects an empty
/// id, because all callers without an id would share it.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{MemoryId, ToMemoryId};
///
/// assert_eq!(MemoryId::from("klaus").as_str(), "klaus");
/// assert_eq!(42_u64.to_memory_id().as_str(), "42");
/// assert_eq!(("acme", 42_u64).to_memory_id().as_str(), "4:acme2:42");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemoryId(Arc<str>);

impl MemoryId {
    /// Returns the id as the text that stores use.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Rejects an empty id, because all callers without an id would share it.
pub(crate) fn check_memory_id(id: &MemoryId) -> Result<()> {
    match id.as_str() {
        "" => Err(Error::configuration("a memory id must not be empty")),
        _ => Ok(()),
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: ToMemoryId + ?Sized> From<&T> for MemoryId {
    fn from(id: &T) -> Self {
        id.to_memory_id()
    }
}

impl From<String> for MemoryId {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

/// A value that can identify a chat memory.
///
/// Implemented for text, integers, `Uuid` (feature `uuid`), tuples of these, and references. Equal
/// values must give equal ids, and different values must give different ids.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{MemoryId, ToMemoryId};
///
/// struct Customer(u32);
///
/// impl ToMemoryId for Customer {
///     fn to_memory_id(&self) -> MemoryId {
///         self.0.to_memory_id()
///     }
/// }
///
/// assert_eq!(Customer(7).to_memory_id(), MemoryId::from("7"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a memory id",
    label = "not a memory id",
    note = "memory ids are text, integers, `Uuid`, `MemoryId`, and tuples of these",
    note = "for a type of your own, implement `ai_services::memory::ToMemoryId`"
)]
pub trait ToMemoryId {
    /// Returns the id of this value.
    fn to_memory_id(&self) -> MemoryId;
}

impl ToMemoryId for MemoryId {
    fn to_memory_id(&self) -> MemoryId {
        self.clone()
    }
}

impl ToMemoryId for str {
    fn to_memory_id(&self) -> MemoryId {
        MemoryId(self.into())
    }
}

impl ToMemoryId for String {
    fn to_memory_id(&self) -> MemoryId {
        self.as_str().to_memory_id()
    }
}

impl ToMemoryId for Cow<'_, str> {
    fn to_memory_id(&self) -> MemoryId {
        self.as_ref().to_memory_id()
    }
}

impl ToMemoryId for Box<str> {
    fn to_memory_id(&self) -> MemoryId {
        self.as_ref().to_memory_id()
    }
}

impl ToMemoryId for Arc<str> {
    fn to_memory_id(&self) -> MemoryId {
        MemoryId(Self::clone(self))
    }
}

#[cfg(feature = "uuid")]
impl ToMemoryId for uuid::Uuid {
    fn to_memory_id(&self) -> MemoryId {
        MemoryId::from(self.to_string())
    }
}

impl<T: ToMemoryId + ?Sized> ToMemoryId for &T {
    fn to_memory_id(&self) -> MemoryId {
        T::to_memory_id(self)
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {
        $(impl ToMemoryId for $integer {
            fn to_memory_id(&self) -> MemoryId {
                MemoryId::from(self.to_string())
            }
        })*
    };
}

integers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

macro_rules! tuples {
    ($(($($part:ident)+))*) => {
        $(impl<$($part: ToMemoryId),+> ToMemoryId for ($($part,)+) {
            fn to_memory_id(&self) -> MemoryId {
                #[allow(non_snake_case, reason = "the type parameters name the fields")]
                let ($($part,)+) = self;
                join_parts(&[$($part.to_memory_id()),+])
            }
        })*
    };
}

tuples!((A B) (A B C) (A B C D));

/// Joins the parts, each with its length in bytes as a prefix, so that different lists of parts
/// give different ids.
fn join_parts(parts: &[MemoryId]) -> MemoryId {
    let mut text = String::new();
    for part in parts {
        text.push_str(&part.0.len().to_string());
        text.push(':');
        text.push_str(&part.0);
    }
    MemoryId::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// All texts of up to three of these characters, which also occur in the prefixes of the parts.
    fn texts() -> Vec<String> {
        let mut texts = vec![String::new()];
        let mut last = texts.clone();
        for _ in 0..3 {
            let longer = |text: &String| "0123:".chars().map(|c| format!("{text}{c}")).collect();
            last = last.iter().flat_map::<Vec<String>, _>(longer).collect();
            texts.extend(last.clone());
        }
        texts
    }

    #[test]
    fn ids_of_pairs_are_unique() {
        let texts = texts();
        let pairs = texts.iter().flat_map(|a| texts.iter().map(move |b| (&**a, &**b)));
        let ids: HashSet<MemoryId> = pairs.map(|pair| pair.to_memory_id()).collect();
        assert_eq!(ids.len(), 156 * 156);
    }
}

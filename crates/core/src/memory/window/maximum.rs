//! The maximum size of a window.

use super::MemoryId;
use crate::error::{Error, Result};
use std::fmt;

/// State of a window's builder: no maximum was set yet.
#[derive(Debug, Default)]
pub struct NoMaximum;

/// State of a window's builder: the maximum `L` was set.
#[diagnostic::on_unimplemented(
    message = "this chat memory has no maximum",
    label = "call `.max_messages(...)`, or `.max_tokens(...)` for a token window, before `.build()`"
)]
pub trait MaximumGiven<L> {
    #[doc(hidden)]
    fn into_limit(self) -> L;
}

#[diagnostic::do_not_recommend]
impl<L> MaximumGiven<L> for L {
    fn into_limit(self) -> L {
        self
    }
}

/// A fixed number, or a function that is evaluated at each use.
pub(in crate::memory) enum Maximum {
    Fixed(usize),
    Dynamic(Box<dyn Fn(&MemoryId) -> usize + Send + Sync>),
}

impl Maximum {
    /// Returns the current maximum. Fails if it is zero.
    pub(in crate::memory) fn now(&self, id: &MemoryId, setter: &str) -> Result<usize> {
        let maximum = match self {
            Self::Fixed(maximum) => *maximum,
            Self::Dynamic(maximum) => maximum(id),
        };
        if maximum == 0 { Err(zero(setter)) } else { Ok(maximum) }
    }
}

fn zero(setter: &str) -> Error {
    Error::configuration(format!("`{setter}` must be greater than zero, but is 0"))
}

impl fmt::Debug for Maximum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(maximum) => maximum.fmt(f),
            Self::Dynamic(_) => f.write_str("dynamic"),
        }
    }
}

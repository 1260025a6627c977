//! Whether a caller still waits for what a thread does.

use super::Fault;
use std::sync::{Arc, Weak};

/// Held by a caller as long as it waits.
#[derive(Debug, Default)]
pub(super) struct Wanted(Arc<()>);

/// Held by the thread that works for the caller.
#[derive(Debug)]
pub(super) struct Watch(Weak<()>);

impl Wanted {
    pub(super) fn watch(&self) -> Watch {
        Watch(Arc::downgrade(&self.0))
    }
}

impl Watch {
    /// Fails if the caller has gone. What it fails with reaches nobody.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.0.strong_count() == 0 { Err(Fault::Closed) } else { Ok(()) }
    }
}

//! The choices of the application.

use crate::{ContentCapture, MemoryIds};

#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) content: ContentCapture,
    pub(crate) memory_ids: MemoryIds,
}

//! The components that must be set before a service can be built.

use crate::model::ChatModel;
use crate::service::description::{Given, Missing, Optional};
use std::sync::Arc;

/// A builder with a chat model.
#[diagnostic::on_unimplemented(
    message = "this AI service has no chat model",
    label = "call `.chat_model(...)` before `.build()`"
)]
pub trait ChatModelGiven {
    #[doc(hidden)]
    fn into_model(self) -> Arc<dyn ChatModel>;
}

impl ChatModelGiven for Arc<dyn ChatModel> {
    fn into_model(self) -> Arc<dyn ChatModel> {
        self
    }
}

/// A builder with the memory that its trait requires.
#[diagnostic::on_unimplemented(
    message = "this AI service has a `#[memory_id]` but no chat memory provider",
    label = "call `.chat_memory_provider(...)` before `.build()`",
    note = "`.chat_memory(...)` is one memory for methods without a `#[memory_id]`"
)]
pub trait MemoryGiven<Need> {}

impl<Need> MemoryGiven<Need> for Given {}
impl MemoryGiven<Optional> for Missing {}

/// A builder with the moderation model that its trait requires.
#[diagnostic::on_unimplemented(
    message = "this AI service has a `#[moderate]` method but no moderation model",
    label = "call `.moderation_model(...)` before `.build()`"
)]
pub trait ModerationGiven<Need> {}

impl<Need> ModerationGiven<Need> for Given {}
impl ModerationGiven<Optional> for Missing {}

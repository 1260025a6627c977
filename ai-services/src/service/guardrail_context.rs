//! The turn as guardrails see it.

use crate::TurnContext;
use crate::document::TextSegment;
use crate::rag::{Retrieved, RetrievedContent};

/// The turn and the retrieved content, as input and output guardrails see them.
pub(super) struct GuardrailContext {
    pub(super) turn: TurnContext,
    /// The texts of the retrieved content.
    pub(super) segments: Vec<TextSegment>,
    retrieved: Retrieved,
}

impl GuardrailContext {
    pub(super) fn new(turn: TurnContext, retrieved: Retrieved) -> Self {
        let segments = retrieved.contents.iter().map(|content| content.segment.clone()).collect();
        Self { turn, segments, retrieved }
    }

    /// Returns the retrieved content, best first.
    pub(super) fn contents(&self) -> &[RetrievedContent] {
        &self.retrieved.contents
    }

    pub(super) fn into_contents(self) -> Vec<RetrievedContent> {
        self.retrieved.contents
    }
}

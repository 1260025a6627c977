//! The guardrails of a method.

use crate::guardrail::{ChunkGuardrail, InputGuardrail, OutputGuardrail};
use crate::service::description::DeclaredGuardrails;
use std::fmt;
use std::sync::Arc;

/// Creates a chunk guardrail for an answer.
type CreateChunkGuardrail = dyn Fn() -> Box<dyn ChunkGuardrail> + Send + Sync;

/// The guardrails of a method, in the order in which they run.
#[derive(Clone, Default)]
pub(in crate::service) struct Guards {
    input: Vec<Arc<dyn InputGuardrail>>,
    output: Vec<Arc<dyn OutputGuardrail>>,
    chunk: Vec<Arc<CreateChunkGuardrail>>,
    max_retries: Option<usize>,
}

impl Guards {
    /// Default of [`Self::max_retries`].
    const MAX_RETRIES: usize = 2;

    pub(in crate::service) fn add_input(&mut self, guardrail: impl InputGuardrail + 'static) {
        self.input.push(Arc::new(guardrail));
    }

    pub(in crate::service) fn add_output(&mut self, guardrail: impl OutputGuardrail + 'static) {
        self.output.push(Arc::new(guardrail));
    }

    pub(in crate::service) fn add_chunk<G: ChunkGuardrail + 'static>(
        &mut self,
        create: impl Fn() -> G + Send + Sync + 'static,
    ) {
        self.chunk.push(Arc::new(move || -> Box<dyn ChunkGuardrail> { Box::new(create()) }));
    }

    pub(in crate::service) fn set_max_retries(&mut self, retries: usize) {
        self.max_retries = Some(retries);
    }

    /// Returns these guardrails, followed by new guardrails from attributes.
    pub(in crate::service) fn and(&self, declared: &DeclaredGuardrails) -> Self {
        let mut all = self.clone();
        all.input.extend(declared.input.into_iter().flat_map(|create| create()));
        all.output.extend(declared.output.into_iter().flat_map(|create| create()));
        all.max_retries = declared.max_retries.or(self.max_retries);
        all
    }

    /// Returns how often the model is called again because of output guardrails.
    pub(in crate::service) fn max_retries(&self) -> usize {
        self.max_retries.unwrap_or(Self::MAX_RETRIES)
    }

    pub(in crate::service) fn input(&self) -> &[Arc<dyn InputGuardrail>] {
        &self.input
    }

    pub(in crate::service) fn output(&self) -> &[Arc<dyn OutputGuardrail>] {
        &self.output
    }

    pub(super) fn has_chunk(&self) -> bool {
        !self.chunk.is_empty()
    }

    /// Creates the chunk guardrails of a new answer.
    pub(super) fn chunk_chain(&self) -> Vec<Box<dyn ChunkGuardrail>> {
        self.chunk.iter().map(|create| create()).collect()
    }
}

impl fmt::Debug for Guards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let input = self.input.iter().map(|guardrail| guardrail.name());
        let output = self.output.iter().map(|guardrail| guardrail.name());
        f.debug_struct("Guards")
            .field("input", &input.collect::<Vec<_>>())
            .field("output", &output.collect::<Vec<_>>())
            .field("chunk", &self.chunk.len())
            .finish_non_exhaustive()
    }
}

//! The guardrails of a method: those of the builder, then those of its trait, then its own.

mod chunks;
mod input;
mod output;

pub(super) use chunks::{Chunks, Part};

use super::description::DeclaredGuardrails;
use crate::error::Result;
use crate::guardrail::{ChunkGuardrail, GuardrailStage, InputGuardrail, OutputGuardrail};
use std::fmt;
use std::sync::Arc;
use tracing::{Instrument, Span, field};

/// Makes a chunk guardrail for an answer.
type MakeChunkGuardrail = dyn Fn() -> Box<dyn ChunkGuardrail> + Send + Sync;

/// The guardrails that apply, in the order in which they run.
#[derive(Clone, Default)]
pub(super) struct Guards {
    input: Vec<Arc<dyn InputGuardrail>>,
    output: Vec<Arc<dyn OutputGuardrail>>,
    chunk: Vec<Arc<MakeChunkGuardrail>>,
    max_retries: Option<usize>,
}

impl Guards {
    /// How often the model is asked again by default.
    const MAX_RETRIES: usize = 2;

    pub(super) fn add_input(&mut self, guardrail: impl InputGuardrail + 'static) {
        self.input.push(Arc::new(guardrail));
    }

    pub(super) fn add_output(&mut self, guardrail: impl OutputGuardrail + 'static) {
        self.output.push(Arc::new(guardrail));
    }

    pub(super) fn add_chunk<G: ChunkGuardrail + 'static>(
        &mut self,
        make: impl Fn() -> G + Send + Sync + 'static,
    ) {
        self.chunk.push(Arc::new(move || -> Box<dyn ChunkGuardrail> { Box::new(make()) }));
    }

    pub(super) fn set_max_retries(&mut self, retries: usize) {
        self.max_retries = Some(retries);
    }

    /// These, and then those that attributes name, which are made now.
    pub(super) fn and(&self, declared: &DeclaredGuardrails) -> Self {
        let mut all = self.clone();
        all.input.extend(declared.input.into_iter().flat_map(|make| make()));
        all.output.extend(declared.output.into_iter().flat_map(|make| make()));
        all.max_retries = declared.max_retries.or(self.max_retries);
        all
    }

    pub(super) fn max_retries(&self) -> usize {
        self.max_retries.unwrap_or(Self::MAX_RETRIES)
    }

    /// Whether somebody checks what the user says.
    pub(super) fn has_input(&self) -> bool {
        !self.input.is_empty()
    }

    /// Whether somebody checks whole answers.
    pub(super) fn has_output(&self) -> bool {
        !self.output.is_empty()
    }
}

/// Waits for the verdict of a guardrail, within a span of its own.
async fn verdict_of<V>(
    guardrail: &str,
    stage: GuardrailStage,
    check: impl Future<Output = Result<V>>,
    name: fn(&V) -> &'static str,
) -> Result<V> {
    let span = span(guardrail, stage);
    let verdict = check.instrument(span.clone()).await;
    match &verdict {
        Ok(verdict) => span.record("ai_services.guardrail.verdict", name(verdict)),
        Err(error) => span.record("error.type", field::debug(error.kind())),
    };
    verdict
}

fn span(name: &str, stage: GuardrailStage) -> Span {
    tracing::info_span!(
        "guardrail",
        otel.name = %format_args!("guardrail {name}"),
        ai_services.guardrail.name = name,
        ai_services.guardrail.stage = match stage {
            GuardrailStage::Input => "input",
            GuardrailStage::Output => "output",
        },
        ai_services.guardrail.verdict = field::Empty,
        error.r#type = field::Empty,
    )
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

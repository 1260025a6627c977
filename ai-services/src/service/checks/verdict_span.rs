//! The tracing span of one guardrail.

use crate::Result;
use crate::guardrail::GuardrailStage;
use tracing::{Instrument, Span, field};

/// Waits for the verdict of a guardrail and reports it, within a span of its own.
pub(super) async fn in_span<V>(
    guardrail: &str,
    stage: GuardrailStage,
    check: impl Future<Output = Result<V>>,
    name: fn(&V) -> &'static str,
    report: impl FnOnce(&V),
) -> Result<V> {
    let span = span(guardrail, stage);
    let verdict = check.instrument(span.clone()).await;
    match &verdict {
        Ok(verdict) => {
            span.record("ai_services.guardrail.verdict", name(verdict));
            span.in_scope(|| report(verdict));
        }
        Err(error) => {
            span.record("error.type", field::debug(error.kind()));
        }
    }
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

//! The tracing span of one guardrail.

use crate::Result;
use crate::guardrail::GuardrailStage;
use ai_services_core::trace::StepSpan;
use tracing::{Span, field};

/// Waits for the verdict of a guardrail and reports it, within a span of its own.
pub(super) async fn in_span<V>(
    guardrail: &str,
    stage: GuardrailStage,
    check: impl Future<Output = Result<V>>,
    name: fn(&V) -> &'static str,
    report: impl FnOnce(&V),
) -> Result<V> {
    let mut step = StepSpan::new(span(guardrail, stage));
    let verdict = step.run(check).await;
    if let Ok(verdict) = &verdict {
        step.span().record("ai_services.guardrail.verdict", name(verdict));
        step.span().in_scope(|| report(verdict));
    }
    step.end(&verdict);
    verdict
}

fn span(name: &str, stage: GuardrailStage) -> Span {
    tracing::info_span!(
        "guardrail",
        otel.name = %format_args!("guardrail {name}"),
        otel.status_code = field::Empty,
        gen_ai.conversation.id = field::Empty,
        ai_services.guardrail.name = name,
        ai_services.guardrail.stage = match stage {
            GuardrailStage::Input => "input",
            GuardrailStage::Output => "output",
        },
        ai_services.guardrail.verdict = field::Empty,
        error.r#type = field::Empty,
    )
}

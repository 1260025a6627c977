//! The spans of requests to embedding models.

use super::chat::record_usage;
use super::count;
use super::step::StepSpan;
use crate::error::Result;
use crate::model::{EmbeddingModel, EmbeddingPurpose, Embeddings};
use tracing::{Span, field};

/// Embeds texts within a span.
///
/// # Errors
///
/// Returns the errors of the model.
pub async fn embed(
    model: &dyn EmbeddingModel,
    texts: &[&str],
    purpose: EmbeddingPurpose,
) -> Result<Embeddings> {
    let span = embeddings_span(model, texts.len());
    if span.is_disabled() {
        return model.embed(texts, purpose).await;
    }
    let mut step = StepSpan::new(span);
    let outcome = step.run(model.embed(texts, purpose)).await;
    match &outcome {
        Ok(embeddings) => {
            step.span().record("gen_ai.response.model", embeddings.model.as_deref());
            record_usage(step.span(), &embeddings.usage);
        }
        Err(error) => {
            if let Some(usage) = error.usage() {
                record_usage(step.span(), usage);
            }
        }
    }
    step.end(&outcome);
    outcome
}

fn embeddings_span(model: &dyn EmbeddingModel, texts: usize) -> Span {
    tracing::info_span!(
        "embeddings",
        otel.name = %format_args!("embeddings {}", model.name()),
        otel.kind = "client",
        otel.status_code = field::Empty,
        gen_ai.operation.name = "embeddings",
        gen_ai.provider.name = model.endpoint().provider,
        gen_ai.conversation.id = field::Empty,
        gen_ai.request.model = model.name(),
        gen_ai.embeddings.dimension.count = model.dimensions().map(count),
        server.address = model.endpoint().address,
        server.port = model.endpoint().port.map(i64::from),
        gen_ai.response.model = field::Empty,
        gen_ai.usage.input_tokens = field::Empty,
        gen_ai.usage.output_tokens = field::Empty,
        error.r#type = field::Empty,
        ai_services.embeddings.texts = count(texts),
    )
}

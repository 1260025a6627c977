//! The layer of a subscriber: ids of conversations and metrics.

use crate::instruments::Instruments;
use crate::semconv;
use crate::span_state::{SpanKind, SpanState};
use std::fmt;
use std::sync::Arc;
use tracing::span::{Attributes, Id, Record};
use tracing::{Span, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// The layer of a [`Telemetry`](crate::Telemetry). Spans of other crates are ignored.
#[derive(Clone)]
pub struct TelemetryLayer(pub(crate) Arc<Instruments>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for TelemetryLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if !attributes.metadata().target().starts_with("ai_services") {
            return;
        }
        let Some(span) = context.span(id) else { return };
        let kind = SpanKind::of(attributes.metadata().name());
        let mut conversation = None;
        for parent in span.scope().skip(1) {
            let mut extensions = parent.extensions_mut();
            if let Some(state) = extensions.get_mut::<SpanState>() {
                state.delegates |= kind == SpanKind::Chat && state.kind == SpanKind::Chat;
                conversation = state.conversation.clone();
                break;
            }
        }
        if kind == SpanKind::Agent {
            // A call of another service has a conversation of its own.
            conversation = None;
        }
        let mut state = SpanState::new(kind, conversation);
        attributes.record(&mut state);
        // `insert` panics if another layer of this type came first.
        span.extensions_mut().replace(state);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(state) = span.extensions_mut().get_mut::<SpanState>() {
            values.record(state);
        }
    }

    // Not when the span is created: another layer may not have it yet.
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let inherited = {
            let mut extensions = span.extensions_mut();
            let state = extensions.get_mut::<SpanState>().filter(|state| state.inherits);
            state.and_then(|state| {
                state.inherits = false;
                state.conversation.clone()
            })
        };
        if let Some(conversation) = inherited {
            let current = Span::current();
            if current.id().as_ref() == Some(id) {
                current.record(semconv::CONVERSATION_ID, &*conversation);
            }
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(state) = span.extensions_mut().remove::<SpanState>() else { return };
        state.record(&self.0);
        let (is_inference, is_tool) = (state.is_inference(), state.kind == SpanKind::Tool);
        if !is_inference && !is_tool {
            return;
        }
        for parent in span.scope().skip(1) {
            let mut extensions = parent.extensions_mut();
            let state = extensions.get_mut::<SpanState>();
            if let Some(agent) = state.filter(|state| state.kind == SpanKind::Agent) {
                agent.inference_calls += u64::from(is_inference);
                agent.tool_calls += u64::from(is_tool);
                return;
            }
        }
    }
}

impl fmt::Debug for TelemetryLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TelemetryLayer")
    }
}

//! The telemetry of a process, and its builder.

use crate::instruments::Instruments;
use crate::layer::TelemetryLayer;
use crate::listener::EventRecorder;
use crate::settings::Settings;
use crate::{ContentCapture, MemoryIds};
use ai_services_core::event::{Call, Event};
use opentelemetry::global;
use opentelemetry::metrics::Meter;
use std::sync::Arc;

/// Telemetry of services: a layer for the subscriber of the process, and a listener for each service.
///
/// See the [crate documentation](crate) for an example.
#[derive(Clone, Debug)]
pub struct Telemetry {
    settings: Arc<Settings>,
    layer: TelemetryLayer,
}

impl Telemetry {
    /// Starts building telemetry.
    pub fn builder() -> TelemetryBuilder {
        TelemetryBuilder::default()
    }

    /// Returns the layer. Add it to the subscriber that has the layer of `tracing-opentelemetry`, in any order.
    #[must_use]
    pub fn layer(&self) -> TelemetryLayer {
        self.layer.clone()
    }

    /// Returns a listener for `AiServiceBuilder::listener`.
    pub fn listener(&self) -> impl Fn(&Call<'_>, &Event<'_>) + Send + Sync + use<> {
        let recorder = EventRecorder::new(Arc::clone(&self.settings));
        move |call, event| recorder.observe(call, event)
    }
}

/// Builds a [`Telemetry`].
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct TelemetryBuilder {
    content: ContentCapture,
    memory_ids: MemoryIds,
    meter: Option<Meter>,
}

impl TelemetryBuilder {
    /// Sets the content that is recorded. Default: [`ContentCapture::Nothing`].
    pub fn content(mut self, content: ContentCapture) -> Self {
        self.content = content;
        self
    }

    /// Sets the form in which memory ids are recorded. Default: [`MemoryIds::hashed`] without a key.
    pub fn memory_ids(mut self, memory_ids: MemoryIds) -> Self {
        self.memory_ids = memory_ids;
        self
    }

    /// Sets the meter of the metrics. Default: the meter `ai-services` of OpenTelemetry's global provider, as it is
    /// when the telemetry is built.
    pub fn meter(mut self, meter: Meter) -> Self {
        self.meter = Some(meter);
        self
    }

    /// Builds the telemetry.
    #[must_use]
    pub fn build(self) -> Telemetry {
        let Self { content, memory_ids, meter } = self;
        let meter = meter.unwrap_or_else(|| global::meter("ai-services"));
        Telemetry {
            settings: Arc::new(Settings { content, memory_ids }),
            layer: TelemetryLayer(Arc::new(Instruments::new(&meter))),
        }
    }
}

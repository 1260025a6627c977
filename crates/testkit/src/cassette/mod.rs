//! Recordings of what models were asked and answered.

mod difference;
mod fault;
mod format;
mod record;
mod redact;
mod replay;
mod shapes;
mod tape;
mod told;

pub use difference::NotRecorded;
pub use format::CorruptCassette;
pub use record::{RecordingModel, RecordingModelBuilder, WriteErrorPolicy};
pub use replay::{ReplayModel, ReplayModelBuilder, ReplayOrder, ReplayUse};
pub use tape::ExistingCassette;

use ai_services_core::combinators::canonical::write_request;
use ai_services_core::model::ChatRequest;
use ai_services_core::{Error, ErrorKind, Result};
use serde_json::Value;

/// A request as a cassette has it, secrets included.
fn request_value(request: &ChatRequest) -> Result<Value> {
    let mut json = Vec::new();
    write_request(request, &mut json)?;
    serde_json::from_slice(&json).map_err(|source| {
        Error::new(ErrorKind::Configuration, "the request cannot be written as JSON")
            .with_source(source)
    })
}

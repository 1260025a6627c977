//! Recordings of requests to models and their answers.

mod cassette_file;
mod difference;
mod format;
mod playback;
mod record;
mod redact;
mod replay;
mod wire_error;

pub use cassette_file::ExistingCassette;
pub use difference::NotRecorded;
pub use format::CorruptCassette;
pub use record::{RecordingModel, RecordingModelBuilder, WriteErrorPolicy};
pub use replay::{ReplayModel, ReplayModelBuilder, ReplayOrder, ReplayUse};

use ai_services_core::combinators::canonical::write_request;
use ai_services_core::model::ChatRequest;
use ai_services_core::{Error, ErrorKind, Result};
use serde_json::Value;

/// Returns the JSON of a request in a cassette, without redaction.
fn request_value(request: &ChatRequest) -> Result<Value> {
    let mut json = Vec::new();
    write_request(request, &mut json)?;
    serde_json::from_slice(&json).map_err(|source| {
        Error::new(ErrorKind::Configuration, "the request cannot be written as JSON")
            .with_source(source)
    })
}

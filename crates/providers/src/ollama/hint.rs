//! Hints for the two most common failures: no server, and no such model.

use super::OllamaServer;
use ai_services_core::{Error, ErrorKind};
use std::time::Duration;

/// Maximum time to list the models for an error message.
const LISTING: Duration = Duration::from_secs(2);
/// Maximum number of models in an error message.
const MAX_NAMED: usize = 10;

/// Adds a hint how to start the server, if it does not answer.
pub(super) fn unreachable(server: &OllamaServer, error: Error) -> Error {
    let is_unreachable = matches!(error.kind(), ErrorKind::Connection | ErrorKind::Timeout)
        && error.detail::<reqwest::Error>().is_some_and(reqwest::Error::is_connect);
    if !is_unreachable {
        return error;
    }
    let origin = server.origin();
    error.with_hint(&format!(
        "is Ollama running at {origin}? start it with `ollama serve`, or say with OLLAMA_HOST or \
         `base_url` where it is"
    ))
}

/// Adds a hint to the error of a request for a model.
pub(super) async fn explain(server: &OllamaServer, model: &str, error: Error) -> Error {
    if !is_missing_model(&error) {
        return unreachable(server, error);
    }
    let hint = format!("`ollama pull {model}` fetches the model `{model}`");
    // A failure of the listing must not hide the original error.
    let hint = match tokio::time::timeout(LISTING, server.models()).await {
        Ok(Ok(models)) if models.is_empty() => format!("{hint}; there are no models yet"),
        Ok(Ok(models)) => {
            let names = models.iter().take(MAX_NAMED);
            let names: Vec<_> = names.map(|model| format!("`{}`", model.name)).collect();
            let more = models.len().saturating_sub(MAX_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{hint}; there are {}{more}", names.join(", "))
        }
        Ok(Err(_)) | Err(_) => hint,
    };
    error.with_hint(&hint)
}

/// Returns whether the model is missing. The server also answers unknown paths with 404.
fn is_missing_model(error: &Error) -> bool {
    let text = error.to_string();
    error.status() == Some(404) && text.contains("model") && text.contains("not found")
}

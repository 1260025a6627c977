//! Hints for the two most common failures: no server, and no such model.

use super::models::OllamaModel;
use ai_services_core::{Error, ErrorKind};

/// Maximum number of models in an error message.
const MAX_NAMED: usize = 10;

/// Adds a hint how to start the server, if the server does not answer.
pub(super) fn unreachable(origin: &str, error: Error) -> Error {
    let is_unreachable = matches!(error.kind(), ErrorKind::Connection | ErrorKind::Timeout)
        && error.detail::<reqwest::Error>().is_some_and(reqwest::Error::is_connect);
    if !is_unreachable {
        return error;
    }
    error.with_hint(&format!(
        "is Ollama running at {origin}? start it with `ollama serve`, or set its address with OLLAMA_HOST or \
         `base_url`"
    ))
}

/// Adds a hint how to pull a model, with the models of the server if they are known.
pub(super) fn missing_model(model: &str, models: Option<&[OllamaModel]>, error: Error) -> Error {
    let available = match models {
        None => String::new(),
        Some([]) => "; there are no models yet".to_owned(),
        Some(models) => {
            let names = models.iter().take(MAX_NAMED);
            let names: Vec<_> = names.map(|model| format!("`{}`", model.name)).collect();
            let more = models.len().saturating_sub(MAX_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("; there are {}{more}", names.join(", "))
        }
    };
    error.with_hint(&format!("`ollama pull {model}` fetches the model `{model}`{available}"))
}

/// Returns whether the model is missing. The server also answers unknown paths with 404.
pub(super) fn is_missing_model(error: &Error) -> bool {
    let text = error.to_string();
    error.status() == Some(404) && text.contains("model") && text.contains("not found")
}

//! A turn as a cassette.

use ai_services_core::combinators::canonical::{Answer, CAPABILITY_NAMES, write_request};
use ai_services_core::model::{
    Capabilities, Capability, ChatRequest, ChatRequestParameters, ToolSpecifications,
};
use ai_services_core::record::{RecordedError, StepKind, TurnRecord};
use ai_services_core::redaction::Redaction;
use ai_services_core::{Error, Result};
use serde::Serialize;
use serde_json::{Value, json};

/// Returns the exchanges of a turn as a cassette: a header, then a line for each answer or error of the model. Secrets in
/// well-known formats are replaced, as `RecordingModel` replaces them.
///
/// The record does not contain the capabilities of the model. The header has those that the requests need, and `streaming`.
///
/// # Errors
///
/// Fails if a request cannot be written as JSON.
pub(crate) fn cassette(record: &TurnRecord) -> Result<String> {
    let redaction = Redaction::default();
    let (mut lines, mut requests) = (String::new(), Vec::new());
    let mut tools = ToolSpecifications::default();
    // The request that has no outcome yet.
    let mut open = None;
    for step in &record.steps {
        let exchange = match &step.kind {
            StepKind::RequestIssued(issued) => {
                tools = issued.tools.clone().unwrap_or(tools);
                let messages = record.messages_of(requests.len()).into_iter().cloned();
                let builder = ChatRequest::builder().messages(messages).tools(tools.clone());
                let request = builder.parameters((*issued.parameters).clone()).build();
                open = Some(request_value(&request)?);
                requests.push(request);
                continue;
            }
            StepKind::ResponseReceived(response) => {
                let answer = value(&Answer((**response).clone()))?;
                open.take().map(|request| json!({ "request": request, "response": answer }))
            }
            StepKind::RequestFailed(error) => {
                open.take().map(|request| json!({ "request": request, "error": failure(error) }))
            }
            _ => None,
        };
        if let Some(mut exchange) = exchange {
            redaction.line(&mut exchange);
            lines.push_str(&format!("{exchange}\n"));
        }
    }
    let header = json!({
        "format": "ai-services cassette",
        "version": 1,
        "model": redaction.text(model(record)),
        "capabilities": capabilities(&requests),
    });
    Ok(format!("{header}\n{lines}"))
}

/// Returns the name of the model that has answered.
fn model(record: &TurnRecord) -> &str {
    let name = record.steps.iter().find_map(|step| match &step.kind {
        StepKind::ResponseReceived(response) => response.model.as_deref(),
        _ => None,
    });
    name.unwrap_or("recorded")
}

/// Returns the names of the capabilities without which a model cannot answer the requests.
fn capabilities(requests: &[ChatRequest]) -> Vec<&'static str> {
    let all = Capabilities::of(CAPABILITY_NAMES.map(|(capability, _)| capability));
    let defaults = ChatRequestParameters::new();
    let is_needed = |capability: Capability| {
        let others = match capability {
            // Includes the other one, which would be missing.
            Capability::ToolChoice => all.without(capability).with(Capability::ForbidTools),
            _ => all.without(capability),
        };
        requests.iter().any(|request| others.check(request, &defaults, "").is_err())
    };
    let needed = CAPABILITY_NAMES.into_iter().filter(|(capability, _)| is_needed(*capability));
    needed.map(|(_, name)| name).chain(["streaming"]).collect()
}

fn failure(error: &RecordedError) -> Value {
    let RecordedError { kind, message, status, code, request_id, attempts, is_retryable, .. } =
        error;
    let members = [
        ("kind", json!(kind)),
        ("message", json!(message)),
        ("retryable", json!(is_retryable)),
        ("status", json!(status)),
        ("code", json!(code)),
        ("request_id", json!(request_id)),
        ("attempts", json!(attempts)),
    ];
    members.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

fn request_value(request: &ChatRequest) -> Result<Value> {
    let mut json = Vec::new();
    write_request(request, &mut json)?;
    serde_json::from_slice(&json).map_err(unwritable)
}

fn value(part: &impl Serialize) -> Result<Value> {
    serde_json::to_value(part).map_err(unwritable)
}

fn unwritable(source: serde_json::Error) -> Error {
    Error::configuration("the turn cannot be written as a cassette").with_source(source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services::combinators::ReplayModel;
    use ai_services_core::event::CallId;
    use ai_services_core::message::{ImageContent, UserMessage};
    use ai_services_core::model::{ChatModel, ToolChoice, ToolSpecification};
    use ai_services_core::record::{RecordedRequest, TurnStep};
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn replay_knows_the_names_of_all_capabilities() {
        for (capability, name) in CAPABILITY_NAMES {
            let header = json!({
                "format": "ai-services cassette", "version": 1, "model": "m", "capabilities": [name],
            });
            let model = ReplayModel::builder().read(&header.to_string()).unwrap();
            assert_eq!(model.capabilities(), Capabilities::of([capability]), "{name}");
        }
    }

    #[test]
    fn cassette_has_the_capabilities_that_its_requests_need() {
        let look =
            UserMessage::from_contents([ImageContent::url("https://a.example/b.png").into()]);
        let tools = ToolSpecifications::from(vec![ToolSpecification::new("order", "Finds it.")]);
        let mut parameters = ChatRequestParameters::new();
        parameters.tool_choice = Some(ToolChoice::None);
        let request = RecordedRequest::new(0, vec![look.into()], Some(tools), Arc::new(parameters));
        let step = TurnStep::new(Duration::ZERO, StepKind::RequestIssued(Box::new(request)));
        let mut record = TurnRecord::new(CallId::new(), "Support", "chat");
        let header = |record: &TurnRecord| -> Value {
            serde_json::from_str(cassette(record).unwrap().lines().next().unwrap()).unwrap()
        };
        assert_eq!(header(&record)["capabilities"], json!(["streaming"]));
        record.steps.push(step);
        let needed = json!(["tools", "images", "forbid_tools", "streaming"]);
        assert_eq!(header(&record)["capabilities"], needed);
        assert_eq!(header(&record)["model"], "recorded");
        // A request without an outcome is not an exchange.
        assert_eq!(cassette(&record).unwrap().lines().count(), 1);
    }
}

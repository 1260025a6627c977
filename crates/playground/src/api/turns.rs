//! The turns, as the inspector shows them.

use super::{ApiState, Problem, json_response};
use crate::export::{Delivery, cassette, rust_test};
use crate::turn_log::LoggedTurn;
use ai_services_core::message::ChatMessage;
use ai_services_core::record::{StepKind, TurnOutcome, TurnRecord};
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Serialize;
use serde_json::json;

#[derive(Serialize)]
struct Summary<'a> {
    id: &'a str,
    parent: Option<&'a str>,
    /// The id of the call whose tool this call is.
    outer: Option<String>,
    service: &'a str,
    method: &'a str,
    memory_id: Option<&'a str>,
    text: Option<&'a str>,
    started_ms: u64,
    duration_us: u64,
    outcome: &'static str,
}

#[derive(Serialize)]
struct Detail<'a> {
    #[serde(flatten)]
    summary: Summary<'a>,
    /// The name under which the service is registered, for a turn of the page.
    registered: Option<&'a str>,
    cost: Option<String>,
    record: &'a TurnRecord,
    requests: Vec<ShownRequest<'a>>,
}

#[derive(Serialize)]
struct ShownRequest<'a> {
    messages: Vec<&'a ChatMessage>,
    /// The bodies that were sent, several if the request was repeated or another model got it.
    bodies: Vec<String>,
}

pub(super) async fn list(State(state): State<ApiState>) -> Response {
    let turns = state.log().turns();
    json_response(&turns.iter().map(|turn| summary(turn)).collect::<Vec<_>>())
}

pub(super) async fn turn(
    State(state): State<ApiState>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let turn = state.turn(&id)?;
    let record = &turn.record;
    let requests =
        record.steps.iter().filter(|step| matches!(step.kind, StepKind::RequestIssued(_)));
    let requests = (0..requests.count()).map(|request| ShownRequest {
        messages: record.messages_of(request),
        bodies: bodies(&turn, request),
    });
    Ok(json_response(&Detail {
        summary: summary(&turn),
        registered: turn.service.as_deref(),
        cost: record.cost.map(|cost| cost.to_string()),
        record,
        requests: requests.collect(),
    }))
}

/// Returns a turn in the forms that a test can use.
pub(super) async fn export(
    State(state): State<ApiState>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let turn = state.turn(&id)?;
    // The page starts methods that stream.
    let is_own = turn.service.is_some() && turn.record.outer.is_none();
    let delivery = if is_own { Delivery::Streamed } else { Delivery::Whole };
    Ok(json_response(&json!({
        "test": rust_test(&turn.record, delivery),
        "cassette": cassette(&turn.record)?,
        "record": turn.record.to_json()?,
    })))
}

fn summary(turn: &LoggedTurn) -> Summary<'_> {
    let record = &turn.record;
    let rendered = record.user_message.as_ref().and_then(ChatMessage::text);
    let text = turn.text.as_deref().or(rendered);
    Summary {
        id: &turn.id,
        parent: turn.parent.as_deref(),
        outer: record.outer.map(|outer| outer.to_string()),
        service: &record.service,
        method: &record.method,
        memory_id: record.memory_id.as_deref(),
        text,
        started_ms: record.started_ms,
        duration_us: u64::try_from(record.duration.as_micros()).unwrap_or(u64::MAX),
        outcome: match &record.outcome {
            TurnOutcome::Completed => "completed",
            TurnOutcome::Suspended(_) => "suspended",
            TurnOutcome::Failed(_) => "failed",
            _ => "cancelled",
        },
    }
}

fn bodies(turn: &LoggedTurn, request: usize) -> Vec<String> {
    let of_request = turn.bodies.iter().filter(|body| body.request == request);
    of_request.map(|body| String::from_utf8_lossy(&body.bytes).into_owned()).collect()
}

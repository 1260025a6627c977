//! The data of the page.

mod conversations;
mod open_turn;
mod problem;
mod reruns;
mod turns;

pub(crate) use problem::Problem;

use crate::open_turns::ObservedTurns;
use crate::turn_log::{LoggedTurn, TurnLog};
use ai_services_core::Result;
use ai_services_core::memory::ConversationStore;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;

/// The parts of a playground that its routes share.
#[derive(Clone)]
pub(crate) struct ApiState(Arc<Shared>);

struct Shared {
    log: Arc<TurnLog>,
    services: Vec<Arc<str>>,
    open_turns: Vec<ObservedTurns>,
    store: Option<Arc<dyn ConversationStore>>,
}

impl ApiState {
    pub(crate) fn new(
        log: Arc<TurnLog>,
        services: Vec<Arc<str>>,
        open_turns: Vec<ObservedTurns>,
        store: Option<Arc<dyn ConversationStore>>,
    ) -> Self {
        Self(Arc::new(Shared { log, services, open_turns, store }))
    }

    fn log(&self) -> &TurnLog {
        &self.0.log
    }

    fn open_turns(&self) -> &[ObservedTurns] {
        &self.0.open_turns
    }

    fn turn(&self, id: &str) -> Result<Arc<LoggedTurn>, Problem> {
        self.0.log.turn(id).ok_or_else(|| {
            Problem::new(StatusCode::NOT_FOUND, "the turn is no longer kept, or never was")
        })
    }

    fn store(&self) -> Result<&dyn ConversationStore, Problem> {
        self.0.store.as_deref().ok_or_else(|| {
            Problem::new(StatusCode::NOT_FOUND, "the playground has no store: set `store`")
        })
    }
}

pub(crate) fn routes(state: ApiState) -> Router {
    Router::new()
        .route("/info", get(info))
        .route("/conversations", get(conversations::list))
        .route("/memory/{id}", get(conversations::memory))
        .route("/turns", get(turns::list))
        .route("/turns/{id}", get(turns::turn))
        .route("/turns/{id}/export", get(turns::export))
        .route("/turns/{id}/fork", post(reruns::fork))
        .with_state(state)
}

async fn info(State(state): State<ApiState>) -> Response {
    let services: Vec<&str> = state.0.services.iter().map(|name| &**name).collect();
    json_response(&json!({ "services": services, "has_store": state.0.store.is_some() }))
}

/// Returns a response with JSON.
fn json_response(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => {
            let json = HeaderValue::from_static("application/json");
            ([(header::CONTENT_TYPE, json)], body).into_response()
        }
        Err(error) => {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response()
        }
    }
}

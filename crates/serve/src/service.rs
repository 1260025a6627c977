//! The services of a server.

use crate::answer::Events;
use crate::decisions::{ClientDecisions, Edits};
use crate::turn::UserTurn;
use ai_services_core::Result;
use ai_services_core::answer::StreamEvent;
use futures_util::stream::{Stream, StreamExt};
use std::sync::Arc;

/// A service under the name that clients use.
#[derive(Clone)]
pub(crate) struct NamedService {
    pub(crate) name: Arc<str>,
    answer: Arc<dyn Fn(&UserTurn) -> Events + Send + Sync>,
    /// Set if clients may decide about turns that wait.
    pub(crate) decisions: Option<ClientDecisions>,
}

impl NamedService {
    pub(crate) fn new<S>(
        name: String,
        answer: impl Fn(&UserTurn) -> S + Send + Sync + 'static,
    ) -> Self
    where
        S: Stream<Item = Result<StreamEvent>> + Send + 'static,
    {
        let answer = Arc::new(move |turn: &UserTurn| answer(turn).boxed());
        Self { name: name.into(), answer, decisions: None }
    }

    /// Begins the answer. Nothing runs before the first poll.
    pub(crate) fn answer(&self, turn: &UserTurn) -> Events {
        (self.answer)(turn)
    }

    /// Returns if clients may edit the arguments of tool calls.
    pub(crate) fn edits(&self) -> Edits {
        self.decisions.as_ref().map(ClientDecisions::edits).unwrap_or_default()
    }
}

//! The replies of a client, as decisions about the calls of a turn.

use crate::interrupt_id::{InterruptId, InterruptKind};
use crate::problem::Problem;
use ai_services_core::approval::{Decision, ElicitationAnswer, PendingTurn, WaitsFor};
use http::StatusCode;
use std::collections::BTreeMap;

/// The reply of a client to one thing that a turn waits for.
#[derive(Debug)]
pub(crate) struct ClientReply {
    pub(crate) id: InterruptId,
    pub(crate) action: ReplyAction,
}

#[derive(Debug)]
pub(crate) enum ReplyAction {
    Approve,
    /// An approval with a JSON object of other arguments.
    Edit(String),
    /// The reason, if the client has one.
    Deny(Option<String>),
    Answer(ElicitationAnswer),
    /// A look for the end of a task.
    Poll,
}

/// Edited arguments of tool calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Edits {
    #[default]
    Refused,
    Accepted,
}

impl ClientReply {
    /// Reads the id of a reply.
    pub(crate) fn new(id: &str, action: ReplyAction) -> Result<Self, Problem> {
        Ok(Self { id: read_id(id)?, action })
    }

    /// Creates the reply of a client that gave none.
    pub(crate) fn cancelled(id: &str) -> Result<Self, Problem> {
        let id = read_id(id)?;
        let action = match id.kind {
            InterruptKind::Approval => ReplyAction::Deny(None),
            InterruptKind::Question => ReplyAction::Answer(ElicitationAnswer::Cancel),
            InterruptKind::Task => ReplyAction::Poll,
        };
        Ok(Self { id, action })
    }

    /// Creates the replies to all questions of a call, from the id of its first one.
    pub(crate) fn answers(id: &str, answers: Vec<ElicitationAnswer>) -> Result<Vec<Self>, Problem> {
        let id = read_id(id)?;
        let answers = answers.into_iter().enumerate();
        let reply = |(question, answer)| Self {
            id: id.of_question(question),
            action: ReplyAction::Answer(answer),
        };
        Ok(answers.map(reply).collect())
    }
}

/// Reads the id of a reply.
pub(crate) fn read_id(id: &str) -> Result<InterruptId, Problem> {
    id.parse().map_err(|_| {
        Problem::new(
            StatusCode::NOT_FOUND,
            "decision_not_found",
            "this conversation has no such request for a decision",
        )
    })
}

/// Returns the decisions about the calls of a turn, in their order. None if the turn waits for tasks only.
pub(super) fn decisions(
    pending: &PendingTurn,
    replies: Vec<ClientReply>,
    edits: Edits,
) -> Result<Vec<Decision>, Problem> {
    let mut actions = BTreeMap::new();
    for ClientReply { id, action } in replies {
        if actions.insert((id.call, id.question), action).is_some() {
            return Err(Problem::invalid("the decisions contain two about the same request"));
        }
    }
    let mut take = |call, question| actions.remove(&(call, question)).ok_or_else(incomplete);
    let mut decisions = Vec::with_capacity(pending.calls.len());
    for (index, call) in pending.calls.iter().enumerate() {
        match &call.waits_for {
            WaitsFor::Approval => decisions.push(approval(take(index, 0)?, edits)?),
            WaitsFor::Answers(questions) => {
                let answer = |question| match take(index, question)? {
                    ReplyAction::Answer(answer) => Ok(answer),
                    _ => Err(unfit("the call waits for answers to its questions")),
                };
                let answers = (0..questions.len()).map(answer).collect::<Result<_, Problem>>()?;
                decisions.push(Decision::Respond(answers));
            }
            // A task, which needs no decision.
            _ => match take(index, 0)? {
                ReplyAction::Poll => {}
                _ => return Err(unfit("the call waits for a task, which needs no decision")),
            },
        }
    }
    match actions.is_empty() {
        true => Ok(decisions),
        false => Err(Problem::invalid("the decisions contain one that the turn does not wait for")),
    }
}

fn approval(action: ReplyAction, edits: Edits) -> Result<Decision, Problem> {
    match action {
        ReplyAction::Approve => Ok(Decision::Approve),
        ReplyAction::Edit(arguments) if edits == Edits::Accepted => Ok(Decision::Edit(arguments)),
        ReplyAction::Edit(_) => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "edit_not_allowed",
            "the arguments of the call must not be changed",
        )),
        ReplyAction::Deny(reason) => {
            let reason = reason.filter(|reason| !reason.trim().is_empty());
            Ok(Decision::deny(reason.unwrap_or_else(|| "the user did not approve it".to_owned())))
        }
        ReplyAction::Answer(_) | ReplyAction::Poll => Err(unfit("the call waits for approval")),
    }
}

fn incomplete() -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        "incomplete_decisions",
        "decide about everything that the turn waits for in one request; nothing was decided",
    )
}

fn unfit(message: &'static str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "invalid_decision", message)
}

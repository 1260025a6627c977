//! One call of a service, top to bottom.

use super::ask::ask_model;
use super::check::check;
use super::invocation::Invocation;
use super::moderation::Verdict;
use super::opening::{Opening, turn_context};
use super::recall::{Recall, patience};
use super::retrieval::{inject, retrieve};
use super::spent::{Prices, Spent};
use super::stream::{Outlet, Progress, tell_round, tell_text, tell_thinking};
use super::turn::{AnsweredBy, Finished, Rules, Step, Turn};
use super::unfinished::UnfinishedTurn;
use super::watch::{Watch, tell_finished};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Event;
use crate::invocation::TurnContext;
use crate::memory::{CompletedTurn, LeaseToken, Snapshot};
use crate::message::UserMessage;
use crate::model::{ChatRequest, ChatResponse};
use crate::tool::{Runner, ToolRequest, Toolbox};
use std::borrow::Cow;

/// How often a turn is played again because somebody else changed the conversation meanwhile.
const REPLAYS: u32 = 3;

/// Turns the final answer into the method's value.
pub(super) type Read<'a> = dyn FnMut(&ChatResponse) -> Result<()> + Send + 'a;

/// Plays the turn of one call. Nothing is remembered unless it succeeds.
pub(super) async fn invoke(invocation: &Invocation<'_>, read: &mut Read<'_>) -> Result<Finished> {
    invocation.emit(&Event::Started);
    let dropped = Dropped(invocation);
    let outcome = take_turn(invocation, read).await;
    std::mem::forget(dropped);
    match &outcome {
        Ok(finished) => invocation.emit(&Event::Completed { usage: &finished.spent.usage }),
        Err(error) => invocation.emit(&Event::Failed { error }),
    }
    outcome
}

/// Tells the listeners that nobody waits for the call any more, unless it is forgotten in time.
struct Dropped<'a>(&'a Invocation<'a>);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.emit(&Event::Cancelled);
    }
}

/// Waits for the conversation, then plays the turn until nobody came between.
async fn take_turn(invocation: &Invocation<'_>, read: &mut Read<'_>) -> Result<Finished> {
    let recall = Recall::lease(invocation).await?;
    let lease = recall.lease_from_store(invocation).await?;
    let mut spent = Spent::default();
    let mut replays = 0;
    loop {
        let outcome = match &lease {
            None => play(invocation, &recall, None, read, &mut spent).await,
            Some(lease) => {
                let turn = play(invocation, &recall, Some(lease.token()), read, &mut spent);
                Box::pin(lease.keep(turn)).await
            }
        };
        match outcome {
            // Tools may have acted on the world: their turn is not played twice.
            Err(Failed { error, is_repeatable: true }) if replays < REPLAYS => {
                replays += 1;
                tracing::debug!(%error, replays, "playing the turn again");
                if let Some(lease) = &lease {
                    let regained = lease.regain(patience(invocation)).await;
                    regained.map_err(|error| with_spent(invocation, error, spent))?;
                }
            }
            Err(failed) => {
                if let Some(lease) = lease {
                    lease.give_back().await;
                }
                return Err(with_spent(invocation, failed.error, spent));
            }
            Ok(finished) => {
                if let Some(lease) = lease {
                    lease.given_back();
                }
                return Ok(finished);
            }
        }
    }
}

/// Why a turn failed, and whether it may be played again.
struct Failed {
    error: Error,
    is_repeatable: bool,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { error, is_repeatable: false }
    }
}

/// One attempt at the turn: load, look up, check, converse, read the answer, commit.
async fn play(
    invocation: &Invocation<'_>,
    recall: &Recall,
    lease: Option<LeaseToken>,
    read: &mut Read<'_>,
    spent: &mut Spent,
) -> Result<Finished, Failed> {
    let snapshot = recall.load(invocation).await?;
    let opening = open(invocation, recall, &snapshot, spent).await?;
    let toolbox = toolbox(invocation, &opening.user).await?;
    let instructed = invocation.form.instruct(opening.sent());
    let user = instructed.as_ref().unwrap_or(opening.sent());
    let request = first_request(invocation, &snapshot, &toolbox, user);
    let mut turn = Turn::new(request, rules(invocation), *spent);

    let stage = Stage { opening: &opening, recall, snapshot: &snapshot, toolbox: &toolbox };
    let outcome = converse(invocation, &stage, &mut turn, read).await;
    turn.count(invocation.meter());
    *spent = turn.spent();
    if let Err(error) = outcome {
        return Err(turn.into_unfinished().attach_to(error).into());
    }

    // Whoever drops a stream before its last item finds the memory as it was.
    invocation.told().await;
    let was_noticed = turn.has_effects() || invocation.outlet.is_some_and(Outlet::is_used);
    // The request gives up its share of the history, so that the memory changes its list in place.
    let (ChatRequest { system, mut turn, .. }, mut finished) =
        turn.finish().ok_or_else(no_answer)?;
    // What was said only for the form of the answer is not remembered.
    if let Some(first) = turn.first_mut().filter(|_| instructed.is_some() || opening.is_augmented())
    {
        *first = opening.remembered(invocation.components.remembered).clone().into();
    }
    // What knows the turn has a share of the history, too.
    finished.sources = opening.into_sources();
    let turn = CompletedTurn::new(snapshot, system, turn).under(lease);
    match recall.commit(turn).await {
        Ok(()) => Ok(finished),
        Err(error) => {
            let is_repeatable = error.kind() == ErrorKind::Conflict && !was_noticed;
            // The answer was paid for: the caller gets it with the error.
            let Finished { executions, intermediate, rejected, answer, .. } = finished;
            let report = UnfinishedTurn::new(executions, intermediate, rejected, Some(answer));
            Err(Failed { error: report.attach_to(error), is_repeatable })
        }
    }
}

/// What the turn begins with. What this cost is counted even if it fails.
async fn open(
    invocation: &Invocation<'_>,
    recall: &Recall,
    snapshot: &Snapshot,
    spent: &mut Spent,
) -> Result<Opening> {
    if !invocation.has_stages() {
        return Ok(Opening::plain(&invocation.said.user));
    }
    let turn = turn_context(invocation, recall, snapshot);
    let opening = Box::pin(look_up_and_check(invocation, turn)).await;
    spent.count(invocation.meter(), prices(invocation));
    opening
}

/// Retrieval, then the input guardrails, which see what was found, then the message for the model.
async fn look_up_and_check(invocation: &Invocation<'_>, turn: TurnContext) -> Result<Opening> {
    let mut background = retrieve(invocation, turn).await?;
    let user = invocation.guards.pass_input(invocation, &background).await?;
    if invocation.guards.has_input() {
        // Who looks at the answer is told nothing that was taken out of the question.
        background.turn = background.turn.with_user_message(user.clone());
    }
    let augmented = inject(invocation, &user, &background)?;
    Ok(Opening { user, augmented, background: Some(background) })
}

/// What surrounds the conversation of one turn.
struct Stage<'a> {
    opening: &'a Opening,
    recall: &'a Recall,
    snapshot: &'a Snapshot,
    toolbox: &'a Toolbox,
}

/// The conversation between model and tools, up to an answer that was accepted and could be read.
async fn converse(
    invocation: &Invocation<'_>,
    &Stage { opening, recall, snapshot, toolbox }: &Stage<'_>,
    turn: &mut Turn<'_>,
    read: &mut Read<'_>,
) -> Result<()> {
    let mut verdict = Verdict::ask(invocation, &opening.user);
    loop {
        match turn.next() {
            Step::AskModel => {
                recall.fit(snapshot, turn.request_mut())?;
                let response = ask_model(invocation, turn.request(), &mut verdict).await?;
                turn.model_replied(response)?;
                turn.count(invocation.meter());
                invocation.tell(|| Progress::Usage(turn.usage()));
            }
            Step::RunTools(message) => {
                // Before anything has an effect.
                verdict.verify().await?;
                if let Some(outlet) = invocation.held_outlet() {
                    tell_round(outlet, &message);
                }
                invocation.told().await;
                let calls = message.tool_calls();
                let watch = Watch::new(invocation, toolbox, calls);
                let ran = runner(invocation, toolbox, &watch).run(calls).await;
                if !ran.is_answer {
                    watch.release(&ran.executions);
                }
                if turn.tools_replied(ran.executions, ran.is_answer) {
                    invocation.begin_again();
                }
                if let Some(error) = ran.failed {
                    return Err(error);
                }
            }
            Step::CheckAnswer => {
                verdict.verify().await?;
                let checked = Box::pin(check(invocation, opening, turn)).await?;
                turn.answer_checked(checked)?;
            }
            Step::ReadAnswer => {
                verdict.verify().await?;
                let outcome = turn.answer().map_or_else(|| Err(no_answer()), &mut *read);
                match turn.answer_read(outcome)? {
                    true => invocation.begin_again(),
                    false => tell_held(invocation, turn),
                }
            }
            Step::Finish => return Ok(()),
        }
    }
}

/// Tells an answer that was held back until it was accepted, as far as it was not told as something else.
fn tell_held(invocation: &Invocation<'_>, turn: &Turn<'_>) {
    let (Some(outlet), Some(answer)) = (invocation.held_outlet(), turn.answer()) else { return };
    match turn.answered_by() {
        AnsweredBy::Text => {
            tell_thinking(outlet, &answer.message);
            tell_text(outlet, &answer.message);
        }
        AnsweredBy::TextBesideCalls => tell_text(outlet, &answer.message),
        AnsweredBy::Results => tell_finished(invocation, turn.last_executions()),
    }
}

fn rules<'a>(invocation: &Invocation<'a>) -> Rules<'a> {
    let components = invocation.components;
    let form = invocation.form;
    // Only an answer of some form can be put right.
    let output_retries = form.shape().schema().map_or(0, |_| components.output_retries);
    Rules {
        limits: components.limits,
        answer_tool: form.answer_tool(),
        output_retries,
        checks_answers: invocation.checks_answers(),
        check_retries: invocation.guards.max_retries(),
        prices: prices(invocation),
    }
}

fn prices<'a>(invocation: &Invocation<'a>) -> Option<Prices<'a>> {
    let components = invocation.components;
    let table = components.price_table.as_deref()?;
    Some(Prices { table, model: components.model.name() })
}

/// The service's tools, and those that are chosen for this call.
async fn toolbox<'a>(invocation: &Invocation<'a>, user: &UserMessage) -> Result<Cow<'a, Toolbox>> {
    let components = invocation.components;
    if components.tool_providers.is_empty() {
        return Ok(Cow::Borrowed(&components.toolbox));
    }
    let request = ToolRequest::new(user, invocation.memory_id(), invocation.context());
    let mut more = Vec::new();
    for provider in &components.tool_providers {
        more.extend(provider.tools(&request).await?);
    }
    let toolbox = components.toolbox.with(more)?;
    invocation.form.check(&toolbox)?;
    Ok(Cow::Owned(toolbox))
}

fn first_request(
    invocation: &Invocation<'_>,
    snapshot: &Snapshot,
    toolbox: &Toolbox,
    user: &UserMessage,
) -> ChatRequest {
    // The usual turn is a message and its answer.
    let mut turn = Vec::with_capacity(2);
    turn.push(user.clone().into());
    ChatRequest {
        system: invocation.said.system.clone().or_else(|| snapshot.system().cloned()),
        history: snapshot.messages().clone(),
        skipped: snapshot.start(),
        turn,
        tools: invocation.form.specifications(toolbox),
        parameters: invocation.parameters(),
    }
}

fn runner<'a>(
    invocation: &'a Invocation<'_>,
    toolbox: &'a Toolbox,
    observer: &'a Watch<'_>,
) -> Runner<'a> {
    let settings = invocation.components.tool_settings;
    Runner {
        toolbox,
        surroundings: invocation.surroundings(),
        policies: settings.policies,
        timeout: settings.timeout,
        concurrency: settings.concurrency,
        max_result_bytes: settings.max_result_bytes,
        observer,
    }
}

/// Unreachable through [`converse`], which ends with an answer or an error.
fn no_answer() -> Error {
    Error::new(ErrorKind::InvalidResponse, "the turn ended without an answer")
}

/// The error with everything that was spent on the turn, the failed attempt included.
fn with_spent(invocation: &Invocation<'_>, error: Error, spent: Spent) -> Error {
    spent.attach_to(error, prices(invocation))
}

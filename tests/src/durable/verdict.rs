//! The judgement of one order.

use super::outside::{Happened, Line};
use super::script::{ROUNDS, answer};
use super::till::result;
use ai_services::message::ChatMessage;
use std::collections::BTreeSet;

/// The text of every result of an unknown outcome begins with it.
pub const UNKNOWN: &str = "outcome unknown";

/// The faults of one order. All counts are 0 for a correct program, except `unknown`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Tools without an effect class that ran twice.
    pub repeated: usize,
    /// Effects with a key that did not happen exactly once, counted by key.
    pub keyed: usize,
    /// Answers that the model had to give again although a tool of them had started.
    pub asked_again: usize,
    /// Results that are wrong: a known result without an effect, or an unknown one of a repeatable tool.
    pub wrong_results: usize,
    /// Results with an unknown outcome.
    pub unknown: usize,
}

impl Verdict {
    /// Judges an order by its lines and the messages of its turn. The turn is complete.
    pub fn new(order: &str, lines: &[Line], turn: &[ChatMessage]) -> Result<Self, String> {
        let mut verdict = Self::default();
        let count = |event| lines.iter().filter(|line| line.event == event).count();
        let keys = |event| {
            let own = lines.iter().filter(|line| line.event == event);
            own.map(|line| &line.key).collect::<BTreeSet<_>>().len()
        };
        for event in [Happened::Mailed, Happened::Noted] {
            verdict.repeated += count(event).saturating_sub(1);
        }
        for event in [Happened::Charged, Happened::Transferred] {
            verdict.keyed += usize::from(keys(event) != 1);
        }
        verdict.asked_again = asked_again(lines);
        let results = results(order, turn)?;
        for (tool, text) in results {
            let is_unknown = text.starts_with(UNKNOWN);
            let happened = match tool {
                "mail" => count(Happened::Mailed),
                "note" => count(Happened::Noted),
                _ => 1,
            };
            let may_be_unknown = matches!(tool, "mail" | "note");
            let is_right = match is_unknown {
                true => may_be_unknown,
                false => text == result(tool) && happened == 1,
            };
            verdict.unknown += usize::from(is_unknown);
            verdict.wrong_results += usize::from(!is_right);
        }
        Ok(verdict)
    }

    /// Returns `true` if the order was handled correctly.
    pub fn is_correct(&self) -> bool {
        Self { unknown: 0, ..self.clone() } == Self::default()
    }
}

/// Returns the tool results of a complete turn: name and text.
///
/// Fails if the turn is incomplete, interleaved or stored in another form.
fn results<'a>(
    order: &str,
    turn: &'a [ChatMessage],
) -> Result<Vec<(&'static str, &'a str)>, String> {
    let mut messages = turn.iter();
    let mut next = || messages.next().ok_or_else(|| format!("the turn of {order} is incomplete"));
    let expect = |is_right: bool, message: &ChatMessage| match is_right {
        true => Ok(()),
        false => Err(format!("unexpected message in the turn of {order}: {message:?}")),
    };
    let user = next()?;
    expect(user.is_user() && user.text() == Some(order), user)?;
    let mut found = Vec::new();
    for tools in ROUNDS {
        let calls = next()?;
        let names = calls.tool_calls().iter().map(|call| call.name());
        expect(names.eq(tools.iter().copied()), calls)?;
        for tool in tools {
            let message = next()?;
            let ChatMessage::ToolResult(result) = message else {
                expect(false, message)?;
                continue;
            };
            expect(result.tool_name() == *tool, message)?;
            found.push((*tool, result.text().unwrap_or_default()));
        }
    }
    let last = next()?;
    expect(last.text() == Some(&answer(order)), last)?;
    match messages.next() {
        None => Ok(found),
        Some(more) => expect(false, more).map(|()| found),
    }
}

/// Counts the answers that were requested again after one of their tools took effect.
///
/// A process that is paused does not see the effects of another process that resumes its turn meanwhile. Therefore,
/// only its own effects count, and those before its first line.
fn asked_again(lines: &[Line]) -> usize {
    let round_of = |event| match event {
        Happened::Called | Happened::Asked => None,
        Happened::Charged | Happened::Mailed => Some(1),
        Happened::Transferred | Happened::Noted => Some(2),
    };
    let is_repeated = |(at, line): &(usize, &Line)| {
        let Some(asked) = (line.event == Happened::Asked).then(|| line.key.parse().unwrap_or(0))
        else {
            return false;
        };
        let is_own = |other: &Line| other.process == line.process;
        let first = lines.iter().position(is_own).unwrap_or(0);
        let seen = lines.iter().take(*at).enumerate();
        let seen = seen.filter(|(number, other)| *number < first || is_own(other));
        seen.filter_map(|(_, line)| round_of(line.event)).any(|round: usize| round >= asked)
    };
    lines.iter().enumerate().filter(is_repeated).count()
}

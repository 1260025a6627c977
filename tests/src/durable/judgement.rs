//! The judgement of all orders of a customer.

use super::outside::{Happened, Line};
use super::verdict::Verdict;
use ai_services::message::ChatMessage;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Number of orders with faults that are described.
const EXAMPLES: usize = 3;

/// A fault of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A tool without an effect class ran twice.
    Repeated,
    /// An effect with a key did not happen exactly once.
    Keyed,
    /// The messages of a turn are incomplete or interleaved.
    Half,
    /// A turn is stored twice.
    StoredTwice,
    /// A turn had an effect or was acknowledged, and is not stored.
    Lost,
    /// The model was asked for an answer that was recorded.
    AskedAgain,
    /// The result of a tool does not agree with its effects.
    WrongResult,
    /// The journal of a turn is open after the last process.
    Unfinished,
    /// A call failed.
    Failed,
}

const LABELS: [(Fault, &str); 9] = [
    (Fault::Repeated, "at-most-once tools executed twice"),
    (Fault::Keyed, "keyed effects not exactly once"),
    (Fault::Half, "half turns"),
    (Fault::StoredTwice, "turns stored twice"),
    (Fault::Lost, "lost turns"),
    (Fault::AskedAgain, "recorded answers requested again"),
    (Fault::WrongResult, "wrong results"),
    (Fault::Unfinished, "turns not finished after the last restart"),
    (Fault::Failed, "failed calls"),
];

/// The results of all orders so far.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Number of stored turns.
    pub turns: u64,
    /// Number of results with an unknown outcome.
    pub unknown: u64,
    /// Number of calls that failed because another process had taken over their turn.
    pub conflicts: u64,
    faults: BTreeMap<Fault, u64>,
    /// Descriptions of the first faults.
    examples: Vec<String>,
}

/// The traces of a customer after the last process.
#[derive(Clone, Copy, Debug)]
pub struct Traces<'a> {
    /// All stored messages.
    pub history: &'a [ChatMessage],
    /// The lines of the outside world, by order.
    pub lines: &'a BTreeMap<String, Vec<Line>>,
    /// The orders with an acknowledged answer.
    pub done: &'a BTreeSet<String>,
}

impl Tally {
    /// Judges all orders of a customer.
    pub fn new(traces: Traces<'_>) -> Self {
        let mut tally = Self::default();
        let mut turns: BTreeMap<&str, &[ChatMessage]> = BTreeMap::new();
        for turn in traces.history.chunk_by(|_, next| !next.is_user()) {
            let order = turn.first().and_then(ChatMessage::text).unwrap_or_default();
            if turns.insert(order, turn).is_some() {
                tally.add(&[(Fault::StoredTwice, 1)], || order.to_owned());
            }
        }
        let mut orders: BTreeSet<&str> = turns.keys().copied().collect();
        orders.extend(traces.lines.keys().map(String::as_str));
        orders.extend(traces.done.iter().map(String::as_str));
        for order in orders {
            let lines = traces.lines.get(order).map(Vec::as_slice).unwrap_or_default();
            match turns.get(order) {
                Some(turn) => tally.add_turn(order, lines, turn),
                None => tally.add_absent(order, lines, traces.done.contains(order)),
            }
        }
        tally
    }

    /// Adds the verdict on a turn that is stored.
    fn add_turn(&mut self, order: &str, lines: &[Line], turn: &[ChatMessage]) {
        self.turns += 1;
        let faults = match Verdict::new(order, lines, turn) {
            Ok(verdict) => {
                self.unknown += verdict.unknown as u64;
                vec![
                    (Fault::Repeated, verdict.repeated),
                    (Fault::Keyed, verdict.keyed),
                    (Fault::AskedAgain, verdict.asked_again),
                    (Fault::WrongResult, verdict.wrong_results),
                ]
            }
            Err(_) => vec![(Fault::Half, 1)],
        };
        self.add(&faults, || {
            let lines = lines.iter().map(|line| format!("\n    {line}"));
            let turn = turn.iter().map(|message| format!("\n    {}", shown(message)));
            format!("{order}{}", lines.chain(turn).collect::<String>())
        });
    }

    /// Adds an order without a turn. A process that ends before the first append leaves only requests for the first
    /// answer.
    fn add_absent(&mut self, order: &str, lines: &[Line], is_done: bool) {
        let is_harmless = |line: &Line| match line.event {
            Happened::Called => true,
            Happened::Asked => line.key == "1",
            _ => false,
        };
        let is_lost = is_done || !lines.iter().all(is_harmless);
        self.add(&[(Fault::Lost, usize::from(is_lost))], || {
            let answer = if is_done { "acknowledged" } else { "not acknowledged" };
            let lines = lines.iter().map(|line| format!("\n    {line}"));
            format!("{order}, {answer}{}", lines.collect::<String>())
        });
    }

    /// Adds faults that have a common description.
    pub fn add(&mut self, faults: &[(Fault, usize)], describe: impl FnOnce() -> String) {
        let mut labels = Vec::new();
        for (fault, count) in faults.iter().filter(|(_, count)| *count > 0) {
            *self.faults.entry(*fault).or_default() += *count as u64;
            labels.push(label(*fault));
        }
        if !labels.is_empty() && self.examples.len() < EXAMPLES {
            self.examples.push(format!("{}: {}", labels.join(", "), describe()));
        }
    }

    /// Returns the number of faults of this kind.
    pub fn count(&self, fault: Fault) -> u64 {
        self.faults.get(&fault).copied().unwrap_or(0)
    }

    /// Returns `true` if there are no faults.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Returns the tool calls or the text of a message.
fn shown(message: &ChatMessage) -> String {
    let calls: Vec<&str> = message.tool_calls().iter().map(|call| call.name()).collect();
    let text = message.text().unwrap_or_default();
    match message {
        ChatMessage::ToolResult(result) => format!("{}: {text}", result.tool_name()),
        _ if calls.is_empty() => text.to_owned(),
        _ => format!("calls {}", calls.join(", ")),
    }
}

fn label(fault: Fault) -> &'static str {
    LABELS.iter().find(|(other, _)| *other == fault).map_or("", |(_, label)| label)
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.turns += other.turns;
        self.unknown += other.unknown;
        self.conflicts += other.conflicts;
        for (fault, count) in other.faults {
            *self.faults.entry(fault).or_default() += count;
        }
        self.examples.extend(other.examples);
        self.examples.truncate(EXAMPLES);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} turns", self.turns)?;
        for (fault, label) in LABELS {
            write!(f, "\n{} {label}", self.count(fault))?;
        }
        write!(f, "\n{} unknown outcomes reported\n{} conflicts", self.unknown, self.conflicts)?;
        self.examples.iter().try_for_each(|example| write!(f, "\n  {example}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{ROUNDS, answer};
    use super::super::till::result;
    use super::*;
    use Fault::{AskedAgain, Half, Keyed, Lost, Repeated, StoredTwice, WrongResult};
    use ai_services::message::{AiMessage, ToolCall, ToolResult};

    /// The events of an undisturbed turn, with their keys.
    const EVENTS: [(Happened, &str); 8] = [
        (Happened::Asked, "1"),
        (Happened::Charged, "a"),
        (Happened::Mailed, "b"),
        (Happened::Asked, "2"),
        (Happened::Transferred, "c"),
        (Happened::Noted, "d"),
        (Happened::Asked, "3"),
        (Happened::Asked, "4"),
    ];

    fn lines(order: &str) -> Vec<Line> {
        EVENTS.into_iter().map(|(event, key)| Line::new(order, event, key)).collect()
    }

    fn turn(order: &str) -> Vec<ChatMessage> {
        let mut turn = vec![ChatMessage::user(order)];
        for tools in ROUNDS {
            let calls = tools.iter().map(|tool| ToolCall::new("1", *tool, "{}"));
            turn.push(AiMessage::builder().tool_calls(calls).build().into());
            turn.extend(tools.iter().map(|tool| ToolResult::new("1", *tool, result(tool)).into()));
        }
        turn.push(ChatMessage::ai(answer(order)));
        turn
    }

    fn tally(history: &[ChatMessage], lines: &[Line], done: &[&str]) -> Tally {
        let mut by_order: BTreeMap<String, Vec<Line>> = BTreeMap::new();
        for line in lines {
            by_order.entry(line.order.clone()).or_default().push(line.clone());
        }
        let done = done.iter().map(|order| (*order).to_owned()).collect();
        Tally::new(Traces { history, lines: &by_order, done: &done })
    }

    /// Asserts that these faults are found, once each, and no others.
    fn assert_faults(tally: &Tally, faults: &[Fault]) {
        let expected = faults.iter().map(|fault| (*fault, 1)).collect();
        assert_eq!(tally.faults, expected, "{tally}");
        assert_eq!(tally.is_clean(), faults.is_empty());
        assert_eq!(tally.to_string().contains("\n  "), !faults.is_empty(), "{tally}");
    }

    #[test]
    fn complete_turns_have_no_faults() {
        let history = [turn("o1"), turn("o2")].concat();
        let found = tally(&history, &[lines("o1"), lines("o2")].concat(), &["o1", "o2"]);
        assert_faults(&found, &[]);
        assert_eq!(found.turns, 2);
        // A process ended after the commit, before it acknowledged the answer.
        assert_faults(&tally(&turn("o1"), &lines("o1"), &[]), &[]);
    }

    #[test]
    fn order_that_never_began_is_not_lost() {
        let (called, asked) =
            (Line::new("o1", Happened::Called, "-"), Line::new("o1", Happened::Asked, "1"));
        assert_faults(&tally(&[], &[called, asked.clone(), asked], &[]), &[]);
    }

    #[test]
    fn effect_without_a_turn_is_a_lost_turn() {
        for first in 1..EVENTS.len() {
            assert_faults(&tally(&[], &lines("o1")[..=first], &[]), &[Lost]);
        }
    }

    #[test]
    fn acknowledged_order_without_a_turn_is_a_lost_turn() {
        assert_faults(&tally(&[], &lines("o1")[..1], &["o1"]), &[Lost]);
        assert_faults(&tally(&[], &[], &["o1"]), &[Lost]);
    }

    #[test]
    fn turn_without_a_message_is_a_half_turn() {
        for missing in 0..turn("o1").len() {
            let mut history = turn("o1");
            history.remove(missing);
            let found = tally(&history, &lines("o1"), &[]);
            assert!(!found.is_clean() && found.count(Half) == 1, "{missing}: {found}");
        }
    }

    #[test]
    fn interleaved_turns_are_half_turns() {
        let (mut one, two) = (turn("o1"), turn("o2"));
        let rest = one.split_off(3);
        let history = [one, two, rest].concat();
        let found = tally(&history, &[lines("o1"), lines("o2")].concat(), &[]);
        assert_eq!(found.count(Half), 2, "{found}");
    }

    #[test]
    fn turn_that_is_stored_twice_is_found() {
        assert_faults(
            &tally(&[turn("o1"), turn("o1")].concat(), &lines("o1"), &[]),
            &[StoredTwice],
        );
    }

    #[test]
    fn effect_that_happened_too_often_or_never_is_found() {
        for (event, faults) in [
            (Happened::Mailed, [Repeated, WrongResult].as_slice()),
            (Happened::Noted, &[Repeated, WrongResult]),
            (Happened::Charged, &[Keyed]),
            (Happened::Transferred, &[Keyed]),
        ] {
            let mut twice = lines("o1");
            twice.push(Line::new("o1", event, "another key"));
            assert_faults(&tally(&turn("o1"), &twice, &[]), faults);
            let mut never = lines("o1");
            never.retain(|line| line.event != event);
            let faults = faults.iter().copied().filter(|fault| *fault != Repeated);
            assert_faults(&tally(&turn("o1"), &never, &[]), &faults.collect::<Vec<_>>());
        }
    }

    #[test]
    fn repeated_effect_with_one_key_counts_once() {
        let mut repeated = lines("o1");
        repeated.insert(2, Line::new("o1", Happened::Charged, "a").by(2));
        assert_faults(&tally(&turn("o1"), &repeated, &[]), &[]);
    }

    #[test]
    fn recorded_answer_that_is_requested_again_is_found() {
        for (place, round) in [(2, "1"), (5, "1"), (5, "2"), (8, "2")] {
            for process in [0, 7] {
                let mut again = lines("o1");
                again.insert(place, Line::new("o1", Happened::Asked, round).by(process));
                assert_faults(&tally(&turn("o1"), &again, &[]), &[AskedAgain]);
            }
        }
    }

    #[test]
    fn request_of_a_process_that_was_paused_meanwhile_is_not_a_fault() {
        let mut paused = lines("o1");
        paused.iter_mut().skip(3).for_each(|line| line.process = 2);
        paused.push(Line::new("o1", Happened::Asked, "2"));
        assert_faults(&tally(&turn("o1"), &paused, &[]), &[]);
        // The process was paused between its call and its first request.
        let mut called = vec![Line::new("o1", Happened::Called, "-")];
        called.extend(lines("o1").into_iter().map(|line| line.by(2)));
        called.push(Line::new("o1", Happened::Asked, "1"));
        assert_faults(&tally(&turn("o1"), &called, &[]), &[]);
    }

    #[test]
    fn unknown_outcome_is_counted_and_wrong_for_a_tool_that_can_be_repeated() {
        for (tool, faults) in [("mail", [].as_slice()), ("charge", &[WrongResult])] {
            let mut history = turn("o1");
            let is_own = |message: &ChatMessage| match message {
                ChatMessage::ToolResult(result) => result.tool_name() == tool,
                _ => false,
            };
            let place = history.iter().position(is_own).unwrap();
            history[place] = ToolResult::new("1", tool, "outcome unknown: …").into();
            let found = tally(&history, &lines("o1"), &[]);
            assert_faults(&found, faults);
            assert_eq!(found.unknown, 1);
        }
    }
}

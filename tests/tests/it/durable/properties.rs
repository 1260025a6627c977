//! Random turns, ended at random points.

use super::process::{NEVER, World};
use ai_services::memory::ChatMemoryStore;
use ai_services::message::ChatMessage;
use ai_services_tests::durable::script::answer;
use ai_services_tests::durable::till::{TOOLS, Till, result};
use ai_services_tests::durable::verdict::UNKNOWN;
use proptest::prelude::*;

const ORDER: &str = "order-1";

/// Returns the rounds of a turn.
fn rounds() -> impl Strategy<Value = Vec<Vec<&'static str>>> {
    let round = prop::collection::vec(prop::sample::select(&TOOLS[..]), 1..5);
    prop::collection::vec(round, 1..5)
}

/// Returns the points at which processes end: the first runs the turn, the others resume it.
fn ends() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0_usize..40, 0..4)
}

/// Runs the turn, one process for each end, and a last one that does not end.
async fn run(rounds: &[Vec<&'static str>], ends: &[usize]) -> (World, Vec<ChatMessage>) {
    let world = World { rounds: Some(rounds.to_vec()), ..World::default() };
    let messages = || async { world.store.get_messages(&"ann".into()).await.unwrap() };
    for end in ends.iter().copied().chain([NEVER]) {
        let process = world.start(end);
        if let Some(resumed) = process.run(process.till.resume("ann")).await
            && resumed.unwrap().is_none()
            && messages().await.is_empty()
        {
            drop(process.run(process.till.handle("ann", ORDER)).await);
        }
    }
    let messages = messages().await;
    (world, messages)
}

/// Returns the messages with the results of the undisturbed run in place of unknown outcomes.
fn settled(messages: &[ChatMessage]) -> Vec<(String, String)> {
    let show = |message: &ChatMessage| match message {
        ChatMessage::ToolResult(found) => {
            let text = found.text().unwrap_or_default();
            let is_unknown =
                text.starts_with(UNKNOWN) && matches!(found.tool_name(), "mail" | "note");
            let text = if is_unknown { result(found.tool_name()) } else { text };
            (format!("{} {}", found.id(), found.tool_name()), text.to_owned())
        }
        other => (format!("{:?}", other.tool_calls()), other.text().unwrap_or_default().to_owned()),
    };
    messages.iter().map(show).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn conversation_is_that_of_an_undisturbed_turn_with_the_same_unknown_outcomes(
        rounds in rounds(),
        ends in ends(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (_, expected) = runtime.block_on(run(&rounds, &[]));
        let (world, found) = runtime.block_on(run(&rounds, &ends));
        prop_assert_eq!(settled(&found), settled(&expected));
        prop_assert_eq!(found.last().and_then(ChatMessage::text), Some(&*answer(ORDER)));
        // Each effect of a turn has its own key: nothing happened more often than it was called.
        let effects = |tool| rounds.iter().flatten().filter(|called| **called == tool).count();
        let lines = world.outside.all();
        for (tool, event) in super::EFFECTS {
            let mut keys: Vec<_> = lines.iter().filter(|line| line.event == event).map(|line| &line.key).collect();
            if matches!(tool, "charge" | "transfer") {
                keys.sort_unstable();
                keys.dedup();
                prop_assert_eq!(keys.len(), effects(tool), "{}", tool);
            } else {
                prop_assert!(keys.len() <= effects(tool), "{}", tool);
            }
        }
    }
}

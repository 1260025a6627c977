//! A process that ends at every point of a turn, and of the turn that is resumed.

use super::process::{NEVER, World};
use ai_services::memory::{ChatMemoryStore, MemoryId};
use ai_services_tests::durable::outside::Outside;
use ai_services_tests::durable::till::Till;
use ai_services_tests::durable::verdict::Verdict;

/// Handles an order without an interruption, and returns the names of all points.
async fn all_points() -> Vec<String> {
    let process = World::default().start(NEVER);
    process.run(process.till.handle("ann", "order-1")).await.unwrap().unwrap();
    process.points()
}

/// Returns the verdict on the order, whose turn is stored, and whose journal is closed.
async fn verdict(world: &World, order: &str) -> Verdict {
    let snapshot = world.store.load(&MemoryId::from("ann")).await.unwrap();
    assert_eq!(snapshot.journal(), None, "the journal is open");
    let messages = snapshot.messages().to_vec();
    let start = messages.iter().position(|message| message.text() == Some(order)).unwrap();
    let turn = messages[start..].iter().skip(1).take_while(|message| !message.is_user()).count();
    let turn = &messages[start..=start + turn];
    let lines = world.outside.lines(order).await;
    let verdict = Verdict::new(order, &lines, turn).unwrap();
    assert!(verdict.is_correct(), "{verdict:?}: {lines:?}");
    verdict
}

#[tokio::test]
async fn undisturbed_turn_appends_twice_a_round_and_once_for_each_further_tool() {
    let appends = all_points().await.iter().filter(|name| *name == "before an append").count();
    // Start and results of 2 effects, start and results of 2 effects, the last answer.
    assert_eq!(appends, 3 + 3 + 1);
}

#[tokio::test]
async fn turn_is_resumed_from_every_point() {
    let points = all_points().await;
    assert!(points.len() >= 28, "{points:?}");
    let mut unknown = 0;
    for (end, name) in points.iter().enumerate() {
        let world = World::default();
        let first = world.start(end);
        let outcome = first.run(first.till.handle("ann", "order-1")).await;
        assert!(outcome.is_none(), "{name}");
        let second = world.start(NEVER);
        let resumed = second.till.resume("ann").await.unwrap();
        let is_stored = !world.store.get_messages(&"ann".into()).await.unwrap().is_empty();
        // Before the first append, the turn leaves no trace. After the commit, nothing is left to do.
        assert_eq!(resumed.is_some(), is_stored && name != "after the commit", "{name}");
        if !is_stored {
            assert_eq!(world.outside.lines("order-1").await.len(), usize::from(end > 0), "{name}");
            second.till.handle("ann", "order-1").await.unwrap();
        }
        unknown += verdict(&world, "order-1").await.unknown;
    }
    // Between start and result of each of the two tools without a class.
    assert!(unknown >= 2 * 4, "{unknown}");
}

#[tokio::test]
async fn resumed_turn_is_resumed_from_every_point() {
    let points = all_points().await.len();
    for first_end in 0..points {
        for second_end in 0.. {
            let world = World::default();
            let first = world.start(first_end);
            assert!(first.run(first.till.handle("ann", "order-1")).await.is_none());
            let second = world.start(second_end);
            if second.run(second.till.resume("ann")).await.is_some() {
                break;
            }
            let third = world.start(NEVER);
            third.till.resume("ann").await.unwrap();
            verdict(&world, "order-1").await;
        }
    }
}

#[tokio::test]
async fn next_call_finishes_the_open_turn_first() {
    for end in 0..all_points().await.len() {
        let world = World::default();
        let first = world.start(end);
        assert!(first.run(first.till.handle("ann", "order-1")).await.is_none());
        let second = world.start(NEVER);
        let answer = second.till.handle("ann", "order-2").await.unwrap();
        assert_eq!(answer.value, "done order-2");
        verdict(&world, "order-2").await;
        let messages = world.store.get_messages(&"ann".into()).await.unwrap();
        if messages.iter().any(|message| message.text() == Some("order-1")) {
            verdict(&world, "order-1").await;
        }
    }
}

//! The stream of a turn that is resumed.

use super::EFFECTS;
use super::process::{NEVER, World};
use ai_services::memory::ChatMemoryStore;
use ai_services::{DurableTurns, ErrorKind, InvocationContext, StreamEvent};
use ai_services_tests::durable::outside::Outside;
use ai_services_tests::durable::till::Till;

/// A world in which a process ended after the effect of `mail`.
async fn interrupted() -> World {
    let world = World::default();
    let process = world.start_until("after mail", DurableTurns::new());
    assert!(process.run(process.till.handle("ann", "order-1")).await.is_none());
    world
}

fn step(event: &StreamEvent) -> Option<String> {
    match event {
        StreamEvent::ToolStarted(call) => Some(format!("started {}", call.name())),
        StreamEvent::ToolFinished(execution) => {
            Some(format!("finished {}", execution.call().name()))
        }
        StreamEvent::Completed(response) => Some(format!("completed {}", response.value)),
        _ => None,
    }
}

#[tokio::test]
async fn stream_has_the_rest_of_the_turn() {
    let world = interrupted().await;
    let process = world.start(NEVER);
    let mut stream = process.till.resume_stream("ann", InvocationContext::new());
    let (mut steps, mut text) = (Vec::new(), String::new());
    while let Some(event) = stream.next().await {
        let event = event.unwrap();
        steps.extend(step(&event));
        if let StreamEvent::Text(piece) = event {
            text.push_str(&piece);
        }
    }
    // Whether the mail was sent is unknown, so that its call is not started again.
    assert_eq!(
        steps,
        [
            "finished mail",
            "started transfer",
            "finished transfer",
            "started note",
            "finished note",
            "started look_up",
            "finished look_up",
            "completed done order-1",
        ]
    );
    assert_eq!(text, "done order-1");
    assert!(process.till.resume("ann").await.unwrap().is_none());
}

#[tokio::test]
async fn stream_without_an_open_turn_fails() {
    let process = World::default().start(NEVER);
    let mut stream = process.till.resume_stream("ann", InvocationContext::new());
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn stream_that_is_dropped_at_any_event_is_resumed_once_more() {
    for taken in 0.. {
        let world = interrupted().await;
        let process = world.start(NEVER);
        let mut stream = process.till.resume_stream("ann", InvocationContext::new());
        let mut has_ended = false;
        for _ in 0..taken {
            has_ended = stream.next().await.is_none();
        }
        drop(stream);
        let again = world.start(NEVER).till.resume("ann").await.unwrap();
        let messages = world.store.get_messages(&"ann".into()).await.unwrap();
        let texts: Vec<_> = messages.iter().filter_map(|message| message.text()).collect();
        assert_eq!(
            texts.iter().filter(|text| **text == "order-1").count(),
            1,
            "{taken}: {texts:?}"
        );
        assert_eq!(texts.last(), Some(&"done order-1"), "{taken}");
        let lines = world.outside.lines("order-1").await;
        for (tool, effect) in EFFECTS {
            let times = lines.iter().filter(|line| line.event == effect).count();
            assert!(times <= 1, "{taken}: {tool} took effect {times} times");
        }
        if has_ended {
            assert!(again.is_none() && taken > 5);
            return;
        }
    }
}

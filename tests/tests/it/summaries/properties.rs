//! Summaries in arbitrary conversations.

use super::{QUESTION, texts};
use ai_services::memory::{
    ApproximateCounter, ChatMemory, ChatMemoryStore, InMemoryChatMemoryStore, MemoryId,
    MessageWindowChatMemory, Summarizer, TokenCountEstimator, TokenWindowChatMemory,
};
use ai_services::message::{ChatMessage, ToolCall};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{ErrorKind, Response, ai_service, tools};
use proptest::prelude::*;
use std::sync::Arc;

#[ai_service]
trait Agent {
    async fn chat(
        &self,
        #[memory_id] user: u8,
        #[user_message] text: &str,
    ) -> ai_services::Result<Response<String>>;
}

struct Desk;

#[tools]
impl Desk {
    /// Looks up a word.
    #[tool]
    fn look_up(&self) -> String {
        "found".to_owned()
    }
}

#[derive(Clone, Copy, Debug)]
enum Window {
    Messages(usize),
    Tokens(usize),
}

/// The answer of the model to the first request of a turn.
#[derive(Clone, Copy, Debug)]
enum Reply {
    Text,
    Tools(usize),
    Fail,
}

#[derive(Clone, Copy, Debug)]
enum Summary {
    Text(usize),
    Empty,
    Fail,
    Panic,
}

fn window() -> impl Strategy<Value = Window> {
    prop_oneof![(1..14_usize).prop_map(Window::Messages), (10..200_usize).prop_map(Window::Tokens)]
}

fn turn() -> impl Strategy<Value = (usize, Reply)> {
    let reply = prop_oneof![
        4 => Just(Reply::Text),
        2 => (1..4_usize).prop_map(Reply::Tools),
        1 => Just(Reply::Fail),
    ];
    (0..60_usize, reply)
}

fn summary() -> impl Strategy<Value = Summary> {
    prop_oneof![
        4 => (1..60_usize).prop_map(Summary::Text),
        1 => Just(Summary::Empty),
        1 => Just(Summary::Fail),
        1 => Just(Summary::Panic),
    ]
}

fn summarizer(script: Vec<Summary>) -> (Summarizer, ScriptedChatModel) {
    let model = ScriptedChatModel::from_fn(move |number, _| match script[number % script.len()] {
        Summary::Text(length) => ScriptedAnswer::text("s".repeat(length)),
        Summary::Empty => ScriptedAnswer::text(""),
        Summary::Fail => ScriptedAnswer::error(ErrorKind::Unavailable, "down"),
        Summary::Panic => panic!("panic of a summarizer"),
    });
    (Summarizer::new(model.clone()).max_characters(40), model)
}

fn model(turns: &[(usize, Reply)]) -> ScriptedChatModel {
    let turns = turns.to_vec();
    ScriptedChatModel::from_fn(move |number, request| {
        let last = request.messages().rev().find(|message| message.is_user());
        let turn = last.and_then(ChatMessage::text).and_then(|text| text.split(' ').next());
        let turn: usize = turn.and_then(|turn| turn.parse().ok()).unwrap();
        let of_turn = request.messages().rev().take_while(|message| !message.is_user());
        let results = of_turn.filter(|message| message.is_tool_result()).count();
        match turns[turn].1 {
            Reply::Fail => ScriptedAnswer::error(ErrorKind::Unavailable, "down"),
            Reply::Tools(rounds) if results < rounds => {
                ScriptedAnswer::tool_calls([ToolCall::new(number.to_string(), "look_up", "{}")])
            }
            _ => ScriptedAnswer::text(format!("answer {turn}")),
        }
    })
}

/// Checks the grammar of a request: `system (user (call result)* answer)* turn`.
fn check_request(messages: &[ChatMessage]) {
    let [ChatMessage::System(_), rest @ ..] = messages else { panic!("{messages:?}") };
    assert!(rest[0].is_user(), "{messages:?}");
    for (first, second) in rest.iter().zip(&rest[1..]) {
        let fits = match first {
            ChatMessage::Ai(ai) if ai.tool_calls().is_empty() => second.is_user(),
            ChatMessage::Ai(_) => second.is_tool_result(),
            ChatMessage::User(_) | ChatMessage::ToolResult(_) => second.as_ai().is_some(),
            _ => false,
        };
        assert!(fits, "{second:?} follows {first:?}");
    }
    // The summary is at the front or missing.
    let later = &texts(messages)[2..];
    assert!(!later.contains(&QUESTION.to_owned()), "{messages:?}");
}

fn size(window: Window, messages: &[ChatMessage]) -> (usize, usize) {
    match window {
        Window::Messages(max) => (messages.len(), max),
        Window::Tokens(max) => (ApproximateCounter.count_messages(messages).unwrap(), max),
    }
}

async fn check(window: Window, turns: Vec<(usize, Reply)>, script: Vec<Summary>) {
    let (store, model) = (InMemoryChatMemoryStore::new(), model(&turns));
    let (summarizer, summaries) = summarizer(script);
    let provider = {
        let store = store.clone();
        move |id: &MemoryId| -> ai_services::Result<Arc<dyn ChatMemory>> {
            let (store, summarizer) = (store.clone(), summarizer.clone());
            Ok(match window {
                Window::Messages(max) => {
                    let builder = MessageWindowChatMemory::builder().id(id).max_messages(max);
                    Arc::new(builder.store(store).summarizer(summarizer).build()?)
                }
                Window::Tokens(max) => {
                    let builder = TokenWindowChatMemory::builder().id(id);
                    let builder = builder.max_tokens(max, ApproximateCounter);
                    Arc::new(builder.store(store).summarizer(summarizer).build()?)
                }
            })
        }
    };
    let agent = AgentService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(provider)
        .tools(Desk)
        .build()
        .unwrap();
    let id = MemoryId::from("1");
    let system = ChatMessage::system("Be kind.");
    store.update_messages(&id, std::slice::from_ref(&system)).await.unwrap();
    for (number, (length, _)) in turns.into_iter().enumerate() {
        let before = store.get_messages(&id).await.unwrap();
        let text = format!("{number} {}", "x".repeat(length));
        let outcome = agent.chat(1, &text).await;
        let after = store.get_messages(&id).await.unwrap();
        assert_eq!(after[0], system);
        match outcome {
            Err(_) => assert_eq!(before, after),
            Ok(response) => {
                assert_eq!(after.last().unwrap().text(), Some(&*response.value));
                // The newest turn is stored whole, after a part of the earlier ones.
                let start = after.iter().rposition(ChatMessage::is_user).unwrap();
                assert_eq!(after[start].text(), Some(&*text));
                assert_eq!(after[1..start], before[before.len() + 1 - start..]);
                // One turn is at most as large as the window.
                let (size, max) = size(window, &after);
                assert!(size <= 2 * max, "{size} of {max}");
            }
        }
    }
    for request in model.requests() {
        let messages: Vec<_> = request.messages().cloned().collect();
        check_request(&messages);
        let (size, max) = size(window, &messages);
        assert!(size <= max, "{size} of {max}");
    }
    for number in 0..summaries.requests().len() {
        assert!(!texts(&summaries.messages_of(number)).concat().contains("Be kind."));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn requests_and_memory_stay_well_formed_and_bounded(
        window in window(),
        turns in prop::collection::vec(turn(), 1..24),
        script in prop::collection::vec(summary(), 1..5),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(check(window, turns, script));
    }
}

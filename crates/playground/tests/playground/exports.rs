//! Exported turns. The files in `exported` are compiled and run; `UPDATE_EXPECT=1` writes them anew.

use super::fixture::{Fixture, Support, SupportService, refund, state};
use ai_services::combinators::ReplayModel;
use ai_services::memory::{
    Change, ChatMemoryStore, InMemoryChatMemoryStore, MemoryId, MessageWindowChatMemory,
};
use ai_services::record::TurnRecord;
use ai_services::tool::Tool;
use ai_services::{DurableTurns, ErrorKind};
use serde_json::Value;
use std::path::Path;
use std::{env, fs};

/// The files as they were exported.
mod exported {
    mod plain {
        use super::super::{Support, SupportService};
        include!("exported/plain.rs");
    }
    mod tool {
        use super::super::{Support, SupportService};
        include!("exported/tool.rs");
    }
    mod cancelled {
        use super::super::{Support, SupportService};
        include!("exported/cancelled.rs");
    }
    mod failed {
        use super::super::{Support, SupportService};
        include!("exported/failed.rs");
    }
    mod suspended {
        use super::super::{Support, SupportService};
        include!("exported/suspended.rs");
    }
}

/// Runs a turn, and compares its export with a file that is a part of this test.
async fn assert_exported(text: &str, file: &str) {
    let fixture = Fixture::start().await;
    fixture.chat("ann:1", text, Value::Null).await;
    assert_file(&fixture.export().await, file);
}

fn assert_file(export: &Value, file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/playground/exported").join(file);
    let actual = export["test"].as_str().unwrap();
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, actual).unwrap();
    }
    assert_eq!(actual, fs::read_to_string(&path).unwrap(), "run with UPDATE_EXPECT=1");
}

#[tokio::test]
async fn turn_without_tools_is_exported_as_a_test_that_runs() {
    assert_exported("Hello, \"you\"!", "plain.rs").await;
}

#[tokio::test]
async fn turn_with_a_tool_is_exported_as_a_test_that_runs() {
    assert_exported("Where is it?", "tool.rs").await;
}

#[tokio::test]
async fn turn_that_waits_is_exported_as_a_test_that_runs() {
    assert_exported("Refund it.", "suspended.rs").await;
}

#[tokio::test]
async fn turn_that_fails_is_exported_as_a_test_that_runs() {
    assert_exported("Fail.", "failed.rs").await;
}

#[tokio::test]
async fn turn_that_is_cancelled_is_exported_as_a_test_that_runs() {
    let fixture = Fixture::start().await;
    fixture.abandon("ann:1", "Hold.").await;
    assert_file(&fixture.export().await, "cancelled.rs");
}

#[tokio::test]
async fn turn_is_exported_as_a_record() {
    let fixture = Fixture::start().await;
    fixture.chat("ann:1", "Hello!", Value::Null).await;
    let export = fixture.export().await;
    let record = TurnRecord::from_json(export["record"].as_str().unwrap()).unwrap();
    assert_eq!(record.user_message.unwrap().text(), Some("Hello!"));
}

/// Creates the service of the fixture with another model.
fn service(
    model: ReplayModel,
    store: &InMemoryChatMemoryStore,
    tools: Vec<Tool>,
) -> SupportService {
    let memories = store.clone();
    SupportService::builder()
        .chat_model(model)
        .tools(tools)
        .chat_memory_provider(move |id: &MemoryId| {
            let memory = MessageWindowChatMemory::builder().id(id).max_messages(20);
            memory.store(memories.clone()).build()
        })
        .durable_turns(DurableTurns::new())
        .build()
        .unwrap()
}

fn replay(export: &Value) -> ReplayModel {
    ReplayModel::builder().read(export["cassette"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn service_replays_an_exported_cassette_with_the_same_answer() {
    let id = MemoryId::from("ann:1");
    let fixture = Fixture::start().await;
    fixture.chat("ann:1", "Hello!", Value::Null).await;
    let history = fixture.store.load(&id).await.unwrap().messages().clone();
    fixture.chat("ann:1", "Where is it?", Value::Null).await;
    let model = replay(&fixture.export().await);

    let store = InMemoryChatMemoryStore::new();
    store.commit(&id, Change::replace(None, history)).await.unwrap();
    let tools = vec![refund::tool(), state::tool()];
    let replayed = service(model.clone(), &store, tools).chat(&id, "Where is it?").collect().await;
    assert_eq!(replayed.unwrap().value, "Done.");
    model.check_finished().unwrap();
    let messages = async |store: &InMemoryChatMemoryStore| {
        store.load(&id).await.unwrap().messages().iter().cloned().collect::<Vec<_>>()
    };
    assert_eq!(messages(&store).await, messages(&fixture.store).await);
}

#[tokio::test]
async fn service_replays_the_error_of_an_exported_cassette() {
    let fixture = Fixture::start().await;
    fixture.chat("ann:1", "Fail.", Value::Null).await;
    let model = replay(&fixture.export().await);
    let tools = vec![refund::tool(), state::tool()];
    let service = service(model.clone(), &InMemoryChatMemoryStore::new(), tools);
    let error = service.chat(&"ann:1".into(), "Fail.").collect().await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidRequest, Some(400)));
    model.check_finished().unwrap();
}

#[tokio::test]
async fn exported_cassette_rejects_another_request() {
    let fixture = Fixture::start().await;
    fixture.chat("ann:1", "Where is it?", Value::Null).await;
    let model = replay(&fixture.export().await);
    let store = InMemoryChatMemoryStore::new();
    // A tool is missing.
    let service = service(model, &store, vec![state::tool()]);
    let error = service.chat(&"ann:1".into(), "Where is it?").collect().await.unwrap_err();
    let missing = error.detail::<ai_services::combinators::NotRecorded>().unwrap();
    assert!(missing.differences.iter().any(|path| path.starts_with("tools")), "{missing}");
}

#[tokio::test]
async fn exported_cassette_has_no_secrets() {
    let fixture = Fixture::start().await;
    let secret = "sk-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    fixture.chat("ann:1", &format!("My key is {secret}"), Value::Null).await;
    let export = fixture.export().await;
    let cassette = export["cassette"].as_str().unwrap();
    assert!(!cassette.contains(secret) && cassette.contains("[redacted]"), "{cassette}");
}

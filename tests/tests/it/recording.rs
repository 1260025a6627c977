//! Records of turns.

use ai_services::event::CallId;
use ai_services::memory::{InMemoryChatMemoryStore, MemoryId, MessageWindowChatMemory};
use ai_services::message::{ChatMessage, ToolCall};
use ai_services::model::{Price, PriceTable, TokenUsage};
use ai_services::record::{RecordFile, StepKind, TurnOutcome, TurnRecord, TurnRecorder};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{ErrorKind, ai_service, tool};
use futures_util::FutureExt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[ai_service]
trait Agent {
    #[system_message("Be brief.")]
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<u32>;
}

/// Returns the number of a word's letters.
#[tool]
fn letters(word: &str) -> usize {
    word.len()
}

/// The records of a service.
#[derive(Clone, Default)]
struct Records(Arc<Mutex<Vec<TurnRecord>>>);

impl Records {
    fn recorder(&self) -> TurnRecorder {
        let records = Arc::clone(&self.0);
        TurnRecorder::new(move |record| records.lock().unwrap().push(record))
    }

    fn take(&self) -> Vec<TurnRecord> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

fn agent(model: &ScriptedChatModel, recorder: &TurnRecorder) -> AgentService {
    let store = InMemoryChatMemoryStore::new();
    AgentService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(move |id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(9).store(store.clone()).build()
        })
        .tools(letters::tool())
        .price_table(PriceTable::new().price("scripted", Price::per_million(1.0, 1.0)))
        .listener(recorder.listener())
        .build()
        .unwrap()
}

/// Returns the names of the steps.
fn steps(record: &TurnRecord) -> Vec<&'static str> {
    let name = |kind: &StepKind| match kind {
        StepKind::MemoryLoaded { .. } => "loaded",
        StepKind::RequestIssued(_) => "request",
        StepKind::RequestFailed(_) => "no response",
        StepKind::ResponseReceived(_) => "response",
        StepKind::ToolStarted { .. } => "tool started",
        StepKind::ToolFinished { .. } => "tool finished",
        StepKind::AnswerUnreadable(_) => "unreadable",
        StepKind::TurnStored { .. } => "stored",
        other => panic!("unexpected step {other:?}"),
    };
    record.steps.iter().map(|step| name(&step.kind)).collect()
}

#[tokio::test]
async fn record_has_the_whole_turn() {
    let usage = TokenUsage::new(10, 5);
    let call = ToolCall::new("1", "letters", r#"{"word":"four"}"#);
    let model = ScriptedChatModel::new([
        ScriptedAnswer::text("1").with_usage(usage),
        ScriptedAnswer::tool_calls([call]).with_usage(usage),
        ScriptedAnswer::text("many").with_usage(usage),
        ScriptedAnswer::text("4").with_usage(usage),
    ]);
    let records = Records::default();
    let agent = agent(&model, &records.recorder());
    assert_eq!(agent.chat("ann", "one").await.unwrap(), 1);
    assert_eq!(agent.chat("ann", "How many letters has four?").await.unwrap(), 4);

    let [first, second] = &records.take()[..] else { panic!("not two records") };
    assert_ne!(first.id, second.id);
    assert_eq!((&*second.service, &*second.method), ("Agent", "chat"));
    assert_eq!(second.memory_id.as_deref(), Some("ann"));
    assert_eq!(second.system_message.as_ref().and_then(ChatMessage::text), Some("Be brief."));
    let prompt = second.user_message.as_ref().and_then(ChatMessage::text);
    assert_eq!(prompt, Some("How many letters has four?"));
    assert_eq!(second.outcome, TurnOutcome::Completed);
    assert_eq!(second.usage, usage + usage + usage);
    assert_eq!(second.cost.map(|cost| cost.to_string()).as_deref(), Some("0.000045"));
    assert_eq!(
        steps(second),
        [
            "loaded",
            "request",
            "response",
            "tool started",
            "tool finished",
            "request",
            "response",
            "unreadable",
            "request",
            "response",
            "stored",
        ]
    );
    for request in 0..3 {
        let recorded: Vec<ChatMessage> = second.messages_of(request).into_iter().cloned().collect();
        assert_eq!(recorded, model.messages_of(request + 1), "request {request}");
    }
    assert!(second.messages_of(3).is_empty());
    let StepKind::MemoryLoaded { version: Some(loaded), messages: 2 } = second.steps[0].kind else {
        panic!("{:?}", second.steps[0])
    };
    let StepKind::TurnStored { based_on: Some(based_on), messages: 4 } = second.steps[10].kind
    else {
        panic!("{:?}", second.steps[10])
    };
    assert_eq!(based_on, loaded);
    let times: Vec<_> = second.steps.iter().map(|step| step.at).collect();
    assert!(times.is_sorted() && *times.last().unwrap() <= second.duration, "{times:?}");
}

#[tokio::test]
async fn failed_and_dropped_calls_are_recorded() {
    let model = ScriptedChatModel::new([
        ScriptedAnswer::error(ErrorKind::Unavailable, "down"),
        ScriptedAnswer::text("1").after(Duration::from_secs(60)),
    ]);
    let records = Records::default();
    let agent = agent(&model, &records.recorder());
    agent.chat("ann", "go").await.unwrap_err();
    assert!(agent.chat("ann", "wait").now_or_never().is_none());
    let [failed, dropped] = &records.take()[..] else { panic!("not two records") };
    assert_eq!(steps(failed), ["loaded", "request", "no response"]);
    let TurnOutcome::Failed(error) = &failed.outcome else { panic!("{failed:?}") };
    assert_eq!((&*error.kind, error.is_retryable), ("Unavailable", true));
    assert_eq!(steps(dropped), ["loaded", "request"]);
    assert_eq!(dropped.outcome, TurnOutcome::Cancelled);
}

#[tokio::test]
async fn file_has_the_record_of_each_call() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("turns.jsonl");
    let file = RecordFile::builder(&path).redact("Ann").open().unwrap();
    let model = ScriptedChatModel::from_fn(|_, _| ScriptedAnswer::text("1"));
    let agent = agent(&model, &TurnRecorder::to_file(file.clone()));
    for _ in 0..3 {
        agent.chat("u1", "I am Ann.").await.unwrap();
    }
    file.flush();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("Ann"), "{text}");
    let records: Vec<_> = text.lines().map(|line| TurnRecord::from_json(line).unwrap()).collect();
    let ids: std::collections::BTreeSet<CallId> = records.iter().map(|record| record.id).collect();
    assert_eq!(ids.len(), 3);
    let last = records[2].messages_of(0);
    let sent = last.last().and_then(|message| message.text()).unwrap();
    assert!(sent.starts_with("I am [redacted]."), "{sent}");
}

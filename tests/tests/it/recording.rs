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

/// Returns the number of the last question of a conversation: 7 of `question 07`.
fn question(messages: &[&ChatMessage]) -> usize {
    let number = |message: &&ChatMessage| {
        let text = message.text()?.strip_prefix("question ")?;
        text.get(..2)?.parse().ok()
    };
    messages.iter().rev().find_map(number).unwrap()
}

/// Answers question `n` in one of five ways, by `n % 5`. The answer to the last way does not arrive.
fn answer_of_its_way(messages: &[&ChatMessage]) -> ScriptedAnswer {
    let number = question(messages);
    let last = messages.last().and_then(|message| message.text()).unwrap_or_default();
    let answer = match (number % 5, last.starts_with("question")) {
        (1, true) => {
            let arguments = format!(r#"{{"word":"{}"}}"#, "x".repeat(number));
            ScriptedAnswer::tool_calls([ToolCall::new("1", "letters", arguments)])
        }
        (2, _) => ScriptedAnswer::error(ErrorKind::Unavailable, format!("down {number}")),
        (3, true) => ScriptedAnswer::text(format!("many {number}")),
        (4, _) => ScriptedAnswer::text("never").after(Duration::from_secs(3600)),
        _ => ScriptedAnswer::text(number.to_string()),
    };
    answer.with_usage(TokenUsage::new(number as u64, 1))
}

/// Checks that a record has the parts of one call only, and returns the number of its question.
fn check_own(record: &TurnRecord, model: &ScriptedChatModel) -> usize {
    let number = question(&[record.user_message.as_ref().unwrap()]);
    let expected: &[&str] = match number % 5 {
        0 => &["loaded", "request", "response", "stored"],
        1 => &[
            "loaded",
            "request",
            "response",
            "tool started",
            "tool finished",
            "request",
            "response",
            "stored",
        ],
        2 => &["loaded", "request", "no response"],
        3 => &["loaded", "request", "response", "unreadable", "request", "response", "stored"],
        _ => &["loaded", "request"],
    };
    assert_eq!(steps(record), expected, "question {number}");
    let sent: Vec<Vec<ChatMessage>> = (0..model.requests().len())
        .map(|request| model.messages_of(request))
        .filter(|messages| question(&messages.iter().collect::<Vec<_>>()) == number)
        .collect();
    let recorded: Vec<Vec<ChatMessage>> = (0..)
        .map(|request| record.messages_of(request).into_iter().cloned().collect::<Vec<_>>())
        .take_while(|messages| !messages.is_empty())
        .collect();
    assert_eq!(recorded, sent, "question {number}");
    let text = number.to_string();
    for step in &record.steps {
        match &step.kind {
            StepKind::ResponseReceived(response) => assert!(
                response.message.text().is_none_or(|said| said.ends_with(&text)),
                "question {number}: {response:?}"
            ),
            StepKind::ToolFinished { result, .. } => assert_eq!(result.text(), Some(&*text)),
            StepKind::RequestFailed(error) => assert!(error.message.ends_with(&text), "{error:?}"),
            _ => {}
        }
    }
    let (outcome, requests) = match (&record.outcome, number % 5) {
        (TurnOutcome::Completed, 0) => (true, 1),
        (TurnOutcome::Completed, 1 | 3) => (true, 2),
        (TurnOutcome::Failed(_), 2) => (true, 1),
        (TurnOutcome::Cancelled, 4) => (true, 0),
        _ => (false, 0),
    };
    assert!(outcome, "question {number}: {:?}", record.outcome);
    let usage = record.usage.total().unwrap_or_default();
    assert_eq!(usage, requests * (number as u64 + 1), "question {number}");
    number
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[allow(clippy::disallowed_methods, reason = "the calls run on several threads")]
async fn concurrent_turns_of_one_user_have_a_record_each() {
    let asked = tokio::sync::watch::Sender::new(usize::MAX);
    let last_asked = asked.clone();
    let model = ScriptedChatModel::from_fn(move |_, request| {
        let messages: Vec<&ChatMessage> = request.messages().collect();
        last_asked.send_replace(question(&messages));
        answer_of_its_way(&messages)
    });
    let records = Records::default();
    let agent = agent(&model, &records.recorder());
    let calls = (0..64).map(|number| {
        let (agent, mut asked) = (agent.clone(), asked.subscribe());
        tokio::spawn(async move {
            let text = format!("question {number:02}");
            tokio::select! {
                outcome = agent.chat("ann", &text) => match number % 5 {
                    2 => assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Unavailable),
                    _ => assert_eq!(outcome.unwrap(), number as u32),
                },
                // The call is dropped while the model answers.
                dropped = asked.wait_for(|last| *last == number && number % 5 == 4) => drop(dropped),
            }
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    let records = records.take();
    let mut numbers: Vec<usize> = records.iter().map(|record| check_own(record, &model)).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..64).collect::<Vec<_>>());
    let ids: std::collections::BTreeSet<CallId> = records.iter().map(|record| record.id).collect();
    assert_eq!(ids.len(), 64);
    assert!(records.iter().all(|record| record.memory_id.as_deref() == Some("ann")));
    for record in records {
        assert_eq!(TurnRecord::from_json(&record.to_json().unwrap()).unwrap(), record);
    }
}

//! Records and their files.

use super::limits::Limits;
use super::rotation::RotatingFile;
use super::*;
use crate::document::{Metadata, TextSegment};
use crate::error::{Error, ErrorKind};
use crate::event::CallId;
use crate::message::{
    AiMessage, ChatMessage, Content, ImageContent, ToolCall, ToolResult, UserMessage,
};
use crate::model::{
    AnswerOrigin, ChatRequestParameters, ChatResponse, Cost, FinishReason, ModelUsage, TokenUsage,
    ToolSpecification, ToolSpecifications,
};
use crate::rag::RetrievedContent;
use crate::redaction::Redaction;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use serde_json::json;
use std::time::Duration;

fn text() -> impl Strategy<Value = Box<str>> {
    any::<String>().prop_map(Into::into)
}

fn time() -> impl Strategy<Value = Duration> {
    any::<u64>().prop_map(Duration::from_micros)
}

fn usage() -> impl Strategy<Value = TokenUsage> {
    (any::<u64>(), any::<u64>(), of(any::<u64>())).prop_map(|(input, output, cached)| {
        TokenUsage::new(input, output).with_cached_input(cached).with_total(cached)
    })
}

fn message() -> impl Strategy<Value = ChatMessage> {
    let call = || {
        (text(), text(), text())
            .prop_map(|(id, name, arguments)| ToolCall::new(id, name, arguments))
    };
    prop_oneof![
        text().prop_map(ChatMessage::system),
        (any::<String>(), "[A-Za-z0-9+/]{0,40}").prop_map(|(text, data)| {
            let image = ImageContent::base64(data, "image/png").into();
            UserMessage::from_contents([Content::from(text), image]).into()
        }),
        (text(), of(text()), vec(call(), 0..3)).prop_map(|(text, thinking, calls)| {
            let message = AiMessage::builder().text(text).tool_calls(calls);
            let message = match thinking {
                Some(thinking) => message.thinking(thinking),
                None => message,
            };
            message.build().into()
        }),
        (text(), text(), text(), any::<bool>()).prop_map(|(id, name, text, is_error)| {
            let result = ToolResult::new(id, name, text);
            if is_error { result.into_error() } else { result }.into()
        }),
    ]
}

fn error() -> impl Strategy<Value = RecordedError> {
    (any::<String>(), of(100u16..600), of(text()), any::<u32>()).prop_map(
        |(message, status, code, attempts)| {
            let mut error = Error::new(ErrorKind::Timeout, message).with_attempts(attempts);
            if let Some(status) = status {
                error = error.with_status(status);
            }
            if let Some(code) = code {
                error = error.with_code(code);
            }
            RecordedError::from(&error)
        },
    )
}

fn request() -> impl Strategy<Value = RecordedRequest> {
    let tool = (text(), text(), any::<bool>()).prop_map(|(name, description, has_parameters)| {
        let tool = ToolSpecification::new(name, description);
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        if has_parameters { tool.with_parameters(schema.try_into().unwrap()) } else { tool }
    });
    let tools = vec(tool, 1..4).prop_map(ToolSpecifications::from);
    (0usize..9, vec(message(), 0..4), of(tools), 0u8..=100).prop_map(
        |(shared, messages, tools, temperature)| {
            let parameters =
                ChatRequestParameters::new().temperature(f64::from(temperature) / 100.0);
            RecordedRequest::new(shared, messages, tools, parameters.into())
        },
    )
}

fn response() -> impl Strategy<Value = ChatResponse> {
    (text(), usage(), of(text()), of(any::<u32>()), 0..3).prop_map(
        |(text, usage, id, attempts, origin)| {
            let mut response = ChatResponse::new(AiMessage::new(text.clone())).with_usage(usage);
            response.finish_reason = Some(FinishReason::Length);
            (response.id, response.model, response.attempts) = (id, Some(text), attempts);
            response.origin = match origin {
                0 => AnswerOrigin::Model,
                1 => AnswerOrigin::Cache,
                _ => AnswerOrigin::Attempts(vec![ModelUsage::new("other", usage)]),
            };
            response
        },
    )
}

fn verdict() -> impl Strategy<Value = RecordedVerdict> {
    (text(), of(text()), of(message()), of(text())).prop_map(|(name, reason, rewritten, prompt)| {
        RecordedVerdict { name, reason, rewritten, prompt }
    })
}

fn source() -> impl Strategy<Value = RetrievedContent> {
    let number = any::<f64>().prop_filter("finite", |number| number.is_finite());
    (any::<String>(), any::<String>(), any::<i64>(), of(number), of(text())).prop_map(
        |(text, name, page, score, id)| {
            let metadata = Metadata::new().with("name", name).with("page", page);
            let mut source = RetrievedContent::new(TextSegment::new(text).with_metadata(metadata));
            (source.score, source.id) = (score, id);
            source
        },
    )
}

fn kind() -> impl Strategy<Value = StepKind> {
    let skipped = (text(), text(), error()).prop_map(|(route, query, error)| SkippedSource {
        route,
        query,
        error,
    });
    let summary = prop_oneof![text().prop_map(Ok), error().prop_map(Err)];
    prop_oneof![
        (of(any::<u64>()), any::<usize>())
            .prop_map(|(version, messages)| StepKind::MemoryLoaded { version, messages }),
        (any::<usize>(), any::<usize>(), any::<bool>()).prop_map(
            |(dropped, added, is_reordered)| {
                StepKind::HistoryRepaired { dropped, added, is_reordered }
            }
        ),
        text().prop_map(|turn| StepKind::TurnResumed { turn }),
        (vec(source(), 0..3), vec(skipped, 0..2))
            .prop_map(|(contents, skipped)| StepKind::Retrieved { contents, skipped }),
        (text(), verdict())
            .prop_map(|(guardrail, verdict)| StepKind::InputChecked { guardrail, verdict }),
        (text(), any::<usize>(), summary, usage(), time()).prop_map(
            |(model, messages, summary, usage, duration)| {
                StepKind::HistorySummarized { model, messages, summary, usage, duration }
            }
        ),
        request().prop_map(|request| StepKind::RequestIssued(request.into())),
        error().prop_map(|error| StepKind::RequestFailed(error.into())),
        response().prop_map(|response| StepKind::ResponseReceived(response.into())),
        (text(), any::<f64>(), time()).prop_map(|(model, score, duration)| {
            let violations = vec![RecordedViolation::new(model.clone(), score)];
            StepKind::Moderated { model, stage: "input".into(), violations, duration }
        }),
        (text(), text(), text()).prop_map(|(id, name, arguments)| StepKind::ToolStarted {
            id,
            name,
            arguments
        }),
        (text(), message(), time(), any::<bool>()).prop_map(
            |(id, result, duration, has_unknown_outcome)| {
                StepKind::ToolFinished { id, result, duration, has_unknown_outcome }
            }
        ),
        (text(), verdict())
            .prop_map(|(guardrail, verdict)| StepKind::OutputChecked { guardrail, verdict }),
        error().prop_map(|error| StepKind::AnswerUnreadable(error.into())),
        error().prop_map(|error| StepKind::TurnReplayed(error.into())),
        (of(any::<u64>()), any::<usize>())
            .prop_map(|(based_on, messages)| StepKind::TurnStored { based_on, messages }),
    ]
}

fn record() -> impl Strategy<Value = TurnRecord> {
    let outcome = prop_oneof![
        Just(TurnOutcome::Completed),
        Just(TurnOutcome::Cancelled),
        error().prop_map(|error| TurnOutcome::Failed(error.into())),
        (any::<String>(), any::<u64>()).prop_map(|(id, expires)| {
            let pending =
                json!({ "memory_id": id, "position": "t:1", "calls": [], "expires": expires });
            TurnOutcome::Suspended(Box::new(serde_json::from_value(pending).unwrap()))
        }),
    ];
    let ids = (any::<u128>(), of(any::<u128>()), text(), text(), of(text()), of(text()));
    let parts =
        (any::<u64>(), time(), of(message()), of(message()), any::<u32>(), outcome, usage());
    let cost = of((any::<u64>(), any::<u32>()));
    let steps = vec((time(), kind()), 0..8);
    (ids, parts, steps, cost).prop_map(|(ids, parts, steps, cost)| {
        let (id, outer, service, method, memory_id, request_id) = ids;
        let mut record = TurnRecord::new(CallId::from_u128(id), service, method);
        record.outer = outer.map(CallId::from_u128);
        (record.memory_id, record.request_id) = (memory_id, request_id);
        (record.started_ms, record.duration) = (parts.0, parts.1);
        (record.system_message, record.user_message) = (parts.2, parts.3);
        (record.omitted_steps, record.outcome, record.usage) = (parts.4, parts.5, parts.6);
        record.steps = steps.into_iter().map(|(at, kind)| TurnStep::new(at, kind)).collect();
        record.cost = cost.map(|(parts, unpriced)| Cost::restored(parts.into(), unpriced));
        record
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn json_of_a_record_is_read_as_the_same_record(record in record()) {
        let json = record.to_json().unwrap();
        prop_assert!(!json.contains('\n'));
        prop_assert_eq!(TurnRecord::from_json(&json).unwrap(), record);
    }

    #[test]
    fn line_of_a_record_is_within_the_limits_and_readable(record in record(), max in 1_000usize..4_000) {
        let limits = Limits { field: 300, record: max };
        let value = serde_json::to_value(&record).unwrap();
        if let Ok(line) = limits.line(value, &Redaction::default()) {
            prop_assert!(line.len() <= max);
            let read = TurnRecord::from_json(&line).unwrap();
            prop_assert_eq!((read.id, read.started_ms), (record.id, record.started_ms));
        }
    }
}

fn small(number: u32) -> TurnRecord {
    let mut record = TurnRecord::new(CallId::from_u128(number.into()), "Agent", "chat");
    record.user_message =
        Some(ChatMessage::user(format!("question {number} with sk-0123456789abcdef0123")));
    record
}

fn lines(path: &std::path::Path) -> Vec<TurnRecord> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| TurnRecord::from_json(line).unwrap()).collect()
}

/// Returns the path of a new folder, which is deleted with the guard.
fn folder() -> Folder {
    let path = std::env::temp_dir().join(format!("records-{}", CallId::new()));
    std::fs::create_dir(&path).unwrap();
    Folder(path)
}

struct Folder(std::path::PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn file_has_all_records_without_secrets() {
    let folder = folder();
    let path = folder.0.join("turns.jsonl");
    let file = RecordFile::builder(&path).redact("question 1").open().unwrap();
    for number in 0..3 {
        file.write(small(number));
    }
    file.flush();
    let texts: Vec<_> = lines(&path)
        .into_iter()
        .map(|record| record.user_message.unwrap().text().unwrap().to_owned())
        .collect();
    let expected = ["question 0", "[redacted]", "question 2"];
    assert_eq!(texts, expected.map(|text| format!("{text} with [redacted]")));
    assert_eq!(file.dropped(), 0);
}

#[test]
fn dropping_the_file_writes_the_queued_records() {
    let folder = folder();
    let path = folder.0.join("turns.jsonl");
    let file = RecordFile::builder(&path).open().unwrap();
    file.write(small(1));
    drop(file);
    // A file that exists is continued.
    let file = RecordFile::builder(&path).open().unwrap();
    file.write(small(2));
    drop(file);
    let ids: Vec<_> = lines(&path).into_iter().map(|record| record.id.as_u128()).collect();
    assert_eq!(ids, [1, 2]);
}

#[test]
fn number_and_size_of_files_are_bounded() {
    for max_files in 1..4 {
        let folder = folder();
        let path = folder.0.join("turns.jsonl");
        let mut file = RotatingFile::open(path.clone(), 10, max_files).unwrap();
        for number in 0..9 {
            file.append(&format!("line{number}")).unwrap();
        }
        file.append("longer than a file").unwrap();
        let mut files: Vec<_> = std::fs::read_dir(&folder.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let names = ["turns.jsonl", "turns.jsonl.1", "turns.jsonl.2"];
        assert_eq!(files, names[..max_files]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "longer than a file\n");
        if max_files > 1 {
            let newest = std::fs::read_to_string(folder.0.join("turns.jsonl.1")).unwrap();
            assert_eq!(newest, "line8\n");
        }
    }
}

#[cfg(unix)]
#[test]
fn file_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let path = folder.0.join("turns.jsonl");
    let _file = RecordFile::builder(&path).open().unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn panic_of_a_redaction_loses_one_record() {
    let folder = folder();
    let path = folder.0.join("turns.jsonl");
    let file = RecordFile::builder(&path).redact_with(|text| {
        assert_ne!(text, "secret");
        text.to_owned()
    });
    let file = file.open().unwrap();
    file.write(TurnRecord::new(CallId::new(), "secret", "chat"));
    file.write(small(2));
    file.flush();
    assert_eq!((file.dropped(), lines(&path).len()), (1, 1));
}

#[test]
fn records_beyond_the_queue_are_counted_and_do_not_block() {
    use std::sync::mpsc::sync_channel;
    let folder = folder();
    let (entered, has_entered) = sync_channel::<()>(0);
    let (leave, may_leave) = sync_channel::<()>(0);
    let may_leave = std::sync::Mutex::new(may_leave);
    let file = RecordFile::builder(folder.0.join("turns.jsonl"))
        .queue(1)
        .redact_with(move |text| {
            if text == "blocking" {
                entered.send(()).unwrap();
                may_leave.lock().unwrap().recv().unwrap();
            }
            text.to_owned()
        })
        .open()
        .unwrap();
    file.write(TurnRecord::new(CallId::new(), "blocking", "chat"));
    has_entered.recv().unwrap();
    for number in 0..3 {
        file.write(small(number));
    }
    leave.send(()).unwrap();
    file.flush();
    assert_eq!(file.dropped(), 2);
    assert_eq!(lines(&folder.0.join("turns.jsonl")).len(), 2);
}

#[test]
fn long_texts_are_cut_and_large_media_are_left_out() {
    let mut record = small(1);
    let image = ImageContent::base64("A".repeat(4_000), "image/png").into();
    let message = UserMessage::from_contents([Content::from("ä".repeat(1_000)), image]);
    record.user_message = Some(message.into());
    let limits = Limits { field: 301, record: 10_000 };
    let line = limits.line(serde_json::to_value(&record).unwrap(), &Redaction::default()).unwrap();
    let Some(ChatMessage::User(message)) = TurnRecord::from_json(&line).unwrap().user_message
    else {
        panic!("no user message: {line}")
    };
    let [text, image] = message.contents() else { panic!("not two contents: {line}") };
    assert_eq!(text.text().unwrap(), format!("{}… [2000 bytes]", "ä".repeat(150)));
    assert_eq!(image.media().unwrap().len(), 0);
}

#[test]
fn record_that_is_too_large_has_no_steps() {
    let mut record = small(1);
    let step = StepKind::TurnResumed { turn: "x".repeat(200).into() };
    record.steps = vec![TurnStep::new(Duration::ZERO, step); 100];
    record.omitted_steps = 5;
    let limits = Limits { field: 65_536, record: 2_000 };
    let line = limits.line(serde_json::to_value(&record).unwrap(), &Redaction::default()).unwrap();
    let read = TurnRecord::from_json(&line).unwrap();
    assert_eq!((read.steps.len(), read.omitted_steps), (0, 105));
}

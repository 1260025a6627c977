//! Streams whose answers are checked before they are delivered.

use super::journal::{Desk, Journal, calling, opinion, opinionated, remembered, turn, word, words};
use ai_services::guardrail::{ChunkGuardrail, ChunkVerdict, Rejection};
use ai_services::message::{AiMessage, ToolCall};
use ai_services::model::ChatResponse;
use ai_services::testing::ScriptedAnswer;
use ai_services::{AnswerStream, ErrorKind, OutputStrategy, StreamEvent, ai_service};

/// The answers of a scripted model in each of the cases below.
fn scripts() -> Vec<Vec<ScriptedAnswer>> {
    let text = |text: &str| ScriptedAnswer::text(text).chunked(2);
    vec![
        vec![text("good")],
        vec![text("raw")],
        vec![text("again"), text("good")],
        vec![text("ask"), calling("act"), text("raw")],
        vec![text("again"), text("again"), text("again")],
        vec![calling("act"), text("fail")],
        vec![text("fatal")],
        vec![calling("finish")],
    ]
}

#[tokio::test]
async fn stream_has_the_same_result_as_a_call() {
    for (whole, streamed) in scripts().into_iter().zip(scripts()) {
        let (a, b) = (Journal::default(), Journal::default());
        let (one, other) = (a.model(whole), b.model(streamed));
        let (called, streaming) = (opinionated(&a, &one), opinionated(&b, &other));
        let response = called.ask("ann", "?").await;
        let collected = streaming.stream("ann", "?").collect().await;
        match (response, collected) {
            (Ok(response), Ok(collected)) => {
                assert_eq!(response.value, collected.value);
                assert_eq!(response.token_usage, collected.token_usage);
                assert_eq!(response.rejected_answers.len(), collected.rejected_answers.len());
            }
            (Err(error), Err(other)) => assert_eq!(error.to_string(), other.to_string()),
            (response, collected) => panic!("{response:?}, but {collected:?}"),
        }
        assert_eq!(a.entries(), b.entries());
        assert_eq!(remembered(&called, "ann").await, remembered(&streaming, "ann").await);
    }
}

#[tokio::test]
async fn rejected_answer_is_withheld() {
    let words_of = async |script: usize| {
        let journal = Journal::default();
        let model = journal.model(scripts().swap_remove(script));
        words(opinionated(&journal, &model).stream("ann", "?")).await
    };
    assert_eq!(words_of(0).await, ["usage", "text good", "completed good"]);
    assert_eq!(words_of(1).await, ["usage", "text cooked", "completed cooked"]);
    assert_eq!(words_of(2).await, ["usage", "usage", "text good", "completed good"]);
    let expected = [
        "usage",
        "usage",
        "call {}",
        "started act",
        "finished",
        "usage",
        "text cooked",
        "completed cooked",
    ];
    assert_eq!(words_of(3).await, expected);
    assert_eq!(words_of(4).await, ["usage", "usage", "usage", "error Guardrail"]);
    assert_eq!(words_of(6).await, ["usage", "error Guardrail"]);
    let expected = ["usage", "call {}", "started finish", "finished", "completed finished"];
    assert_eq!(words_of(7).await, expected);
}

#[tokio::test]
async fn text_beside_calls_is_sent_before_the_tools_run() {
    let journal = Journal::default();
    let message = AiMessage::builder()
        .text("Let me see.")
        .thinking("Hm.")
        .tool_calls([ToolCall::new("1", "act", "{}")])
        .build();
    let beside = ChatResponse::new(message);
    let model = journal.model([beside.into(), ScriptedAnswer::text("good")]);
    let desk = opinionated(&journal, &model);
    let mut stream = desk.stream("ann", "?");
    let mut sent = Vec::new();
    while let Some(event) = stream.next().await {
        let word = word(&event.unwrap());
        if word.starts_with("text") {
            assert_eq!(journal.entries().contains(&"acted".to_owned()), word == "text good");
        }
        sent.push(word);
    }
    assert_eq!(sent[..5], ["usage", "thinking Hm.", "text Let me see.", "call {}", "started act"]);
}

#[tokio::test]
async fn stream_dropped_at_any_item_leaves_memory_unchanged() {
    for items in 0..7 {
        let journal = Journal::default();
        let model = journal.model(scripts().swap_remove(3));
        let desk = opinionated(&journal, &model);
        let mut stream = desk.stream("ann", "?");
        for _ in 0..items {
            stream.next().await.unwrap().unwrap();
        }
        drop(stream);
        assert!(remembered(&desk, "ann").await.is_empty(), "after {items} items");
    }
}

#[ai_service]
trait Counter {
    fn count(&self, text: &str) -> AnswerStream<u32>;
}

#[tokio::test]
async fn value_is_streamed_once_it_is_accepted_and_read() {
    let journal = Journal::default();
    let answers = ["again", "no number", "ask", "3"].map(ScriptedAnswer::text);
    let counter = CounterService::builder()
        .chat_model(journal.model(answers))
        .output_guardrail(journal.output("critic", opinion))
        .build()
        .unwrap();
    let mut stream = counter.count("?");
    let (mut texts, mut value) = (Vec::new(), None);
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            StreamEvent::Text(text) => texts.push(text),
            StreamEvent::Completed(response) => value = Some(response.value),
            StreamEvent::Usage(_) => {}
            other => panic!("unexpected event: {other:?}"),
        }
    }
    assert_eq!((texts, value), (vec!["3".to_owned()], Some(3)));
}

/// Delivers complete words only, hides one, and blocks another.
#[derive(Default)]
struct Hides(String);

impl Hides {
    fn deliver(&mut self, end: usize) -> ChunkVerdict {
        let words: String = self.0.drain(..end).collect();
        if words.contains("bomb") {
            ChunkVerdict::Block("a bomb".into())
        } else {
            ChunkVerdict::Rewrite(words.replace("secret", "***"))
        }
    }
}

impl ChunkGuardrail for Hides {
    fn check(&mut self, text: &str) -> ChunkVerdict {
        self.0.push_str(text);
        let end = self.0.rfind(' ').map_or(0, |space| space + 1);
        self.deliver(end)
    }

    fn finish(&mut self) -> ChunkVerdict {
        let end = self.0.len();
        self.deliver(end)
    }

    fn name(&self) -> &str {
        "hides"
    }
}

#[tokio::test]
async fn text_of_a_chunk_guardrail_is_streamed_and_is_the_answer() {
    let journal = Journal::default();
    let answer = || ScriptedAnswer::text("my secret is out").chunked(4);
    let model = journal.model([answer(), answer()]);
    let desk = journal.desk(&model).chunk_guardrail(Hides::default).build().unwrap();
    let sent = words(desk.stream("ann", "?")).await;
    let expected =
        ["text my ", "text *** ", "text is ", "text out", "usage", "completed my *** is out"];
    assert_eq!(sent, expected);
    assert_eq!(remembered(&desk, "ann").await, turn("?", "my *** is out"));
    assert_eq!(desk.ask("bob", "?").await.unwrap().value, "my *** is out");
    assert_eq!(remembered(&desk, "bob").await, turn("?", "my *** is out"));
}

#[tokio::test]
async fn blocked_piece_ends_the_stream_and_is_not_stored() {
    let journal = Journal::default();
    let answer = || ScriptedAnswer::pieces(["the ", "bomb ", "is ", "here"]);
    let model = journal.model([answer(), answer()]);
    let desk = journal.desk(&model).chunk_guardrail(Hides::default).build().unwrap();
    assert_eq!(words(desk.stream("ann", "?")).await, ["text the ", "error Guardrail"]);
    let error = desk.ask("ann", "?").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Guardrail);
    assert_eq!(error.detail::<Rejection>().unwrap().objections[0].reason.as_ref(), "a bomb");
    assert!(remembered(&desk, "ann").await.is_empty());
}

#[tokio::test]
async fn chunk_guardrail_checks_arguments_of_the_answer_tool() {
    /// Replaces the answer by another one.
    struct Seven;

    impl ChunkGuardrail for Seven {
        fn check(&mut self, _: &str) -> ChunkVerdict {
            ChunkVerdict::Rewrite(r#"{"value":7}"#.to_owned())
        }

        fn name(&self) -> &str {
            "seven"
        }
    }

    let journal = Journal::default();
    let call = ToolCall::new("1", "final_answer", r#"{"value":3}"#);
    let model = journal.model([ScriptedAnswer::tool_calls([call])]);
    let desk = journal
        .desk(&model)
        .output_strategy(OutputStrategy::Tool)
        .chunk_guardrail(|| Seven)
        .build()
        .unwrap();
    assert_eq!(desk.count("ann", "?").await.unwrap().value, 7);
}

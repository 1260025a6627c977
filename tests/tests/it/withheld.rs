//! Content that streams withhold: rejected results, their reasoning, and text that is not part of an answer.

use super::journal::{CheckOutput, Desk, Journal, calling, opinionated, remembered, turn, words};
use ai_services::guardrail::{ChunkGuardrail, ChunkVerdict, OutputVerdict};
use ai_services::message::{AiMessage, ToolCall};
use ai_services::model::{self, ChatModel, ChatRequest, ChatResponse};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{AnswerStream, OutputStrategy, StreamEvent, ai_service, async_trait};
use futures_util::stream::{self, BoxStream, StreamExt};

#[tokio::test]
async fn immediate_results_are_sent_once_they_are_accepted() {
    let words_of = async |answers: Vec<ScriptedAnswer>, check| {
        let journal = Journal::default();
        let model = journal.model(answers);
        let desk = journal.desk(&model).output_guardrail(journal.output("critic", check));
        words(desk.build().unwrap().stream("ann", "?")).await
    };
    let start = ["usage", "call {}", "started finish"];
    let words = words_of(vec![calling("finish")], |_, _| OutputVerdict::Fatal("no".into())).await;
    assert_eq!(words, [&start[..], &["error Guardrail"]].concat());

    let cooked = |_: &str, _| OutputVerdict::Rewrite("cooked".into());
    let words = words_of(vec![calling("finish")], cooked).await;
    assert_eq!(words, [&start[..], &["text cooked", "completed cooked"]].concat());

    let again: CheckOutput = |text, _| match text {
        "finished" => OutputVerdict::Retry("not that".into()),
        _ => OutputVerdict::Success,
    };
    let words = words_of(vec![calling("finish"), ScriptedAnswer::text("good")], again).await;
    assert_eq!(words, [&start[..], &["usage", "text good", "completed good"]].concat());

    let both = ScriptedAnswer::tool_calls([
        ToolCall::new("1", "finish", "{}"),
        ToolCall::new("2", "act", "{}"),
    ]);
    let words = words_of(vec![both, ScriptedAnswer::text("good")], again).await;
    assert_eq!(words.iter().filter(|word| *word == "finished").count(), 2);
    assert_eq!(words[words.len() - 3..], ["usage", "text good", "completed good"]);
}

#[tokio::test]
async fn reasoning_of_a_rewritten_answer_is_withheld() {
    let answer = |text: &str| {
        ChatResponse::new(AiMessage::builder().text(text).thinking("The key is 7.").build())
    };
    let journal = Journal::default();
    let model = journal.model([answer("raw").into(), answer("good").into()]);
    let desk = opinionated(&journal, &model);
    assert_eq!(words(desk.stream("ann", "?")).await, ["usage", "text cooked", "completed cooked"]);
    assert_eq!(remembered(&desk, "ann").await, turn("?", "cooked"));
    let sent = words(desk.stream("bob", "?")).await;
    assert_eq!(sent[..2], ["usage", "thinking The key is 7."]);
}

/// Withholds the text until the end, hides one word, and blocks another.
#[derive(Default)]
struct Late(String);

impl ChunkGuardrail for Late {
    fn check(&mut self, text: &str) -> ChunkVerdict {
        self.0.push_str(text);
        ChunkVerdict::Rewrite(String::new())
    }

    fn finish(&mut self) -> ChunkVerdict {
        if self.0.contains("bomb") {
            ChunkVerdict::Block("a bomb".into())
        } else {
            ChunkVerdict::Rewrite(self.0.replace("secret", "***"))
        }
    }

    fn name(&self) -> &str {
        "late"
    }
}

/// A model that streams one piece, and ends with an answer that is longer.
struct Forgetful(&'static str);

impl Forgetful {
    fn answer(&self) -> ChatResponse {
        ChatResponse::new(AiMessage::new(self.0))
    }
}

#[async_trait]
impl ChatModel for Forgetful {
    async fn chat(&self, _: &ChatRequest) -> ai_services::Result<ChatResponse> {
        Ok(self.answer())
    }

    fn stream<'a>(
        &'a self,
        _: &'a ChatRequest,
    ) -> BoxStream<'a, ai_services::Result<model::ModelStreamEvent>> {
        let end = model::ModelStreamEvent::Completed(Box::new(self.answer()));
        stream::iter([Ok(model::ModelStreamEvent::Text("the ".to_owned())), Ok(end)]).boxed()
    }
}

#[tokio::test]
async fn answer_that_was_not_streamed_is_checked() {
    let journal = Journal::default();
    let desk = |answer| {
        let desk = journal.desk(&journal.replies([])).chat_model(Forgetful(answer));
        desk.chunk_guardrail(Late::default).build().unwrap()
    };
    let hidden = desk("the secret");
    assert_eq!(hidden.stream("ann", "?").collect().await.unwrap().value, "the ***");
    assert_eq!(remembered(&hidden, "ann").await, turn("?", "the ***"));
    let sent = words(desk("the bomb").stream("ann", "?")).await;
    assert_eq!(sent.last().unwrap(), "error Guardrail");
}

#[ai_service]
trait Counter {
    fn count(&self, text: &str) -> AnswerStream<u32>;
}

#[tokio::test]
async fn withheld_text_is_not_part_of_the_answer_tool() {
    let call = ToolCall::new("1", "final_answer", r#"{"value": 3}"#);
    let message = AiMessage::builder().text("Let me count").tool_calls([call]).build();
    let answer = ScriptedAnswer::from(ChatResponse::new(message)).chunked(4);
    let counter = CounterService::builder()
        .chat_model(ScriptedChatModel::new([answer]))
        .output_strategy(OutputStrategy::Tool)
        .chunk_guardrail(Late::default)
        .build()
        .unwrap();
    let (mut stream, mut sent) = (counter.count("?"), String::new());
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            StreamEvent::Text(text) => sent.push_str(&text),
            StreamEvent::Restarted => sent.clear(),
            _ => {}
        }
    }
    assert_eq!(sent, r#"{"value": 3}"#);
}

#[tokio::test]
async fn blank_prompt_repeats_the_same_messages() {
    let journal = Journal::default();
    let model = journal.replies(["no", "good"]);
    let blank: CheckOutput = |text, _| match text {
        "no" => OutputVerdict::Reprompt { reason: "not that".into(), prompt: " ".into() },
        _ => OutputVerdict::Success,
    };
    let desk = journal.desk(&model).output_guardrail(journal.output("critic", blank));
    assert_eq!(desk.build().unwrap().ask("ann", "?").await.unwrap().value, "good");
    assert_eq!(model.messages_of(1), model.messages_of(0));
}

//! Windows that fold evicted turns into a summary.

mod failures;
mod properties;
mod stores;

use ai_services::event::{Call, Event};
use ai_services::guardrail::{InputVerdict, input_guardrail_fn};
use ai_services::memory::{
    ApproximateCounter, ChatMemory, ChatMemoryStore, InMemoryChatMemoryStore, MemoryId,
    MessageWindowChatMemory, Summarizer, TokenWindowChatMemory,
};
use ai_services::message::{ChatMessage, ToolCall};
use ai_services::model::{Moderation, ModerationModel, Price, PriceTable, TokenUsage};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{AnswerStream, ErrorKind, Response, StreamEvent, ai_service, async_trait, tool};
use std::future::ready;
use std::ops::Range;
use std::sync::{Arc, Mutex};

#[ai_service]
trait Assistant {
    async fn chat(&self, message: &str) -> ai_services::Result<Response<String>>;

    fn stream(&self, message: &str) -> AnswerStream;
}

/// The user message in front of a summary.
const QUESTION: &str = "Summarize our conversation up to this point.";

/// A model that answers with the number of the request.
fn numbered(word: &'static str) -> ScriptedChatModel {
    ScriptedChatModel::from_fn(move |number, _| {
        ScriptedAnswer::text(format!("{word} {number}")).with_usage(TokenUsage::new(10, 1))
    })
}

fn id() -> MemoryId {
    "ann".into()
}

fn texts(messages: &[ChatMessage]) -> Vec<String> {
    messages.iter().filter_map(ChatMessage::text).map(str::to_owned).collect()
}

fn memory(
    max: usize,
    summarizer: Summarizer,
    store: impl ChatMemoryStore + 'static,
) -> MessageWindowChatMemory {
    let builder = MessageWindowChatMemory::builder().id(id()).max_messages(max);
    builder.store(store).summarizer(summarizer).build().unwrap()
}

/// A service with a window that summarizes, and everything that it did.
struct Setup {
    model: ScriptedChatModel,
    summaries: ScriptedChatModel,
    store: InMemoryChatMemoryStore,
    assistant: AssistantService,
    events: Arc<Mutex<Vec<String>>>,
}

impl Setup {
    fn new(max: usize, summaries: ScriptedChatModel) -> Self {
        Self::with(max, summaries, |summarizer| summarizer)
    }

    fn with(
        max: usize,
        summaries: ScriptedChatModel,
        settings: impl FnOnce(Summarizer) -> Summarizer,
    ) -> Self {
        let summarizer = settings(Summarizer::new(summaries.clone()));
        let store = InMemoryChatMemoryStore::new();
        let memory = memory(max, summarizer, store.clone());
        let (model, events) = (numbered("answer"), Arc::default());
        let assistant = AssistantService::builder()
            .chat_model(model.clone())
            .chat_memory(memory)
            .listener(recorder(&events))
            .build()
            .unwrap();
        Self { model, summaries, store, assistant, events }
    }

    /// Makes one call for each number.
    async fn chat(&self, turns: Range<usize>) {
        for turn in turns {
            self.assistant.chat(&format!("question {turn}")).await.unwrap();
        }
    }

    /// Returns the texts of a request.
    fn request(&self, number: usize) -> Vec<String> {
        texts(&self.model.messages_of(number))
    }

    /// Returns the stored messages.
    async fn stored(&self) -> Vec<ChatMessage> {
        self.store.get_messages(&id()).await.unwrap()
    }

    fn events(&self) -> Vec<String> {
        std::mem::take(&mut *self.events.lock().unwrap())
    }
}

/// Returns a listener that records the events of summaries and requests.
fn recorder(
    events: &Arc<Mutex<Vec<String>>>,
) -> impl Fn(&Call<'_>, &Event<'_>) + Send + Sync + 'static {
    let events = Arc::clone(events);
    move |_, event| {
        let line = match event {
            Event::HistorySummarized { model, messages, summary, usage, .. } => {
                let outcome = match summary {
                    Ok(text) => (*text).to_owned(),
                    Err(error) => format!("{:?}", error.kind()),
                };
                let tokens = usage.total().unwrap_or(0);
                format!("{model} folded {messages}: {outcome} ({tokens} tokens)")
            }
            Event::RequestIssued { request } => format!("request of {}", request.message_count()),
            _ => return,
        };
        events.lock().unwrap().push(line);
    }
}

#[tokio::test]
async fn evicted_turns_are_sent_as_a_summary() {
    let setup = Setup::new(8, numbered("summary"));
    setup.chat(0..5).await;
    // The window has room for 7 messages before the answer: 2 for the summary, and half of the others.
    assert_eq!(setup.request(4), [QUESTION, "summary 0", "question 3", "answer 3", "question 4"]);
    let request = texts(&setup.summaries.messages_of(0));
    assert!(request[0].ends_with("Write at most 3000 characters."), "{}", request[0]);
    assert!(request[1].contains(r#"{"user":"question 0"}"#), "{}", request[1]);
    assert!(request[1].contains(r#"{"assistant":"answer 2"}"#), "{}", request[1]);
    assert!(!request[1].contains("question 3"), "{}", request[1]);
    // The next turn needs no summary.
    setup.chat(5..6).await;
    assert_eq!(setup.summaries.requests().len(), 1);
    assert_eq!(setup.request(5)[..2], [QUESTION, "summary 0"]);
}

#[tokio::test]
async fn next_summary_includes_the_earlier_one() {
    let setup = Setup::new(8, numbered("summary"));
    setup.chat(0..9).await;
    let request = texts(&setup.summaries.messages_of(1));
    assert!(request[1].starts_with("The summary so far:\nsummary 0\n\n"), "{}", request[1]);
    assert!(!request[1].contains(QUESTION), "{}", request[1]);
    assert!(!request[1].contains("question 0"), "{}", request[1]);
    let newest = format!("summary {}", setup.summaries.requests().len() - 1);
    assert_eq!(setup.request(8)[..2], [QUESTION, newest.as_str()]);
}

#[tokio::test]
async fn stored_messages_are_those_that_were_said() {
    let setup = Setup::new(8, numbered("summary"));
    setup.chat(0..9).await;
    let stored = setup.stored().await;
    assert_eq!(stored[0].text(), Some("question 7"));
    assert!(!texts(&stored).contains(&QUESTION.to_owned()));
    let newest = format!("summary {}", setup.summaries.requests().len() - 1);
    assert_eq!(Summarizer::summary_of(&stored), Some(newest.as_str()));
    let memory = setup.assistant.shared_chat_memory().unwrap();
    assert_eq!(memory.messages().await.unwrap(), stored);
}

#[tokio::test]
async fn summary_is_an_event_before_the_request() {
    let setup = Setup::new(4, numbered("summary"));
    setup.chat(0..3).await;
    let expected = [
        "request of 1",
        "request of 3",
        "scripted folded 4: summary 0 (11 tokens)",
        "request of 3",
    ];
    assert_eq!(setup.events(), expected);
}

#[tokio::test]
async fn usage_and_cost_include_the_summary() {
    let (model, summaries) = (numbered("answer"), numbered("summary"));
    let memory = memory(4, Summarizer::new(summaries), InMemoryChatMemoryStore::new());
    let assistant = AssistantService::builder()
        .chat_model(model)
        .chat_memory(memory)
        .price_table(PriceTable::new().price("scripted", Price::per_million(1.0, 1.0)))
        .build()
        .unwrap();
    assistant.chat("1").await.unwrap();
    assistant.chat("2").await.unwrap();
    let response = assistant.chat("3").await.unwrap();
    assert_eq!(response.token_usage, TokenUsage::new(20, 2));
    assert_eq!(response.cost.unwrap().to_string(), "0.000022");
}

#[tokio::test]
async fn stream_sends_the_summary() {
    let setup = Setup::new(4, numbered("summary"));
    setup.chat(0..2).await;
    let mut stream = setup.assistant.stream("question 2");
    let mut usages = Vec::new();
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            StreamEvent::Usage(usage) => usages.push(usage),
            StreamEvent::Completed(response) => usages.push(response.token_usage),
            _ => {}
        }
    }
    assert_eq!(usages, [TokenUsage::new(20, 2); 2]);
    assert_eq!(setup.request(2), [QUESTION, "summary 0", "question 2"]);
    assert_eq!(Summarizer::summary_of(&setup.stored().await), Some("summary 0"));
}

#[tokio::test]
async fn stored_system_message_is_not_summarized() {
    let setup = Setup::new(7, numbered("summary"));
    let system = ChatMessage::system("Be brief.");
    let memory = setup.assistant.shared_chat_memory().unwrap();
    memory.add(system.clone()).await.unwrap();
    setup.chat(0..8).await;
    for number in 0..8 {
        assert_eq!(setup.request(number)[0], "Be brief.");
    }
    for number in 0..setup.summaries.requests().len() {
        assert!(!texts(&setup.summaries.messages_of(number)).concat().contains("Be brief."));
    }
    assert_eq!(setup.request(7)[1], QUESTION);
    assert_eq!(setup.stored().await[0], system);
}

#[tokio::test]
async fn token_window_folds_turns() {
    let (model, summaries) = (numbered("answer"), numbered("summary"));
    let memory = TokenWindowChatMemory::builder()
        .max_tokens(120, ApproximateCounter)
        .summarizer(Summarizer::new(summaries.clone()))
        .build()
        .unwrap();
    let assistant =
        AssistantService::builder().chat_model(model.clone()).chat_memory(memory).build().unwrap();
    for turn in 0..20 {
        assistant.chat(&format!("question {turn}")).await.unwrap();
    }
    let count = summaries.requests().len();
    assert!((2..12).contains(&count), "{count} summaries");
    assert_eq!(
        texts(&model.messages_of(19))[..2],
        [QUESTION.to_owned(), format!("summary {}", count - 1)]
    );
}

/// Looks something up.
#[tool]
fn look_up() -> &'static str {
    "found"
}

/// A turn may grow after its first request.
#[tokio::test]
async fn growing_turn_leaves_out_the_history_before_the_summary() {
    let summaries = numbered("summary");
    let memory = memory(8, Summarizer::new(summaries.clone()), InMemoryChatMemoryStore::new());
    let model = ScriptedChatModel::from_fn(|number, request| {
        let results = request.messages().filter(|message| message.is_tool_result()).count();
        if number < 4 || results == 2 {
            return ScriptedAnswer::text(format!("answer {number}"));
        }
        ScriptedAnswer::tool_calls([ToolCall::new(format!("{number}"), "look_up", "{}")])
    });
    let assistant = AssistantService::builder()
        .chat_model(model.clone())
        .chat_memory(memory)
        .tools(look_up::tool())
        .build()
        .unwrap();
    for turn in 0..5 {
        assistant.chat(&format!("question {turn}")).await.unwrap();
    }
    let request = |number: usize| texts(&model.messages_of(number));
    assert_eq!(request(4)[..3], [QUESTION, "summary 0", "question 3"]);
    assert_eq!(
        request(5),
        [QUESTION, "summary 0", "question 3", "answer 3", "question 4", "found"]
    );
    // The second call and its result need the room of the history.
    assert_eq!(request(6), [QUESTION, "summary 0", "question 4", "found", "found"]);
    // The skipped turn was not lost.
    assistant.chat("question 5").await.unwrap();
    assert!(texts(&summaries.messages_of(1))[1].contains("question 3"));
}

#[tokio::test]
async fn retrieval_and_guardrails_see_the_summary() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let guardrail = {
        let seen = Arc::clone(&seen);
        input_guardrail_fn("history", move |request| {
            let history: Vec<_> = request.turn.history().cloned().collect();
            seen.lock().unwrap().push(texts(&history));
            ready(Ok(InputVerdict::Success))
        })
    };
    let memory = memory(8, Summarizer::new(numbered("summary")), InMemoryChatMemoryStore::new());
    let assistant = AssistantService::builder()
        .chat_model(numbered("answer"))
        .chat_memory(memory)
        .input_guardrail(guardrail)
        .build()
        .unwrap();
    for turn in 0..6 {
        assistant.chat(&format!("question {turn}")).await.unwrap();
    }
    let expected = [QUESTION, "summary 0", "question 3", "answer 3", "question 4", "answer 4"];
    assert_eq!(seen.lock().unwrap()[5], expected);
}

/// Another process may have another configuration.
#[tokio::test]
async fn service_without_a_summarizer_reads_ordinary_messages() {
    let setup = Setup::new(6, numbered("summary"));
    setup.chat(0..4).await;
    let model = numbered("other");
    let window = MessageWindowChatMemory::builder().id(id()).max_messages(99);
    let other = AssistantService::builder()
        .chat_model(model.clone())
        .chat_memory(window.store(setup.store.clone()).build().unwrap())
        .build()
        .unwrap();
    other.chat("question 4").await.unwrap();
    let request = texts(&model.messages_of(0));
    assert_eq!(request, ["question 2", "answer 2", "question 3", "answer 3", "question 4"]);
    // The summary is still there for the first service.
    setup.chat(5..6).await;
    let newest = setup.summaries.requests().len() - 1;
    assert_eq!(setup.request(4)[1], format!("summary {newest}"));
    let request = texts(&setup.summaries.messages_of(newest));
    assert!(request[1].contains("The summary so far:\nsummary 0"), "{}", request[1]);
}

#[tokio::test]
async fn summary_survives_the_repair_of_a_history() {
    let setup = Setup::new(8, numbered("summary"));
    setup.chat(0..5).await;
    setup
        .store
        .update_messages(&id(), &{
            let mut messages = setup.stored().await;
            messages.push(ChatMessage::user("without an answer"));
            messages
        })
        .await
        .unwrap();
    setup.chat(5..6).await;
    assert_eq!(setup.request(5)[..2], [QUESTION, "summary 0"]);
    assert_eq!(Summarizer::summary_of(&setup.stored().await), Some("summary 0"));
    assert!(!texts(&setup.stored().await).contains(&"without an answer".to_owned()));
}

struct Censor;

#[async_trait]
impl ModerationModel for Censor {
    async fn moderate(&self, text: &str) -> ai_services::Result<Moderation> {
        Ok(if text.contains("bad") {
            Moderation::flagged([("hate", 1.0)])
        } else {
            Moderation::passed()
        })
    }
}

#[ai_service]
#[moderate]
trait Moderated {
    async fn chat(&self, message: &str) -> ai_services::Result<String>;
}

#[tokio::test]
async fn rejected_message_stores_no_summary() {
    let (store, summaries) = (InMemoryChatMemoryStore::new(), numbered("summary"));
    let guardrail = input_guardrail_fn("no_shouting", |request| {
        let shouts = request.text().ends_with('!');
        let verdict =
            if shouts { InputVerdict::Failure("loud".into()) } else { InputVerdict::Success };
        ready(Ok(verdict))
    });
    let assistant = ModeratedService::builder()
        .chat_model(numbered("answer"))
        .chat_memory(memory(4, Summarizer::new(summaries.clone()), store.clone()))
        .moderation_model(Censor)
        .input_guardrail(guardrail)
        .build()
        .unwrap();
    assistant.chat("a").await.unwrap();
    assistant.chat("b").await.unwrap();
    let before = store.get_messages(&id()).await.unwrap();
    let error = assistant.chat("c!").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Guardrail);
    assert!(summaries.requests().is_empty());
    let error = assistant.chat("bad").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Moderation);
    assert_eq!(store.get_messages(&id()).await.unwrap(), before);
}

//! Summaries in every store, made by two services with separate connections.

use ai_services::ai_service;
use ai_services::memory::{
    ChatMemoryStore, ConversationStore, EvictedMessages, HistoryPosition, MemoryId,
    MessageWindowChatMemory, Summarizer,
};
use ai_services::message::ChatMessage;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use std::sync::Arc;

#[ai_service]
trait Assistant {
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;
}

const USER: &str = "ann";
const MAX: usize = 8;
const TURNS: usize = 24;

fn texts<'a>(messages: impl IntoIterator<Item = &'a ChatMessage>) -> Vec<String> {
    messages.into_iter().filter_map(ChatMessage::text).map(str::to_owned).collect()
}

fn question(turn: usize) -> String {
    format!("question {turn}")
}

/// Returns a model whose answers name the last question of the request.
fn answering() -> ScriptedChatModel {
    ScriptedChatModel::from_fn(|_, request| {
        let question = texts(request.messages()).pop().unwrap();
        ScriptedAnswer::text(question.replace("question", "answer"))
    })
}

/// Returns a model whose summaries name the first and the last question that they include.
fn summarizing() -> ScriptedChatModel {
    ScriptedChatModel::from_fn(|_, request| {
        let text = texts(request.messages()).pop().unwrap();
        let earlier = text.strip_prefix("The summary so far:\nfrom ");
        let first = earlier.unwrap_or_else(|| text.split("question ").nth(1).unwrap());
        let last = text.rsplit("question ").next().unwrap();
        let number = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
        ScriptedAnswer::text(format!("from {} to {}", number(first), number(last)))
    })
}

fn assistant(
    store: Arc<impl ConversationStore + 'static>,
    summaries: &ScriptedChatModel,
) -> (AssistantService, ScriptedChatModel) {
    let (model, summarizer) = (answering(), Summarizer::new(summaries.clone()));
    let provider = move |id: &MemoryId| {
        let window = MessageWindowChatMemory::builder().id(id).max_messages(MAX);
        window.summarizer(summarizer.clone()).store(Arc::clone(&store)).build()
    };
    let builder = AssistantService::builder().chat_model(model.clone());
    (builder.chat_memory_provider(provider).build().unwrap(), model)
}

/// Runs a conversation on two handles of the same data. Each turn must see everything that was said before
/// it: the summary, and the messages that follow what the summary covers.
pub(super) async fn run<S: ConversationStore + 'static>(
    stores: [S; 2],
    evicted_messages: EvictedMessages,
) {
    let stores = stores.map(Arc::new);
    let (id, summaries) = (MemoryId::from(USER), summarizing());
    let services = stores.each_ref().map(|store| assistant(Arc::clone(store), &summaries));
    for turn in 0..TURNS {
        // Three turns each, so that both find messages and summaries of the other one.
        let (assistant, model) = &services[turn / 3 % 2];
        assistant.chat(USER, &question(turn)).await.unwrap();
        let request = texts(&model.messages_of(model.requests().len() - 1));
        assert!(request.len() < MAX, "{request:?}");
        check(&request, turn);

        let stored = stores[0].get_messages(&id).await.unwrap();
        assert!(stored.len() <= MAX + 2);
        let visible = texts(&stored).into_iter().filter(|text| text.starts_with("question"));
        assert_eq!(visible.count() * 2, stored.len(), "a summary is not a message");
    }
    let count = summaries.requests().len();
    assert!((4..=TURNS / 2).contains(&count), "{count} summaries");

    let history = stores[1].history(&id, HistoryPosition::Oldest, 100).await.unwrap();
    let history = texts(history.iter().map(|entry| &entry.message));
    let first = match evicted_messages {
        EvictedMessages::Keep => 0,
        EvictedMessages::Delete => TURNS - history.len() / 2,
    };
    let spoken = (first..TURNS).flat_map(|turn| [question(turn), format!("answer {turn}")]);
    assert_eq!(history, spoken.collect::<Vec<_>>());
    stores[0].delete_messages(&id).await.unwrap();
}

/// Checks that a request covers the questions from 0 to `turn` without a gap.
fn check(request: &[String], turn: usize) {
    let (first, rest) = match request {
        [asked, summary, rest @ ..] if asked.starts_with("Summarize") => {
            let last = summary.strip_prefix("from 0 to ").unwrap();
            (last.parse::<usize>().unwrap() + 1, rest)
        }
        rest => (0, rest),
    };
    let answered = (first..turn).flat_map(|turn| [question(turn), format!("answer {turn}")]);
    let expected: Vec<_> = answered.chain([question(turn)]).collect();
    assert_eq!(rest, expected);
}

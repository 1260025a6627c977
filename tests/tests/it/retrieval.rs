//! Retrieval in a service: contents are sent, reported and counted, and stored only if configured.

use super::journal::{Desk, DeskService, Journal, calling, remembered, turn, words};
use ai_services::document::TextSegment;
use ai_services::event::{Call, Event};
use ai_services::guardrail::{InputVerdict, OutputVerdict};
use ai_services::memory::{
    ChatMemoryStore, InMemoryChatMemoryStore, MemoryId, MessageWindowChatMemory,
};
use ai_services::message::{ChatMessage, Content, UserMessage};
use ai_services::model::{IncurredCost, Price, PriceTable, TokenUsage};
use ai_services::rag::{RetrievalAugmentor, Retrieved, RetrievedContent};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{ErrorKind, OutputStrategy, Remembered, TurnContext, async_trait};
use futures_util::FutureExt;
use std::sync::{Arc, Mutex};

const AUGMENTED: &str = "why?\n\nAnswer using the following information:\nfirst\n\nsecond";

fn desk(journal: &Journal) -> (DeskService, ScriptedChatModel) {
    let model = journal.replies(["because", "so"]);
    let desk = journal.desk(&model).content_retriever(journal.shelf(&["first", "second"])).build();
    (desk.unwrap(), model)
}

#[tokio::test]
async fn contents_are_sent_and_returned_but_not_stored() {
    let (desk, model) = desk(&Journal::default());
    let response = desk.ask("ann", "why?").await.unwrap();
    assert_eq!(
        model.messages_of(0),
        [ChatMessage::system("Be brief."), ChatMessage::user(AUGMENTED)]
    );
    let sources = response.sources.iter().map(|content| content.segment.text());
    assert_eq!(sources.collect::<Vec<_>>(), ["first", "second"]);
    assert_eq!(remembered(&desk, "ann").await, turn("why?", "because"));
    desk.ask("ann", "broke?").await.unwrap();
    let texts: Vec<_> = model.messages_of(1).iter().map(|m| m.text().unwrap().to_owned()).collect();
    assert_eq!(texts[..3], ["Be brief.", "why?", "because"]);
    assert!(texts[3].starts_with("broke?\n\nAnswer using"), "{texts:?}");
}

#[tokio::test]
async fn augmented_message_is_stored_if_configured() {
    let journal = Journal::default();
    let model = journal.replies(["3"]);
    let desk = journal
        .desk(&model)
        .content_retriever(journal.shelf(&["first", "second"]))
        .remembered(Remembered::AugmentedMessage)
        .output_strategy(OutputStrategy::Prompt)
        .build()
        .unwrap();
    desk.count("ann", "why?").await.unwrap();
    let sent = model.messages_of(0);
    let sent = sent[1].text().unwrap();
    assert!(sent.starts_with(AUGMENTED) && sent.len() > AUGMENTED.len(), "{sent}");
    assert_eq!(remembered(&desk, "ann").await[0], ChatMessage::user(AUGMENTED));
}

#[tokio::test]
async fn neither_sources_nor_instructions_are_stored() {
    let journal = Journal::default();
    let model = journal.replies(["3"]);
    let desk = journal
        .desk(&model)
        .content_retriever(journal.shelf(&["first"]))
        .output_strategy(OutputStrategy::Prompt)
        .build()
        .unwrap();
    assert_eq!(desk.count("ann", "how many?").await.unwrap().value, 3);
    let sent = model.messages_of(0)[1].text().unwrap().to_owned();
    assert!(sent.contains("first") && sent.contains("integer"), "{sent}");
    assert_eq!(remembered(&desk, "ann").await[0], ChatMessage::user("how many?"));
}

#[tokio::test]
async fn stages_follow_each_other_with_one_load_and_one_commit() {
    let journal = Journal::default();
    let model = journal.model([calling("act"), ScriptedAnswer::text("because")]);
    let desk = journal
        .desk(&model)
        .content_retriever(journal.shelf(&["first", "second"]))
        .input_guardrail(journal.input("guard", |_| InputVerdict::Success))
        .output_guardrail(journal.output("reader", |_, _| OutputVerdict::Success))
        .build()
        .unwrap();
    desk.ask("ann", "why?").await.unwrap();
    assert_eq!(
        journal.entries(),
        [
            "loaded",
            "looked up why?",
            "guard saw why? and 2",
            "model called with 0",
            "acted",
            "model called with 1",
            "reader read because",
            "stored",
        ]
    );
}

#[tokio::test]
async fn augmented_message_keeps_images_and_name() {
    let (desk, model) = desk(&Journal::default());
    let image = Content::image_url("https://example.org/cat.png");
    desk.look("ann", &["why?".into(), image.clone()]).await.unwrap();
    let expected = UserMessage::from_contents([Content::from(AUGMENTED), image.clone()]);
    assert_eq!(model.messages_of(0)[1], expected.into());
    let own = UserMessage::from_contents(["why?".into(), image]);
    assert_eq!(remembered(&desk, "ann").await[0], own.into());
}

#[tokio::test]
async fn message_without_text_is_not_augmented() {
    let journal = Journal::default();
    let (desk, model) = desk(&journal);
    let image = Content::image_url("https://example.org/cat.png");
    let response = desk.look("ann", std::slice::from_ref(&image)).await.unwrap();
    assert!(response.sources.is_empty());
    assert_eq!(journal.entries(), ["loaded", "model called with 0", "stored"]);
    assert_eq!(model.messages_of(0)[1], UserMessage::from_contents([image]).into());
}

#[tokio::test]
async fn failed_retrieval_fails_the_call_with_its_usage() {
    let journal = Journal::default();
    let model = journal.replies(["never"]);
    let desk = journal
        .desk(&model)
        .content_retriever(journal.shelf(&[]))
        .price_table(PriceTable::new().price("embedder", Price::per_million(1.0, 1.0)))
        .build()
        .unwrap();
    let error = desk.ask("ann", "broken").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.usage(), Some(&TokenUsage::new(3, 0)));
    assert_eq!(error.detail::<IncurredCost>().unwrap().cost.parts(), 3_000_000);
    assert_eq!(journal.entries(), ["loaded", "looked up broken"]);
}

#[tokio::test]
async fn usage_and_cost_are_those_of_all_models() {
    let journal = Journal::default();
    let model = journal.model([ScriptedAnswer::text("hi").with_usage(TokenUsage::new(10, 20))]);
    let prices = PriceTable::new()
        .price("embedder", Price::per_million(1.0, 0.0))
        .price("scripted", Price::per_million(2.0, 3.0));
    let desk = journal
        .desk(&model)
        .content_retriever(journal.shelf(&["first"]))
        .price_table(prices)
        .build()
        .unwrap();
    let response = desk.ask("ann", "why?").await.unwrap();
    assert_eq!(response.token_usage, TokenUsage::new(13, 20));
    let cost = response.cost.unwrap();
    assert_eq!((cost.parts(), cost.is_complete()), (83_000_000, true));
}

/// Records the turns of its calls.
#[derive(Clone, Default)]
struct Curious(Arc<Mutex<Vec<TurnContext>>>);

#[async_trait]
impl RetrievalAugmentor for Curious {
    async fn retrieve(&self, turn: &TurnContext) -> ai_services::Result<Retrieved> {
        self.0.lock().unwrap().push(turn.clone());
        Ok(Retrieved::default())
    }

    fn inject(&self, _: &UserMessage, _: &[RetrievedContent]) -> ai_services::Result<UserMessage> {
        panic!("nothing was found")
    }
}

#[tokio::test]
async fn augmentor_gets_the_turn_with_the_sent_history() {
    let journal = Journal::default();
    let model = journal.replies(["1", "2", "3", "4", "5", "6"]);
    let curious = Curious::default();
    let desk = journal.desk(&model).retrieval_augmentor(curious.clone()).build().unwrap();
    for question in ["a", "b", "c", "d", "e", "f"] {
        desk.ask("ann", question).await.unwrap();
    }
    let turns = curious.0.lock().unwrap();
    let last = turns.last().unwrap();
    assert_eq!(last.user_message().text(), Some("f"));
    assert_eq!(last.system_message().unwrap().text(), "Be brief.");
    assert_eq!(last.memory_id().unwrap().as_str(), "ann");
    let sent = model.messages_of(5);
    assert!(sent.len() <= 10, "the window is full");
    assert_eq!(
        last.history().collect::<Vec<_>>(),
        sent[1..sent.len() - 1].iter().collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn stream_delivers_sources_first() {
    let journal = Journal::default();
    let (desk, _) = desk(&journal);
    let told = words(desk.stream("ann", "why?")).await;
    assert_eq!(told, ["retrieved 2", "text because", "usage", "completed because"]);
    assert_eq!(remembered(&desk, "ann").await, turn("why?", "because"));
}

#[tokio::test]
async fn listeners_receive_the_contents() {
    let journal = Journal::default();
    let (notes, model) = (journal.clone(), journal.replies(["because"]));
    let desk = journal
        .desk(&model)
        .content_retriever(journal.shelf(&["first"]))
        .listener(move |_: &Call<'_>, event: &Event<'_>| {
            if let Event::Retrieved { contents, skipped } = event {
                assert_eq!(contents[0].segment, TextSegment::new("first"));
                notes.note(format!("received {} and {}", contents.len(), skipped.len()));
            }
        })
        .build()
        .unwrap();
    desk.ask("ann", "why?").await.unwrap();
    assert_eq!(journal.entries()[1..3], ["looked up why?", "received 1 and 0"]);
}

#[tokio::test(start_paused = true)]
async fn restarted_turn_is_retrieved_checked_and_moderated_again() {
    let (journal, store) = (Journal::default(), Arc::new(InMemoryChatMemoryStore::new()));
    let (notes, intruder) = (journal.clone(), Arc::clone(&store));
    let model = ScriptedChatModel::from_fn(move |number, _| {
        notes.note(format!("model called with {number}"));
        if number == 0 {
            let (id, said) = (MemoryId::from("ann"), turn("between", "yes"));
            intruder.update_messages(&id, &said).now_or_never().unwrap().unwrap();
        }
        ScriptedAnswer::text("because").with_usage(TokenUsage::new(10, 1))
    });
    let desk = journal
        .desk(&model)
        .chat_memory_provider(move |id: &MemoryId| {
            let window = MessageWindowChatMemory::builder().id(id).max_messages(10);
            window.store(Arc::clone(&store)).build()
        })
        .content_retriever(journal.shelf(&["first"]))
        .input_guardrail(journal.input("guard", |_| InputVerdict::Success))
        .build()
        .unwrap();
    let response = desk.judged("ann", "why?").await.unwrap();
    let attempt = |number| {
        let asked = format!("model called with {number}");
        ["looked up why?", "guard saw why? and 1", &asked, "judged why?"].map(str::to_owned)
    };
    assert_eq!(journal.entries(), [attempt(0), attempt(1)].concat());
    assert_eq!(response.sources.len(), 1);
    let (shelf, guard, answer) = (3, 5, 10);
    assert_eq!(response.token_usage, TokenUsage::new(2 * (shelf + guard + answer), 2));
    let expected = [turn("between", "yes"), turn("why?", "because")].concat();
    assert_eq!(remembered(&desk, "ann").await, expected);
}

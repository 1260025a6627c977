//! Guardrails of user messages and answers, and the effects of rejections.

use super::journal::{Desk, Journal, calling, opinion, opinionated, remembered, turn, words};
use ai_services::event::{Call, Event};
use ai_services::guardrail::{
    GuardrailStage, InputGuardrail, InputGuardrailRequest, InputVerdict, OutputGuardrail,
    OutputGuardrailRequest, OutputVerdict, Rejection,
};
use ai_services::message::{AiMessage, ChatMessage, ProviderContent};
use ai_services::model::{ChatResponse, Price, PriceTable, TokenUsage};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{ErrorKind, UnfinishedTurn, ai_service, async_trait};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rewrites texts that contain "raw" and accepts all others.
fn cook(text: &str) -> InputVerdict {
    if text.contains("raw") {
        InputVerdict::Rewrite(ai_services::message::UserMessage::new(text.replace("raw", "cooked")))
    } else {
        InputVerdict::Success
    }
}

fn objections(error: &ai_services::Error) -> (GuardrailStage, Vec<(&str, &str)>) {
    let rejection = error.detail::<Rejection>().unwrap();
    let objections = rejection.objections.iter();
    let objections = objections.map(|one| (&*one.guardrail, &*one.reason)).collect();
    (rejection.stage, objections)
}

#[tokio::test(start_paused = true)]
async fn rewritten_message_replaces_the_original_everywhere() {
    let journal = Journal::default();
    let model = journal.replies(["fine"]);
    let desk = journal
        .desk(&model)
        .content_retriever(journal.shelf(&["first"]))
        .input_guardrail(journal.input("one", cook))
        .input_guardrail(journal.input("two", |_| InputVerdict::Success))
        .build()
        .unwrap();
    desk.judged("ann", "raw?").await.unwrap();
    assert_eq!(
        journal.entries(),
        [
            "loaded",
            "looked up raw?",
            "one saw raw? and 1",
            "two saw cooked? and 1",
            "model called with 0",
            "judged cooked?",
            "stored",
        ]
    );
    assert!(model.messages_of(0)[1].text().unwrap().starts_with("cooked?\n\nAnswer using"));
    assert_eq!(remembered(&desk, "ann").await, turn("cooked?", "fine"));
}

#[tokio::test]
async fn rejected_message_is_neither_sent_nor_stored() {
    let journal = Journal::default();
    let model = journal.replies(["never"]);
    let desk = journal
        .desk(&model)
        .input_guardrail(journal.input("long", |_| InputVerdict::Failure("too long".into())))
        .input_guardrail(journal.input("fine", |_| InputVerdict::Success))
        .input_guardrail(journal.input("rude", |_| InputVerdict::Fatal("rude".into())))
        .input_guardrail(journal.input("never", |_| InputVerdict::Success))
        .build()
        .unwrap();
    let error = desk.ask("ann", "?").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Guardrail);
    let expected = vec![("long", "too long"), ("rude", "rude")];
    assert_eq!(objections(&error), (GuardrailStage::Input, expected));
    assert_eq!(error.usage(), Some(&TokenUsage::new(15, 0)), "three judges are counted");
    assert_eq!(
        journal.entries(),
        ["loaded", "long saw ? and 0", "fine saw ? and 0", "rude saw ? and 0"]
    );
    assert!(remembered(&desk, "ann").await.is_empty());
    assert_eq!(words(desk.stream("ann", "?")).await, ["error Guardrail"]);
}

/// Rejects texts that contain a word, and counts its instances.
struct Objects(&'static str);

static INSTANCES: AtomicUsize = AtomicUsize::new(0);

impl Objects {
    fn to(word: &'static str) -> Self {
        INSTANCES.fetch_add(1, Ordering::SeqCst);
        Self(word)
    }
}

#[async_trait]
impl InputGuardrail for Objects {
    async fn check(&self, request: InputGuardrailRequest<'_>) -> ai_services::Result<InputVerdict> {
        Ok(if request.user_message.text().unwrap_or_default().contains(self.0) {
            InputVerdict::Failure(self.0.into())
        } else {
            InputVerdict::Success
        })
    }

    fn name(&self) -> &str {
        "objects"
    }
}

#[async_trait]
impl OutputGuardrail for Objects {
    async fn check(
        &self,
        request: OutputGuardrailRequest<'_>,
    ) -> ai_services::Result<OutputVerdict> {
        Ok(if request.response.message.text().unwrap_or_default().contains(self.0) {
            OutputVerdict::Retry(self.0.into())
        } else {
            OutputVerdict::Success
        })
    }

    fn name(&self) -> &str {
        "objects"
    }
}

#[ai_service]
#[input_guardrails(Objects::to("b"))]
#[output_guardrails(Objects::to("x"))]
trait Declared {
    #[input_guardrails(Objects::to("c"), Objects::to("d"))]
    #[output_guardrails(Objects::to("y"), max_retries = 0)]
    async fn strict(&self, text: &str) -> ai_services::Result<String>;

    async fn loose(&self, text: &str) -> ai_services::Result<String>;
}

#[tokio::test]
async fn guardrails_of_builder_trait_and_method_add_up() {
    let model = ScriptedChatModel::replies(["x", "x", "y", "y", "x"]);
    let before = INSTANCES.load(Ordering::SeqCst);
    let declared = DeclaredService::builder()
        .chat_model(model.clone())
        .input_guardrail(Objects("a"))
        .max_guardrail_retries(1)
        .build()
        .unwrap();
    assert_eq!(
        INSTANCES.load(Ordering::SeqCst) - before,
        5,
        "the trait's guardrails are created once for all methods"
    );

    let error = declared.strict("abcd").await.unwrap_err();
    let reasons: Vec<_> = objections(&error).1.into_iter().map(|(_, reason)| reason).collect();
    assert_eq!(reasons, ["a", "b", "c", "d"]);
    let error = declared.loose("abcd").await.unwrap_err();
    assert_eq!(objections(&error).1.len(), 2);
    assert!(model.requests().is_empty());

    assert_eq!(declared.strict("?").await.unwrap_err().kind(), ErrorKind::Guardrail);
    assert_eq!(model.requests().len(), 1, "the method's number of retries wins");
    assert_eq!(declared.loose("?").await.unwrap(), "y", "called again once");
    assert_eq!(model.requests().len(), 3);
    assert_eq!(declared.strict("?").await.unwrap_err().kind(), ErrorKind::Guardrail);
    declared.loose("?").await.unwrap_err();
    assert_eq!(INSTANCES.load(Ordering::SeqCst) - before, 5);
}

#[tokio::test]
async fn rewritten_answer_is_returned_and_stored() {
    let journal = Journal::default();
    let desk = opinionated(&journal, &journal.replies(["raw"]));
    let response = desk.ask("ann", "?").await.unwrap();
    assert_eq!(response.value, "cooked");
    assert_eq!(response.final_response.message.text(), Some("cooked"));
    assert_eq!(remembered(&desk, "ann").await, turn("?", "cooked"));
}

#[tokio::test]
async fn typed_answer_is_read_from_the_rewritten_text() {
    let journal = Journal::default();
    let model = journal.replies(["about seven"]);
    let desk = journal
        .desk(&model)
        .output_guardrail(journal.output("digits", |_, _| OutputVerdict::Rewrite("7".into())))
        .build()
        .unwrap();
    assert_eq!(desk.count("ann", "?").await.unwrap().value, 7);
    assert_eq!(remembered(&desk, "ann").await, turn("?", "7"));
}

#[tokio::test]
async fn only_the_accepted_answer_is_stored_but_all_are_counted() {
    let journal = Journal::default();
    let costly = |text| ScriptedAnswer::text(text).with_usage(TokenUsage::new(1, 2));
    let model = journal.model(["again", "ask", "good"].map(costly));
    let desk = journal
        .desk(&model)
        .output_guardrail(journal.output("critic", opinion))
        .price_table(
            PriceTable::new()
                .price("scripted", Price::per_million(1.0, 1.0))
                .price("judge", Price::per_million(1.0, 1.0)),
        )
        .build()
        .unwrap();
    let response = desk.ask("ann", "?").await.unwrap();
    let texts = |request: usize| -> Vec<String> {
        model.messages_of(request)[1..].iter().map(|m| m.text().unwrap().to_owned()).collect()
    };
    assert_eq!(texts(1), ["?"], "the same messages, without the answer");
    assert_eq!(texts(2), ["?", "ask", "Politely."]);
    assert_eq!(remembered(&desk, "ann").await, turn("?", "good"));
    let rejected = response.rejected_answers.iter().map(|one| one.response.message.text().unwrap());
    assert_eq!(rejected.collect::<Vec<_>>(), ["again", "ask"]);
    assert_eq!(objections(&response.rejected_answers[0].error).1, [("critic", "not that")]);
    assert_eq!(response.token_usage, TokenUsage::new(3 + 21, 6), "including judges");
    assert_eq!(response.cost.unwrap().parts(), 30_000_000);
}

#[tokio::test]
async fn exhausted_retries_fail_the_call() {
    let journal = Journal::default();
    let model = journal.model(["again", "ask", "again"].map(ScriptedAnswer::text));
    let desk = opinionated(&journal, &model);
    let error = desk.ask("ann", "?").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Guardrail);
    assert!(error.to_string().ends_with("called again 2 times"), "{error}");
    assert_eq!(objections(&error), (GuardrailStage::Output, vec![("critic", "not that")]));
    assert_eq!(error.usage(), Some(&TokenUsage::new(21, 0)));
    let report = error.detail::<UnfinishedTurn>().unwrap();
    assert_eq!(report.rejected_answers.len(), 2);
    assert_eq!(report.answer.as_ref().unwrap().message.text(), Some("again"));
    assert!(!journal.entries().contains(&"stored".to_owned()));
}

#[tokio::test]
async fn failure_is_final_and_lists_all_reasons() {
    let journal = Journal::default();
    let model = journal.replies(["fail", "fatal"]);
    let desk = journal
        .desk(&model)
        .output_guardrail(journal.output("critic", opinion))
        .output_guardrail(journal.output("other", |_, _| OutputVerdict::Retry("again".into())))
        .build()
        .unwrap();
    let error = desk.ask("ann", "?").await.unwrap_err();
    assert_eq!(objections(&error).1, [("critic", "wrong"), ("other", "again")]);
    let error = desk.ask("ann", "?").await.unwrap_err();
    assert_eq!(objections(&error).1, [("critic", "no")]);
    assert_eq!(model.requests().len(), 2, "the model is not called again");
    assert!(remembered(&desk, "ann").await.is_empty());
}

#[tokio::test]
async fn answer_rewritten_to_itself_is_unchanged() {
    let own = ProviderContent::from_json("scripted", r#"{"signature":"c2ln"}"#).unwrap();
    let message = AiMessage::builder().text("good").thinking("Hm.").provider_content(own).build();
    let journal = Journal::default();
    let model = journal.model([ChatResponse::new(message.clone()).into()]);
    let same = journal.output("same", |text, _| OutputVerdict::Rewrite(text.into()));
    let desk = journal.desk(&model).output_guardrail(same).build().unwrap();
    assert_eq!(desk.ask("ann", "?").await.unwrap().final_response.message, message);
    assert_eq!(remembered(&desk, "ann").await[1], ChatMessage::from(message));
}

#[tokio::test]
async fn rewritten_answer_can_still_be_reprompted() {
    let journal = Journal::default();
    let model = journal.replies(["raw", "done"]);
    let desk = journal
        .desk(&model)
        .output_guardrail(journal.output("critic", opinion))
        .output_guardrail(journal.output("gourmet", |text, _| match text {
            "cooked" => OutputVerdict::Reprompt { reason: "dull".into(), prompt: "Spicy!".into() },
            _ => OutputVerdict::Success,
        }))
        .build()
        .unwrap();
    let response = desk.ask("ann", "?").await.unwrap();
    assert_eq!(response.rejected_answers[0].response.message.text(), Some("raw"));
    assert_eq!(model.messages_of(1)[2], ChatMessage::ai("raw"), "the original answer of the model");
    assert_eq!(remembered(&desk, "ann").await, turn("?", "done"));
}

#[tokio::test]
async fn repair_and_guardrails_have_separate_budgets() {
    let journal = Journal::default();
    let model = journal.replies(["again", "no number", "ask", "3"]);
    let desk = opinionated(&journal, &model);
    let response = desk.count("ann", "?").await.unwrap();
    assert_eq!((response.value, response.rejected_answers.len()), (3, 3));
    let read = journal.entries().iter().filter(|entry| entry.starts_with("critic")).count();
    assert_eq!(read, 4, "the chain runs for each answer");
    assert_eq!(remembered(&desk, "ann").await, turn("?", "3"));
}

#[tokio::test]
async fn tool_calls_are_not_checked_but_immediate_results_are() {
    let journal = Journal::default();
    let model = journal.model([calling("act"), calling("finish")]);
    let desk = journal
        .desk(&model)
        .output_guardrail(
            journal.output("critic", |text, _| OutputVerdict::Rewrite(format!("{text}!").into())),
        )
        .build()
        .unwrap();
    assert_eq!(desk.ask("ann", "?").await.unwrap().value, "finished!");
    assert_eq!(
        journal.entries(),
        [
            "loaded",
            "model called with 0",
            "acted",
            "model called with 1",
            "finished",
            "critic read finished",
            "stored"
        ]
    );
    assert_eq!(remembered(&desk, "ann").await.last(), Some(&ChatMessage::ai("finished!")));
}

#[tokio::test]
async fn tools_do_not_run_again_for_another_answer() {
    for rejected in ["again", "ask"] {
        let journal = Journal::default();
        let answers =
            [calling("act"), ScriptedAnswer::text(rejected), ScriptedAnswer::text("good")];
        let model = journal.model(answers);
        let desk = opinionated(&journal, &model);
        desk.ask("ann", "?").await.unwrap();
        let acted = journal.entries().iter().filter(|entry| *entry == "acted").count();
        assert_eq!(acted, 1);
        let (before, after) = (model.messages_of(1), model.messages_of(2));
        assert_eq!(after[..before.len()], before, "the result is kept");
        assert_eq!(after.len() - before.len(), if rejected == "again" { 0 } else { 2 });
        let remembered = remembered(&desk, "ann").await;
        assert_eq!(remembered.len(), 4, "question, call, result, answer");
        assert_eq!(remembered[3], ChatMessage::ai("good"));
    }
}

#[tokio::test]
async fn tools_do_not_run_for_a_rejected_message() {
    let journal = Journal::default();
    let model = journal.model([calling("act"), calling("act")]);
    let desk = journal
        .desk(&model)
        .input_guardrail(journal.input("no", |_| InputVerdict::Fatal("no".into())))
        .build()
        .unwrap();
    desk.ask("ann", "?").await.unwrap_err();
    assert_eq!(words(desk.stream("ann", "?")).await, ["error Guardrail"]);
    assert_eq!(journal.entries(), ["loaded", "no saw ? and 0"].repeat(2));
}

#[tokio::test]
async fn guardrail_error_fails_the_call() {
    struct Broken(Arc<AtomicUsize>);

    #[async_trait]
    impl OutputGuardrail for Broken {
        async fn check(&self, _: OutputGuardrailRequest<'_>) -> ai_services::Result<OutputVerdict> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Err(ai_services::Error::new(ErrorKind::Timeout, "no judge"))
        }

        fn name(&self) -> &str {
            "broken"
        }
    }

    let (journal, checks) = (Journal::default(), Arc::new(AtomicUsize::new(0)));
    let model = journal.replies(["hi"]);
    let desk = journal.desk(&model).output_guardrail(Broken(Arc::clone(&checks))).build().unwrap();
    assert_eq!(desk.ask("ann", "?").await.unwrap_err().kind(), ErrorKind::Timeout);
    assert_eq!(checks.load(Ordering::SeqCst), 1);
    assert!(remembered(&desk, "ann").await.is_empty());
}

#[tokio::test]
async fn listeners_receive_every_verdict() {
    let journal = Journal::default();
    let notes = journal.clone();
    let model = journal.replies(["again", "raw"]);
    let desk = journal
        .desk(&model)
        .input_guardrail(journal.input("cook", cook))
        .output_guardrail(journal.output("critic", opinion))
        .listener(move |_: &Call<'_>, event: &Event<'_>| match event {
            Event::InputChecked { guardrail, verdict } => {
                let rewrites = matches!(verdict, InputVerdict::Rewrite(_));
                notes.note(format!("{guardrail} rewrites: {rewrites}"));
            }
            Event::OutputChecked { guardrail, verdict } => {
                let retries = matches!(verdict, OutputVerdict::Retry(_));
                notes.note(format!("{guardrail} retries: {retries}"));
            }
            _ => {}
        })
        .build()
        .unwrap();
    desk.ask("ann", "raw").await.unwrap();
    assert_eq!(
        journal.entries(),
        [
            "loaded",
            "cook saw raw and 0",
            "cook rewrites: true",
            "model called with 0",
            "critic read again",
            "critic retries: true",
            "model called with 1",
            "critic read raw",
            "critic retries: false",
            "stored",
        ]
    );
}

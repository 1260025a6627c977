use super::*;
use crate::guardrail::{GuardrailStage, Objection, Rejection};
use crate::message::{ChatMessage, ToolResult};
use crate::model::{Price, PriceTable, TokenUsage};
use crate::service::spent::Prices;
use std::time::Duration;

fn turn(limits: Limits) -> Turn<'static> {
    turn_by(Rules { limits, ..Rules::default() })
}

fn turn_by(rules: Rules<'_>) -> Turn<'_> {
    Turn::new(ChatRequest::new([ChatMessage::user("go")]), rules, Spent::default())
}

fn limits() -> Limits {
    Limits { tool_rounds: 2, calls_per_answer: 3, argument_bytes: 10 }
}

fn calling(ids: &[&str]) -> ChatResponse {
    let calls = ids.iter().map(|id| ToolCall::new(*id, "t", "{}"));
    ChatResponse::new(AiMessage::builder().tool_calls(calls).build())
        .with_usage(TokenUsage::new(1, 1))
}

fn executed(turn: &Turn<'_>) -> Vec<ToolExecution> {
    let Step::RunTools(message) = turn.next() else { panic!("no tools to run") };
    let execution = |(index, call): (usize, &ToolCall)| {
        let result = ToolResult::new(call.id(), call.name(), index.to_string());
        ToolExecution::new(call, result, Duration::ZERO)
    };
    message.tool_calls().iter().enumerate().map(execution).collect()
}

#[test]
fn turn_asks_runs_asks_and_finishes() {
    let mut turn = turn(limits());
    assert!(matches!(turn.next(), Step::AskModel));
    turn.model_replied(calling(&["1", "2"])).unwrap();
    let results = executed(&turn);
    assert_eq!(results.len(), 2);
    turn.tools_replied(results, false);
    assert!(matches!(turn.next(), Step::AskModel));
    assert_eq!(turn.request().message_count(), 4);
    turn.model_replied(ChatResponse::new(AiMessage::new("done"))).unwrap();
    assert!(matches!(turn.next(), Step::ReadAnswer));
    assert!(!turn.answer_read(Ok(())).unwrap());
    assert!(matches!(turn.next(), Step::Finish));
    let (request, finished) = turn.finish().unwrap();
    assert_eq!(request.message_count(), 5);
    assert_eq!((finished.executions.len(), finished.intermediate.len()), (2, 1));
    assert_eq!(finished.spent.usage, TokenUsage::new(1, 1));
}

#[test]
fn results_can_be_the_answer() {
    let mut turn = turn(limits());
    turn.model_replied(calling(&["1", "2"])).unwrap();
    let results = executed(&turn);
    turn.tools_replied(results, true);
    assert_eq!(turn.answer().unwrap().message.text(), Some("0\n1"));
    assert_eq!(turn.answer().unwrap().finish_reason, Some(FinishReason::ToolExecution));
}

#[test]
fn limits_strike_before_tools_run() {
    let exceeds = |response: ChatResponse| {
        let mut turn = turn(limits());
        let error = turn.model_replied(response).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        assert!(matches!(turn.next(), Step::AskModel));
    };
    exceeds(calling(&["1", "2", "3", "4"]));
    let large = ToolCall::new("1", "t", "01234567890");
    exceeds(ChatResponse::new(AiMessage::builder().tool_calls([large]).build()));
}

#[test]
fn rounds_are_counted() {
    let mut turn = turn(limits());
    for _ in 0..2 {
        turn.model_replied(calling(&["1"])).unwrap();
        let results = executed(&turn);
        turn.tools_replied(results, false);
    }
    let error = turn.model_replied(calling(&["1"])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert_eq!(turn.usage(), TokenUsage::new(3, 3));
    let error = turn.into_unfinished().attach_to(error);
    assert_eq!(error.detail::<UnfinishedTurn>().unwrap().tool_executions.len(), 2);
}

#[test]
fn ids_are_made_unique_only_where_they_are_not() {
    let unique = |ids: &[&str]| -> Vec<String> {
        let mut turn = turn(limits());
        turn.model_replied(calling(ids)).unwrap();
        let Step::RunTools(message) = turn.next() else { panic!("no tools to run") };
        message.tool_calls().iter().map(|call| call.id().to_owned()).collect()
    };
    assert_eq!(unique(&["a", "b"]), ["a", "b"]);
    assert_eq!(unique(&["a", "a", ""]), ["a", "call_1_1", "call_1_2"]);
    assert_eq!(unique(&["call_1_1", ""]), ["call_1_1", "call_1_3"]);
}

/// A rule with a tool for the answer, and one retry.
const TYPED: Rules<'static> = Rules {
    limits: Limits { tool_rounds: 2, calls_per_answer: 3, argument_bytes: 10 },
    answer_tool: Some("final_answer"),
    output_retries: 1,
    checks_answers: false,
    check_retries: 0,
    prices: None,
};

fn unreadable() -> Result<()> {
    Err(Error::new(ErrorKind::Output, "age: expected u8"))
}

/// An answer beside calls of other tools.
fn answering(answers: &[&str], others: &[&str]) -> ChatResponse {
    let answers = answers.iter().map(|text| ToolCall::new("a", "final_answer", *text));
    let others = others.iter().map(|id| ToolCall::new(*id, "t", "{}"));
    ChatResponse::new(AiMessage::builder().tool_calls(others.chain(answers)).build())
}

#[test]
fn arguments_of_the_answer_tool_are_the_answer() {
    let mut turn = turn_by(TYPED);
    turn.model_replied(answering(&[r#"{"value":12345}"#], &[])).unwrap();
    assert!(matches!(turn.next(), Step::ReadAnswer));
    turn.answer_read(Ok(())).unwrap();
    let (request, finished) = turn.finish().unwrap();
    let texts: Vec<_> = request.messages().map(|message| message.text().unwrap()).collect();
    assert_eq!(texts, ["go", r#"{"value":12345}"#]);
    assert!(finished.answer.message.tool_calls().is_empty());
}

#[test]
fn answer_beside_calls_counts_if_they_succeed() {
    let mut turn = turn_by(TYPED);
    turn.model_replied(answering(&["1"], &["x"])).unwrap();
    let results = executed(&turn);
    assert_eq!(results.len(), 1);
    assert!(!turn.tools_replied(results, false));
    assert_eq!(turn.answer().unwrap().message.text(), Some("1"));
    assert_eq!(turn.request().message_count(), 4);
}

#[test]
fn answer_beside_a_failed_call_is_void() {
    let mut turn = turn_by(TYPED);
    turn.model_replied(answering(&["1"], &["x"])).unwrap();
    let call = ToolCall::new("x", "t", "{}");
    let result = ToolResult::new("x", "t", "no").into_error();
    let execution = ToolExecution::new(&call, result, Duration::ZERO);
    assert!(turn.tools_replied(vec![execution], false));
    assert!(matches!(turn.next(), Step::AskModel));
    assert!(turn.answer().is_none());
}

#[test]
fn unreadable_answer_is_asked_for_again_and_not_remembered() {
    let mut turn = turn_by(TYPED);
    turn.model_replied(ChatResponse::new(AiMessage::new("old"))).unwrap();
    assert!(turn.answer_read(unreadable()).unwrap());
    assert!(matches!(turn.next(), Step::AskModel));
    let complaint = turn.request().messages().last().unwrap().text().unwrap().to_owned();
    assert!(complaint.contains("age: expected u8"), "{complaint}");

    turn.model_replied(calling(&["1"])).unwrap();
    let results = executed(&turn);
    turn.tools_replied(results, false);
    turn.model_replied(ChatResponse::new(AiMessage::new("good"))).unwrap();
    turn.answer_read(Ok(())).unwrap();
    let (request, finished) = turn.finish().unwrap();
    let texts: Vec<_> = request.messages().filter_map(ChatMessage::text).collect();
    assert_eq!(texts, ["go", "0", "good"]);
    assert_eq!(request.message_count(), 4);
    assert_eq!(finished.rejected[0].response.message.text(), Some("old"));
}

#[test]
fn retries_end_with_all_attempts_in_the_error() {
    let mut turn = turn_by(TYPED);
    for text in ["first", "second"] {
        turn.model_replied(ChatResponse::new(AiMessage::new(text))).unwrap();
        if text == "first" {
            assert!(turn.answer_read(unreadable()).unwrap());
        }
    }
    let error = turn.answer_read(unreadable()).unwrap_err();
    let error = turn.into_unfinished().attach_to(error);
    let report = error.detail::<UnfinishedTurn>().unwrap();
    assert_eq!(report.rejected_answers[0].response.message.text(), Some("first"));
    assert_eq!(report.answer.as_ref().unwrap().message.text(), Some("second"));
}

#[test]
fn answer_that_was_cut_or_refused_is_not_asked_for_again() {
    let cut = ChatResponse::new(AiMessage::new("{")).with_finish_reason(FinishReason::Length);
    let mut turn = turn_by(TYPED);
    turn.model_replied(cut).unwrap();
    assert!(turn.answer_read(unreadable()).is_err());
    let mut turn = turn_by(TYPED);
    turn.model_replied(ChatResponse::new(AiMessage::new("no"))).unwrap();
    assert!(turn.answer_read(Err(Error::new(ErrorKind::Refused, "no"))).is_err());
}

#[test]
fn model_is_made_to_call_until_it_answers() {
    let choice_after_a_call = |choice: ToolChoice, rules: Rules<'static>| {
        let parameters = crate::model::ChatRequestParameters::new().tool_choice(choice);
        let mut turn = turn_by(rules);
        turn.request_mut().parameters = Arc::new(parameters);
        turn.model_replied(calling(&["1"])).unwrap();
        let results = executed(&turn);
        turn.tools_replied(results, false);
        turn.request().parameters().tool_choice.clone().unwrap()
    };
    let plain = Rules { answer_tool: None, ..TYPED };
    assert_eq!(choice_after_a_call(ToolChoice::Required, plain), ToolChoice::Auto);
    assert_eq!(choice_after_a_call(ToolChoice::Required, TYPED), ToolChoice::Required);
    assert_eq!(choice_after_a_call(ToolChoice::Tool("t".into()), TYPED), ToolChoice::Required);
}

#[test]
fn every_answer_is_priced_by_its_model() {
    let table = PriceTable::new()
        .price("asked", Price::per_million(1.0, 0.0))
        .price("other", Price::per_million(5.0, 0.0));
    let prices = Some(Prices { table: &table, model: "asked" });
    let mut turn = turn_by(Rules { limits: limits(), prices, ..Rules::default() });
    turn.model_replied(calling(&["1"])).unwrap();
    let mut second = calling(&["2"]);
    second.model = Some("other".into());
    turn.model_replied(second).unwrap();
    assert_eq!(turn.spent().cost.unwrap().parts(), 6_000_000);
}

/// Rules that check answers, and ask again once for each reason.
const CHECKED: Rules<'static> = Rules { checks_answers: true, check_retries: 1, ..TYPED };

fn answered(text: &str) -> ChatResponse {
    ChatResponse::new(AiMessage::new(text))
}

fn again(prompt: Option<&str>) -> Checked {
    let objections = vec![Objection::new("tone", "rude".into())];
    let rejection = Rejection::new(GuardrailStage::Output, objections);
    Checked::Again { rejection, prompt: prompt.map(Into::into) }
}

fn texts(request: &ChatRequest) -> Vec<&str> {
    request.messages().filter_map(ChatMessage::text).collect()
}

#[test]
fn answer_is_checked_before_it_is_read() {
    let mut turn = turn_by(CHECKED);
    turn.model_replied(answered("hi")).unwrap();
    assert!(matches!(turn.next(), Step::CheckAnswer));
    turn.answer_checked(Checked::Accepted).unwrap();
    assert!(matches!(turn.next(), Step::ReadAnswer));
    turn.answer_read(Ok(())).unwrap();
    assert!(matches!(turn.next(), Step::Finish));
}

#[test]
fn rewritten_answer_replaces_what_the_model_said() {
    let said = AiMessage::builder().text("raw").thinking("hm").refusal("no").build();
    let mut turn = turn_by(CHECKED);
    turn.model_replied(ChatResponse::new(said)).unwrap();
    turn.answer_checked(Checked::Rewritten("clean".into())).unwrap();
    assert_eq!(turn.answer().unwrap().message.text(), Some("clean"));
    turn.answer_read(Ok(())).unwrap();
    let (request, finished) = turn.finish().unwrap();
    assert_eq!(texts(&request), ["go", "clean"]);
    assert_eq!(finished.answer.message.thinking(), None, "it may hold what was taken out");
    assert_eq!(finished.answer.message.refusal(), None);
}

#[test]
fn retry_sends_the_same_request_without_the_answer() {
    let mut turn = turn_by(CHECKED);
    turn.model_replied(answered("bad")).unwrap();
    turn.answer_checked(again(None)).unwrap();
    assert!(matches!(turn.next(), Step::AskModel));
    assert_eq!(texts(turn.request()), ["go"]);
    assert_eq!(turn.rejected(), 1);
}

#[test]
fn reprompt_is_sent_and_not_remembered() {
    let mut turn = turn_by(CHECKED);
    turn.model_replied(answered("bad")).unwrap();
    turn.answer_checked(again(Some("Politely, please."))).unwrap();
    assert_eq!(texts(turn.request()), ["go", "bad", "Politely, please."]);
    turn.model_replied(answered("good")).unwrap();
    turn.answer_checked(Checked::Accepted).unwrap();
    turn.answer_read(Ok(())).unwrap();
    let (request, finished) = turn.finish().unwrap();
    assert_eq!(texts(&request), ["go", "good"]);
    assert_eq!(finished.rejected[0].response.message.text(), Some("bad"));
    assert!(finished.rejected[0].error.detail::<Rejection>().is_some());
}

#[test]
fn checks_and_repairs_have_budgets_of_their_own() {
    let mut turn = turn_by(CHECKED);
    turn.model_replied(answered("rude")).unwrap();
    turn.answer_checked(again(None)).unwrap();
    turn.model_replied(answered("no number")).unwrap();
    turn.answer_checked(Checked::Accepted).unwrap();
    assert!(turn.answer_read(unreadable()).unwrap(), "the repair is not used up");
    turn.model_replied(answered("rude again")).unwrap();
    assert!(matches!(turn.next(), Step::CheckAnswer), "the whole chain runs again");
    let error = turn.answer_checked(again(Some("?"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Guardrail);
    let error = turn.into_unfinished().attach_to(error);
    let report = error.detail::<UnfinishedTurn>().unwrap();
    assert_eq!(report.rejected_answers.len(), 2);
    assert_eq!(report.answer.as_ref().unwrap().message.text(), Some("rude again"));
    assert!(error.detail::<Rejection>().is_some());
}

#[test]
fn tool_rounds_are_counted_over_all_attempts() {
    let mut turn = turn_by(CHECKED);
    for _ in 0..2 {
        turn.model_replied(calling(&["1"])).unwrap();
        let results = executed(&turn);
        turn.tools_replied(results, false);
    }
    turn.model_replied(answered("bad")).unwrap();
    turn.answer_checked(again(None)).unwrap();
    assert_eq!(turn.model_replied(calling(&["1"])).unwrap_err().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn turn_knows_how_its_answer_came_about() {
    let mut turn = turn_by(CHECKED);
    turn.model_replied(answering(&["1"], &["x"])).unwrap();
    let results = executed(&turn);
    turn.tools_replied(results, false);
    assert_eq!(turn.answered_by(), AnsweredBy::TextBesideCalls);
    turn.answer_checked(again(None)).unwrap();
    turn.model_replied(calling(&["1"])).unwrap();
    let results = executed(&turn);
    turn.tools_replied(results, true);
    assert_eq!(turn.answered_by(), AnsweredBy::Results);
}

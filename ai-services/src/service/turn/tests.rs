use super::*;
use crate::guardrail::{GuardrailStage, Objection, Rejection};
use crate::message::{AiMessage, ChatMessage, ToolCall, ToolResult};
use crate::model::{
    ChatRequest, ChatResponse, FinishReason, Price, PriceTable, TokenUsage, ToolChoice,
};
use crate::service::budget::{Budget, Budgets};
use crate::service::spent::{Prices, Spent};
use crate::service::unfinished_turn::UnfinishedTurn;
use crate::tool::{ResultUse, ToolExecution};
use crate::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::time::Duration;

fn turn(limits: ToolCallLimits) -> Turn<'static> {
    turn_by(Rules { limits, ..Rules::default() })
}

fn turn_by(rules: Rules<'_>) -> Turn<'_> {
    turn_with(rules, Account::new(TWO_ROUNDS, None, Spent::default(), None))
}

fn turn_with<'a>(rules: Rules<'a>, account: Account<'a>) -> Turn<'a> {
    Turn::new(ChatRequest::new([ChatMessage::user("go")]), rules, account, None)
}

fn limits() -> ToolCallLimits {
    ToolCallLimits { calls_per_answer: 3, argument_bytes: 10 }
}

fn calling(ids: &[&str]) -> ChatResponse {
    let calls = ids.iter().map(|id| ToolCall::new(*id, "t", "{}"));
    ChatResponse::new(AiMessage::builder().tool_calls(calls).build())
        .with_usage(TokenUsage::new(1, 1))
}

fn round(step: Step) -> ToolRound {
    let Step::RunTools(round) = step else { panic!("no tools to run") };
    round
}

/// Runs the tools of the step, which all succeed.
fn run_tools(turn: &mut Turn<'_>, step: Step, result_use: ResultUse) -> Step {
    let round = round(step);
    let executions = executions(&round);
    turn.tools_replied(round, executions, result_use)
}

fn executions(round: &ToolRound) -> Vec<ToolExecution> {
    let execution = |(index, call): (usize, &ToolCall)| {
        let result = ToolResult::new(call.id(), call.name(), index.to_string());
        ToolExecution::new(call, result, Duration::ZERO)
    };
    round.message.tool_calls().iter().enumerate().map(execution).collect()
}

/// Takes a response with tool calls, and the results of the tools.
fn call_tools(turn: &mut Turn<'_>, response: ChatResponse) {
    let step = turn.model_replied(Box::new(response)).unwrap();
    let step = run_tools(turn, step, ResultUse::SendToModel);
    assert!(matches!(step, Step::CallModel));
}

fn unchecked(step: Step) -> Box<ChatResponse> {
    let Step::CheckAnswer(answer) = step else { panic!("no answer to check") };
    answer
}

fn unparsed(step: Step) -> Box<ChatResponse> {
    let Step::ParseAnswer(answer) = step else { panic!("no answer to parse") };
    answer
}

#[test]
fn turn_runs_tools_and_finishes() {
    let mut turn = turn(limits());
    let step = turn.model_replied(Box::new(calling(&["1", "2"]))).unwrap();
    let round = round(step);
    let results = executions(&round);
    assert_eq!(results.len(), 2);
    let step = turn.tools_replied(round, results, ResultUse::SendToModel);
    assert!(matches!(step, Step::CallModel));
    assert_eq!(turn.request().message_count(), 4);
    let step = turn.model_replied(Box::new(ChatResponse::new(AiMessage::new("done")))).unwrap();
    let (request, finished) = turn.finish(unparsed(step));
    assert_eq!(request.message_count(), 5);
    assert_eq!((finished.executions.len(), finished.intermediate.len()), (2, 1));
    assert_eq!(finished.spent.usage, TokenUsage::new(1, 1));
}

#[test]
fn results_can_be_the_answer() {
    let mut turn = turn(limits());
    let step = turn.model_replied(Box::new(calling(&["1", "2"]))).unwrap();
    let step = run_tools(&mut turn, step, ResultUse::ReturnAsAnswer);
    let answer = unparsed(step);
    assert_eq!(answer.message.text(), Some("0\n1"));
    assert_eq!(answer.finish_reason, Some(FinishReason::ToolExecution));
}

#[test]
fn limits_are_checked_before_tools_run() {
    let exceeds = |response: ChatResponse| {
        let mut turn = turn(limits());
        let error = turn.model_replied(Box::new(response)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        assert_eq!(turn.request().message_count(), 1);
    };
    exceeds(calling(&["1", "2", "3", "4"]));
    let large = ToolCall::new("1", "t", "01234567890");
    exceeds(ChatResponse::new(AiMessage::builder().tool_calls([large]).build()));
}

#[test]
fn rounds_are_counted() {
    let mut turn = turn(limits());
    for _ in 0..2 {
        call_tools(&mut turn, calling(&["1"]));
    }
    let error = turn.model_replied(Box::new(calling(&["1"]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert_eq!(turn.usage(), TokenUsage::new(3, 3));
    let error = turn.into_unfinished().attach_to(error);
    assert_eq!(error.detail::<UnfinishedTurn>().unwrap().tool_executions.len(), 2);
}

#[test]
fn only_duplicate_ids_are_replaced() {
    let unique = |ids: &[&str]| -> Vec<String> {
        let mut turn = turn(limits());
        let round = round(turn.model_replied(Box::new(calling(ids))).unwrap());
        round.message.tool_calls().iter().map(|call| call.id().to_owned()).collect()
    };
    assert_eq!(unique(&["a", "b"]), ["a", "b"]);
    assert_eq!(unique(&["a", "a", ""]), ["a", "call_1_1", "call_1_2"]);
    assert_eq!(unique(&["call_1_1", ""]), ["call_1_1", "call_1_3"]);
}

const TWO_ROUNDS: Budgets<'static> = budgets(&Budget::new().tool_rounds(2));

const fn budgets(call: &Budget) -> Budgets<'_> {
    Budgets { call: Some(call), conversation: None }
}

/// Rules with a tool whose arguments are the answer, and one retry.
const TYPED: Rules<'static> = Rules {
    limits: ToolCallLimits { calls_per_answer: 3, argument_bytes: 10 },
    can_forbid_tools: true,
    answer_tool: Some("final_answer"),
    output_retries: 1,
    checks_answers: false,
    check_retries: 0,
};

fn unreadable() -> Error {
    Error::new(ErrorKind::Output, "age: expected u8")
}

/// A response with answers next to calls of other tools.
fn answering(answers: &[&str], others: &[&str]) -> ChatResponse {
    let answers = answers.iter().map(|text| ToolCall::new("a", "final_answer", *text));
    let others = others.iter().map(|id| ToolCall::new(*id, "t", "{}"));
    ChatResponse::new(AiMessage::builder().tool_calls(others.chain(answers)).build())
}

#[test]
fn arguments_of_the_answer_tool_are_the_answer() {
    let mut turn = turn_by(TYPED);
    let step = turn.model_replied(Box::new(answering(&[r#"{"value":12345}"#], &[]))).unwrap();
    let (request, finished) = turn.finish(unparsed(step));
    let texts: Vec<_> = request.messages().map(|message| message.text().unwrap()).collect();
    assert_eq!(texts, ["go", r#"{"value":12345}"#]);
    assert!(finished.answer.message.tool_calls().is_empty());
}

#[test]
fn answer_next_to_calls_counts_if_they_succeed() {
    let mut turn = turn_by(TYPED);
    let step = turn.model_replied(Box::new(answering(&["1"], &["x"]))).unwrap();
    let round = round(step);
    let results = executions(&round);
    assert_eq!(results.len(), 1);
    let step = turn.tools_replied(round, results, ResultUse::SendToModel);
    assert_eq!(unparsed(step).message.text(), Some("1"));
    assert_eq!(turn.request().message_count(), 4);
}

#[test]
fn answer_next_to_a_failed_call_is_void() {
    let mut turn = turn_by(TYPED);
    let step = turn.model_replied(Box::new(answering(&["1"], &["x"]))).unwrap();
    let call = ToolCall::new("x", "t", "{}");
    let result = ToolResult::new("x", "t", "no").into_error();
    let execution = ToolExecution::new(&call, result, Duration::ZERO);
    let step = turn.tools_replied(round(step), vec![execution], ResultUse::SendToModel);
    assert!(matches!(step, Step::Restart));
    assert!(turn.into_unfinished().answer.is_none());
}

#[test]
fn unreadable_answer_is_repaired_and_not_remembered() {
    let mut turn = turn_by(TYPED);
    let step = turn.model_replied(Box::new(ChatResponse::new(AiMessage::new("old")))).unwrap();
    turn.repair(unparsed(step), unreadable()).unwrap();
    let complaint = turn.request().messages().last().unwrap().text().unwrap().to_owned();
    assert!(complaint.contains("age: expected u8"), "{complaint}");

    call_tools(&mut turn, calling(&["1"]));
    let step = turn.model_replied(Box::new(ChatResponse::new(AiMessage::new("good")))).unwrap();
    let (request, finished) = turn.finish(unparsed(step));
    let texts: Vec<_> = request.messages().filter_map(ChatMessage::text).collect();
    assert_eq!(texts, ["go", "0", "good"]);
    assert_eq!(request.message_count(), 4);
    assert_eq!(finished.rejected[0].response.message.text(), Some("old"));
}

#[test]
fn last_error_contains_all_attempts() {
    let mut turn = turn_by(TYPED);
    let step = turn.model_replied(Box::new(ChatResponse::new(AiMessage::new("first")))).unwrap();
    turn.repair(unparsed(step), unreadable()).unwrap();
    let step = turn.model_replied(Box::new(ChatResponse::new(AiMessage::new("second")))).unwrap();
    let error = turn.repair(unparsed(step), unreadable()).unwrap_err();
    let error = turn.into_unfinished().attach_to(error);
    let report = error.detail::<UnfinishedTurn>().unwrap();
    assert_eq!(report.rejected_answers[0].response.message.text(), Some("first"));
    assert_eq!(report.answer.as_ref().unwrap().message.text(), Some("second"));
}

#[test]
fn truncated_or_refused_answer_is_not_repaired() {
    let cut = ChatResponse::new(AiMessage::new("{")).with_finish_reason(FinishReason::Length);
    let mut turn = turn_by(TYPED);
    let step = turn.model_replied(Box::new(cut)).unwrap();
    assert!(turn.repair(unparsed(step), unreadable()).is_err());
    let mut turn = turn_by(TYPED);
    let step = turn.model_replied(Box::new(ChatResponse::new(AiMessage::new("no")))).unwrap();
    assert!(turn.repair(unparsed(step), Error::new(ErrorKind::Refused, "no")).is_err());
}

#[test]
fn tool_choice_is_relaxed_after_the_first_round() {
    let choice_after_a_call = |choice: ToolChoice, rules: Rules<'static>| {
        let parameters = crate::model::ChatRequestParameters::new().tool_choice(choice);
        let mut turn = turn_by(rules);
        turn.request_mut().parameters = Arc::new(parameters);
        call_tools(&mut turn, calling(&["1"]));
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
    let account = Account::new(Budgets::default(), prices, Spent::default(), None);
    let mut turn = turn_with(Rules { limits: limits(), ..Rules::default() }, account);
    turn.model_replied(Box::new(calling(&["1"]))).unwrap();
    let mut second = calling(&["2"]);
    second.model = Some("other".into());
    turn.model_replied(Box::new(second)).unwrap();
    assert_eq!(turn.account.spent().cost.unwrap().parts(), 6_000_000);
}

/// Rules that check answers, with one retry for each reason.
const CHECKED: Rules<'static> = Rules { checks_answers: true, check_retries: 1, ..TYPED };

fn answered(text: &str) -> ChatResponse {
    ChatResponse::new(AiMessage::new(text))
}

fn rejected(prompt: Option<&str>) -> CheckOutcome {
    let objections = vec![Objection::new("tone", "rude".into())];
    let rejection = Rejection::new(GuardrailStage::Output, objections);
    CheckOutcome::Rejected { rejection, prompt: prompt.map(Into::into) }
}

/// Takes a response that is an answer, and the outcome of its checks.
fn check(turn: &mut Turn<'_>, response: ChatResponse, outcome: CheckOutcome) -> Result<Step> {
    let step = turn.model_replied(Box::new(response))?;
    turn.answer_checked(unchecked(step), outcome)
}

fn texts(request: &ChatRequest) -> Vec<&str> {
    request.messages().filter_map(ChatMessage::text).collect()
}

#[test]
fn answer_is_checked_before_it_is_parsed() {
    let mut turn = turn_by(CHECKED);
    let step = turn.model_replied(Box::new(answered("hi"))).unwrap();
    let step = turn.answer_checked(unchecked(step), CheckOutcome::Accepted).unwrap();
    assert!(matches!(step, Step::ParseAnswer(_)));
}

#[test]
fn rewritten_answer_replaces_the_original() {
    let original = AiMessage::builder().text("raw").thinking("hm").refusal("no").build();
    let mut turn = turn_by(CHECKED);
    let outcome = CheckOutcome::Rewritten("clean".into());
    let answer = unparsed(check(&mut turn, ChatResponse::new(original), outcome).unwrap());
    assert_eq!(answer.message.text(), Some("clean"));
    let (request, finished) = turn.finish(answer);
    assert_eq!(texts(&request), ["go", "clean"]);
    assert_eq!(finished.answer.message.thinking(), None, "may contain the removed text");
    assert_eq!(finished.answer.message.refusal(), None);
}

#[test]
fn retry_sends_the_request_without_the_answer() {
    let mut turn = turn_by(CHECKED);
    let step = check(&mut turn, answered("bad"), rejected(None)).unwrap();
    assert!(matches!(step, Step::CallModel));
    assert_eq!(texts(turn.request()), ["go"]);
    assert_eq!(turn.rejected(), 1);
}

#[test]
fn reprompt_is_sent_and_not_remembered() {
    let mut turn = turn_by(CHECKED);
    check(&mut turn, answered("bad"), rejected(Some("Politely, please."))).unwrap();
    assert_eq!(texts(turn.request()), ["go", "bad", "Politely, please."]);
    let step = check(&mut turn, answered("good"), CheckOutcome::Accepted).unwrap();
    let (request, finished) = turn.finish(unparsed(step));
    assert_eq!(texts(&request), ["go", "good"]);
    assert_eq!(finished.rejected[0].response.message.text(), Some("bad"));
    assert!(finished.rejected[0].error.detail::<Rejection>().is_some());
}

#[test]
fn checks_and_repairs_have_separate_limits() {
    let mut turn = turn_by(CHECKED);
    check(&mut turn, answered("rude"), rejected(None)).unwrap();
    let step = check(&mut turn, answered("no number"), CheckOutcome::Accepted).unwrap();
    assert!(turn.repair(unparsed(step), unreadable()).is_ok(), "the repair is not used up");
    let step = turn.model_replied(Box::new(answered("rude again"))).unwrap();
    // The whole chain runs again.
    let error = turn.answer_checked(unchecked(step), rejected(Some("?"))).unwrap_err();
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
        call_tools(&mut turn, calling(&["1"]));
    }
    check(&mut turn, answered("bad"), rejected(None)).unwrap();
    assert_eq!(
        turn.model_replied(Box::new(calling(&["1"]))).unwrap_err().kind(),
        ErrorKind::LimitExceeded
    );
}

#[test]
fn source_of_the_answer_is_recorded() {
    let mut turn = turn_by(CHECKED);
    let step = turn.model_replied(Box::new(answering(&["1"], &["x"]))).unwrap();
    let step = run_tools(&mut turn, step, ResultUse::SendToModel);
    assert_eq!(turn.answer_source(), AnswerSource::BesideToolCalls);
    turn.answer_checked(unchecked(step), rejected(None)).unwrap();
    let step = turn.model_replied(Box::new(calling(&["1"]))).unwrap();
    run_tools(&mut turn, step, ResultUse::ReturnAsAnswer);
    assert_eq!(turn.answer_source(), AnswerSource::ToolResults);
}

use super::*;
use crate::message::{ChatMessage, ToolResult};
use std::time::Duration;

fn turn(limits: Limits) -> Turn {
    Turn::new(ChatRequest::new([ChatMessage::user("go")]), limits, TokenUsage::default())
}

fn limits() -> Limits {
    Limits { tool_rounds: 2, calls_per_answer: 3, argument_bytes: 10 }
}

fn calling(ids: &[&str]) -> ChatResponse {
    let calls = ids.iter().map(|id| ToolCall::new(*id, "t", "{}"));
    ChatResponse::new(AiMessage::builder().tool_calls(calls).build())
        .with_usage(TokenUsage::new(1, 1))
}

fn executed(turn: &Turn) -> Vec<ToolExecution> {
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
    assert!(matches!(turn.next(), Step::Finish));
    let (request, finished) = turn.finish().unwrap();
    assert_eq!(request.message_count(), 5);
    assert_eq!((finished.executions.len(), finished.intermediate.len()), (2, 1));
    assert_eq!(finished.usage, TokenUsage::new(1, 1));
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

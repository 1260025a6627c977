//! The loop between model and tools: order, ids, policies, immediate results, tool providers.

use crate::desk::{
    Agent, AgentService, Desk, UserAgent, UserAgentService, add, call, calling, results,
};
use ai_services::memory::{ChatMemory, MemoryId, MessageWindowChatMemory};
use ai_services::message::{ChatMessage, ToolCall, ToolResult};
use ai_services::model::{
    ChatRequest, ChatRequestParameters, TokenUsage, ToolChoice, ToolSpecification,
};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::{
    ToolArgumentsPolicy, ToolErrorPolicy, ToolOutput, ToolProvider, ToolRequest, UnknownToolPolicy,
};
use ai_services::{ErrorKind, InvocationContext, Tool, UnfinishedTurn, tools};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn calls_without_ids_are_distinguished() {
    let model = calling([
        call("", "add", json!({"a": 1, "b": 1})),
        call("", "add", json!({"a": 2, "b": 2})),
        call("x", "add", json!({"a": 3, "b": 3})),
        call("x", "add", json!({"a": 4, "b": 4})),
    ]);
    let agent =
        AgentService::builder().chat_model(model.clone()).tools(add::tool()).build().unwrap();
    agent.chat("go").await.unwrap();
    let messages = model.messages_of(1);
    let called: Vec<&str> = messages[1].tool_calls().iter().map(ToolCall::id).collect();
    let answered: Vec<(&str, &str)> = messages[2..]
        .iter()
        .map(|message| match message {
            ChatMessage::ToolResult(result) => (result.id(), result.text().unwrap()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(answered.iter().map(|(id, _)| *id).collect::<Vec<_>>(), called);
    assert_eq!(answered.iter().map(|(_, text)| *text).collect::<Vec<_>>(), ["2", "4", "6", "8"]);
    let mut unique = called.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), 4, "{called:?}");
    assert_eq!(called[2], "x");
}

#[tokio::test]
async fn policies_fail_the_call() {
    let build = |calls: ToolCall| {
        let model = ScriptedChatModel::new([
            ScriptedAnswer::tool_calls([calls]).with_usage(TokenUsage::new(10, 5))
        ]);
        AgentService::builder()
            .chat_model(model)
            .tools(Desk::default())
            .unknown_tool_policy(UnknownToolPolicy::Fail)
            .tool_arguments_policy(ToolArgumentsPolicy::Fail)
            .tool_error_policy(ToolErrorPolicy::Fail)
            .build()
            .unwrap()
    };
    for failing in [
        call("1", "nope", json!({})),
        call("1", "order-items", json!({})),
        call("1", "order-items", json!({"items": []})),
    ] {
        let error = build(failing).chat("go").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tool);
        assert_eq!(error.usage(), Some(&TokenUsage::new(10, 5)));
        assert_eq!(error.detail::<UnfinishedTurn>().unwrap().tool_executions.len(), 1);
    }
}

#[tokio::test]
async fn concealed_errors_are_not_sent() {
    let model = calling([call("1", "order-items", json!({"items": []}))]);
    let agent = AgentService::builder()
        .chat_model(model.clone())
        .tools(Desk::default())
        .tool_error_policy(ToolErrorPolicy::Conceal)
        .build()
        .unwrap();
    agent.chat("go").await.unwrap();
    assert_eq!(results(&model.messages_of(1)), [("the tool failed".to_owned(), true)]);
}

#[tokio::test]
async fn immediate_results_are_the_answer() {
    let model = ScriptedChatModel::new([ScriptedAnswer::tool_calls([
        call("1", "quick", json!({"n": 1})),
        call("2", "quick", json!({"n": 2})),
    ])]);
    let agent =
        AgentService::builder().chat_model(model.clone()).tools(Desk::default()).build().unwrap();
    let response = agent.chat("go").await.unwrap();
    assert_eq!(response.value, "1\n2");
    assert_eq!(response.tool_executions.len(), 2);
    model.check_finished().unwrap();
}

#[tokio::test]
async fn immediate_results_beside_others_are_sent_to_the_model() {
    let model =
        calling([call("1", "quick", json!({"n": 1})), call("2", "add", json!({"a": 1, "b": 1}))]);
    let agent = AgentService::builder()
        .chat_model(model.clone())
        .tools(Desk::default())
        .tools(add::tool())
        .build()
        .unwrap();
    assert_eq!(agent.chat("go").await.unwrap().value, "done");
}

#[tokio::test]
async fn forced_choice_is_lifted_after_the_first_round() {
    let model = calling([call("1", "add", json!({"a": 1, "b": 1}))]);
    let agent = AgentService::builder()
        .chat_model(model.clone())
        .parameters(ChatRequestParameters::new().tool_choice(ToolChoice::Required))
        .tools(add::tool())
        .build()
        .unwrap();
    agent.chat("go").await.unwrap();
    let choices: Vec<_> =
        model.requests().iter().map(|r| r.parameters().tool_choice.clone().unwrap()).collect();
    assert_eq!(choices, [ToolChoice::Required, ToolChoice::Auto]);
}

struct Slow;

#[tools]
impl Slow {
    /// Sleeps.
    #[tool]
    async fn sleep(&self, ms: u64) -> u64 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        ms
    }

    /// Sleeps alone.
    #[tool(sequential)]
    async fn sleep_alone(&self, ms: u64) -> u64 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        ms
    }
}

async fn elapsed(calls: Vec<ToolCall>) -> (Duration, Vec<(String, bool)>) {
    let model = calling(calls);
    let agent = AgentService::builder().chat_model(model.clone()).tools(Slow).build().unwrap();
    let started = tokio::time::Instant::now();
    agent.chat("go").await.unwrap();
    (started.elapsed(), results(&model.messages_of(1)))
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_answer_run_concurrently_in_order() {
    let calls = |name: &str| -> Vec<ToolCall> {
        (0..4_u64).map(|i| call(&i.to_string(), name, json!({"ms": 40 - 10 * i}))).collect()
    };
    let (together, results) = elapsed(calls("sleep")).await;
    assert_eq!(
        results.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>(),
        ["40", "30", "20", "10"]
    );
    assert!((40..50).contains(&together.as_millis()), "{together:?}");
    let (alone, _) = elapsed(calls("sleep_alone")).await;
    assert!((100..110).contains(&alone.as_millis()), "{alone:?}");
}

#[tokio::test]
async fn usage_and_executions_are_summed_over_the_turn() {
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([call("1", "add", json!({"a": 1, "b": 1}))])
            .with_usage(TokenUsage::new(10, 5)),
        ScriptedAnswer::text("2").with_usage(TokenUsage::new(20, 1)),
    ]);
    let agent = AgentService::builder().chat_model(model).tools(add::tool()).build().unwrap();
    let response = agent.chat("go").await.unwrap();
    assert_eq!(response.token_usage, TokenUsage::new(30, 6));
    assert_eq!(response.intermediate_responses.len(), 1);
    let execution = &response.tool_executions[0];
    assert_eq!(execution.call().name(), "add");
    assert_eq!(execution.result(), &ToolResult::new("1", "add", "2"));
}

/// Offers `add` to one user, and a second `weather` to another.
struct Choosy;

#[ai_services::async_trait]
impl ToolProvider for Choosy {
    async fn tools(&self, request: &ToolRequest<'_>) -> ai_services::Result<Vec<Tool>> {
        assert!(request.user_message.text().is_some());
        let weather = ToolSpecification::new("weather", "Another one.");
        Ok(match request.memory_id.map(MemoryId::as_str) {
            Some("ann") => vec![add::tool()],
            Some("bob") => vec![Tool::from_fn(weather, |_| async { Ok(ToolOutput::text("")) })],
            _ => Vec::new(),
        })
    }
}

#[tokio::test]
async fn tools_can_be_selected_for_each_call() {
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([call("1", "add", json!({"a": 1, "b": 1}))]),
        ScriptedAnswer::text("2"),
        ScriptedAnswer::text("no tools for me"),
    ]);
    let agent = UserAgentService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(10).build()
        })
        .tools(Desk::default())
        .tool_provider(Choosy)
        .build()
        .unwrap();
    let context = InvocationContext::new();
    agent.chat("ann", &context, "1 + 1").await.unwrap();
    agent.chat("cid", &context, "1 + 1").await.unwrap();
    assert_eq!(results(&model.messages_of(1)), [("2".to_owned(), false)]);
    let offered: Vec<_> = model.requests().iter().map(|r| r.tools().as_slice().len()).collect();
    assert_eq!(offered, [8, 8, 7]);
    let error = agent.chat("bob", &context, "hi").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    model.check_finished().unwrap();
}

#[tokio::test]
async fn transformer_changes_every_request_but_not_the_memory() {
    let model = calling([call("1", "add", json!({"a": 1, "b": 1}))]);
    let memory = Arc::new(MessageWindowChatMemory::with_max_messages(10));
    let agent = AgentService::builder()
        .chat_model(model.clone())
        .chat_memory(Arc::clone(&memory))
        .tools(add::tool())
        .chat_request_transformer(|request: ChatRequest| {
            let messages = request.messages().cloned().collect::<Vec<_>>();
            ChatRequest::builder()
                .messages([vec![ChatMessage::system("added")], messages].concat())
                .tools(request.tools().clone())
                .build()
        })
        .build()
        .unwrap();
    agent.chat("go").await.unwrap();
    for request in 0..2 {
        assert_eq!(model.messages_of(request)[0], ChatMessage::system("added"));
    }
    assert_eq!(memory.messages().await.unwrap()[0], ChatMessage::user("go"));
}

// The time limit needs the timer. A tool that is not `async` cannot be stopped, so that it has no limit.
#[test]
fn runtime_without_a_timer_is_an_error_of_an_async_tool() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let model = calling([
        call("1", "weather", json!({"city": "Oslo"})),
        call("2", "add", json!({"a": 1, "b": 1})),
    ]);
    let agent = AgentService::builder()
        .chat_model(model.clone())
        .tools(Desk::default())
        .tools(add::tool())
        .build()
        .unwrap();
    runtime.block_on(agent.chat("go")).unwrap();
    let results = results(&model.messages_of(1));
    assert_eq!(results, [("the tool failed".to_owned(), true), ("2".to_owned(), false)]);
}

//! Effect classes and idempotency keys of tools.

use crate::desk::{Agent as _, AgentService, call, results};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::{CallState, Effect, Tool, ToolInput, ToolOutput, ToolSet};
use ai_services::{tool, tools};
use serde_json::json;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Default)]
struct Payments {
    calls: Mutex<Vec<ToolInput>>,
}

#[tools]
impl Payments {
    /// Returns a price.
    #[tool(read_only)]
    fn price(&self) -> u8 {
        7
    }

    /// Pays.
    #[tool(idempotent)]
    async fn pay(&self, #[context] input: &ToolInput) -> String {
        input.idempotency_key()
    }

    /// Refunds.
    #[tool(verify = find, key = "refund-{{order}}/{{lines}}")]
    fn refund(&self, order: &str, lines: Option<&[u8]>, #[context] input: &ToolInput) -> String {
        self.calls.lock().unwrap().push(input.clone());
        format!("{order} {lines:?} {} {}", input.idempotency_key(), input.attempt())
    }

    /// Sends.
    #[tool]
    fn send(&self) {}

    async fn find(&self, call: ToolInput) -> Result<CallState, String> {
        match self.calls.lock().unwrap().len() {
            0 => Err("the bank is closed".to_owned()),
            _ => Ok(CallState::Executed(ToolOutput::text(call.idempotency_key()))),
        }
    }
}

/// Ships.
#[tool(verify = shipped)]
fn ship(#[context] input: &ToolInput) -> String {
    input.idempotency_key()
}

async fn shipped(call: ToolInput) -> Result<CallState, std::io::Error> {
    Ok(CallState::Executed(ToolOutput::text(call.call().name())))
}

/// Calls the tools in rounds and returns their results.
async fn replies<const N: usize>(
    tools: impl ToolSet,
    rounds: [Vec<(&str, serde_json::Value)>; N],
) -> Vec<String> {
    let to_answer = |calls: Vec<(&str, serde_json::Value)>| {
        // Some providers give all calls one id.
        let calls = calls.into_iter().map(|(name, arguments)| call("", name, arguments));
        ScriptedAnswer::tool_calls(calls)
    };
    let answers = rounds.into_iter().map(to_answer).chain([ScriptedAnswer::text("done")]);
    let model = ScriptedChatModel::new(answers);
    let agent = AgentService::builder().chat_model(model.clone()).tools(tools).build().unwrap();
    agent.chat("go").await.unwrap();
    results(&model.messages_of(N)).into_iter().map(|(text, _)| text).collect()
}

fn named(tools: &Arc<Payments>, name: &str) -> Tool {
    Arc::clone(tools).tools().into_iter().find(|tool| tool.name() == name).unwrap()
}

#[test]
fn effect_is_declared_by_an_attribute() {
    let tools = Arc::new(Payments::default()).tools();
    let effects: Vec<_> = tools.iter().map(Tool::effect).collect();
    assert!(matches!(
        effects[..],
        [Effect::ReadOnly, Effect::Idempotent, Effect::Verifiable(_), Effect::AtMostOnce]
    ));
    assert!(matches!(ship::tool().effect(), Effect::Verifiable(_)));
}

/// Closes an account.
#[tool(requires_approval)]
fn close() {}

/// Reads a secret.
#[tool(requires_approval, read_only)]
fn secret() {}

/// Sets a limit.
#[tool(requires_approval, idempotent, key = "{{cents}}")]
fn limit(cents: u64) {
    let _ = cents;
}

/// Ships abroad.
#[tool(requires_approval, verify = shipped)]
fn export() {}

#[test]
fn approval_is_declared_for_any_effect() {
    let tools = [close::tool(), secret::tool(), limit::tool(), export::tool()];
    assert!(tools.iter().all(Tool::requires_approval));
    let effects = tools.each_ref().map(Tool::effect);
    assert!(matches!(
        effects,
        [Effect::AtMostOnce, Effect::ReadOnly, Effect::Idempotent, Effect::Verifiable(_)]
    ));
    assert!(!ship::tool().requires_approval());
}

#[test]
fn effect_of_a_declared_tool_can_be_replaced() {
    let tool = ship::tool().with_effect(Effect::ReadOnly);
    assert!(matches!(tool.effect(), Effect::ReadOnly));
}

#[tokio::test]
async fn each_call_has_a_key_of_its_own() {
    let tools = Arc::new(Payments::default());
    let pay = || ("pay", json!({}));
    let mut keys = replies(tools.clone(), [vec![pay(), pay()], vec![pay()]]).await;
    keys.extend(replies(tools, [vec![pay()]]).await);
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 4, "{keys:?}");
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    assert!(keys.iter().all(|key| key.len() == 32 && key.bytes().all(is_digit)), "{keys:?}");
}

#[tokio::test]
async fn key_template_is_rendered_from_the_arguments() {
    let tools = Payments::default();
    let with_lines = ("refund", json!({ "order": "A 7", "lines": [1, 2] }));
    let without_lines = ("refund", json!({ "order": "A 7" }));
    assert_eq!(
        replies(tools, [vec![with_lines, without_lines]]).await,
        ["A 7 Some([1, 2]) refund-A 7/[1,2] 1", "A 7 None refund-A 7/ 1"]
    );
}

#[tokio::test]
async fn verifier_is_called_with_the_lost_call() {
    let tools = Arc::new(Payments::default());
    replies(tools.clone(), [vec![("refund", json!({ "order": "A7" }))]]).await;
    let lost = tools.calls.lock().unwrap().remove(0);
    let refund = named(&tools, "refund");
    let unreachable = refund.state_of(lost.clone(), Duration::from_secs(5)).await.unwrap_err();
    assert_eq!(unreachable.to_string(), "the bank is closed");
    tools.calls.lock().unwrap().push(lost.clone());
    let state = refund.state_of(lost.clone(), Duration::from_secs(5)).await.unwrap();
    assert_eq!(state, CallState::Executed(ToolOutput::text("refund-A7/")));
    let shipped = ship::tool().state_of(lost, Duration::from_secs(5)).await.unwrap();
    assert_eq!(shipped, CallState::Executed(ToolOutput::text("refund")));
}

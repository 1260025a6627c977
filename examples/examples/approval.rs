//! Approval: a tool call waits for a decision, which a web handler makes with the store only.
#![allow(clippy::indexing_slicing, clippy::print_stdout, reason = "examples panic on failure")]

use ai_services::approval::{Decision, PendingTurn};
use ai_services::memory::{ChatMemoryStore, InMemoryChatMemoryStore, MessageWindowChatMemory};
use ai_services::message::{Content, ToolCall};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{DurableTurns, Outcome, ai_service, tool};
use anyhow::Context;
use serde::Deserialize;

#[ai_service]
trait Support {
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<Outcome<String>>;
}

/// Refunds an order, in euros.
#[tool(requires_approval)]
fn refund(order: &str, euros: u32) -> String {
    format!("refunded {euros} euros for order {order}")
}

/// The form of the web page on which a manager decides.
#[derive(Deserialize)]
struct Form {
    pending: PendingTurn,
    decisions: Vec<Decision>,
}

/// Handles the form. Neither the model nor the tools are needed here, and nothing runs.
async fn web_handler(store: &dyn ChatMemoryStore, body: &str) -> anyhow::Result<()> {
    let form: Form = serde_json::from_str(body)?;
    Ok(form.pending.decide(store, form.decisions).await?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let call = ToolCall::new("1", "refund", r#"{"order":"A7","euros":100}"#);
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([call]),
        ScriptedAnswer::text("You get 50 euros back."),
    ]);
    // In production a store in a database, so that the turn waits over restarts.
    let store = InMemoryChatMemoryStore::new();
    let memories = store.clone();
    let support = SupportService::builder()
        .chat_model(model)
        .tools(refund::tool())
        .chat_memory_provider(move |user| {
            let window = MessageWindowChatMemory::builder().id(user).max_messages(20);
            window.store(memories.clone()).build()
        })
        .durable_turns(DurableTurns::new())
        .build()?;

    let Outcome::Pending(pending) = support.chat("ann", "Order A7 broke. Refund it!").await? else {
        anyhow::bail!("the tool requires approval");
    };
    println!("{pending}: {}", pending.calls[0].arguments);

    // The page shows the turn. The manager lowers the amount.
    let pending = serde_json::to_string(&pending)?;
    let edited = r#"{"edit": "{\"order\":\"A7\",\"euros\":50}"}"#;
    let body = format!(r#"{{"pending": {pending}, "decisions": [{edited}]}}"#);
    web_handler(&store, &body).await?;
    // A decision is accepted once.
    assert!(web_handler(&store, &body).await.is_err());

    let turn = support.resume("ann").await?.context("no open turn")?.response;
    // The model gets the result, and a note about the arguments.
    let result: Vec<_> =
        turn.tool_executions[0].result().contents().iter().filter_map(Content::text).collect();
    println!("{result:#?}\n{}", turn.value.text().unwrap_or_default());
    assert!(result[0].starts_with("refunded 50 euros for order A7\n"));
    Ok(())
}

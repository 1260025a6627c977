//! `ai-services`: the `SQLite` store, durable turns, and a tool without an effect class. Resumed with `resume`.

#![allow(clippy::print_stdout, reason = "the result of the comparison")]

use ai_services::memory::MessageWindowChatMemory;
use ai_services::message::ToolCall;
use ai_services::store::sqlite::SqliteChatMemoryStore;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{DurableTurns, ai_service, tools};
use anyhow::Context;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

#[ai_service]
trait Clerk {
    async fn chat(
        &self,
        #[memory_id] order: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;
}

/// The outside world.
struct World {
    ledger: PathBuf,
    /// Kills the process after the payment.
    is_first: bool,
}

#[tools]
impl World {
    /// Pays the invoice.
    #[tool]
    fn pay(&self) -> io::Result<&'static str> {
        let mut ledger = OpenOptions::new().create(true).append(true).open(&self.ledger)?;
        writeln!(ledger, "paid")?;
        ledger.sync_all()?;
        if self.is_first {
            let own = std::process::id().to_string();
            Command::new("sh").args(["-c", r#"kill -s KILL "$0""#, &own]).status()?;
        }
        Ok("paid")
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<_> = std::env::args().collect();
    let [_, directory, run] = &*arguments else {
        anyhow::bail!("expected a directory, and `first` or `resume`")
    };
    let (directory, is_first) = (Path::new(directory), run == "first");
    let path = directory.join("memory.sqlite");
    let store = SqliteChatMemoryStore::builder().path(path).open().await?;
    // Calls the tool, then answers with its result.
    let model = ScriptedChatModel::from_fn(|_, request| match request.turn.last() {
        Some(result) if result.is_tool_result() => {
            ScriptedAnswer::text(result.text().unwrap_or_default())
        }
        _ => ScriptedAnswer::tool_calls([ToolCall::new("call-1", "pay", "{}")]),
    });
    let clerk = ClerkService::builder()
        .chat_model(model)
        .tools(World { ledger: directory.join("ledger"), is_first })
        .chat_memory_provider(move |order| {
            let window = MessageWindowChatMemory::builder().id(order).max_messages(20);
            window.store(store.clone()).build()
        })
        .durable_turns(DurableTurns::new())
        .build()?;
    if is_first {
        clerk.chat("order-1", "Pay the invoice.").await?;
    }
    let turn = clerk.resume("order-1").await?.context("no open turn")?;
    println!("{}", turn.response.value.text().unwrap_or_default());
    Ok(())
}

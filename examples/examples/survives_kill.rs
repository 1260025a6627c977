//! Durable turns: a process ends between the effect of a tool and its result, and another one recovers the turn.
//!
//! The example starts itself as the process that ends.
#![allow(clippy::print_stdout, reason = "examples print their results")]

use ai_services::memory::MessageWindowChatMemory;
use ai_services::message::{ChatMessage, ToolCall};
use ai_services::model::ChatRequest;
use ai_services::store::sqlite::SqliteChatMemoryStore;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::ToolInput;
use ai_services::{DurableTurns, ai_service, tools};
use anyhow::ensure;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[ai_service]
trait Clerk {
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;
}

/// The outside world: its file outlives the process.
struct World {
    file: PathBuf,
    /// Ends the process after the next effect.
    dies: bool,
}

#[tools]
impl World {
    /// Posts a letter. Not repeatable: the recipient would get two.
    #[tool]
    fn post_letter(&self) -> io::Result<&'static str> {
        self.take_effect("letter")?;
        Ok("posted")
    }

    /// Pays the invoice. The bank executes one transfer for each idempotency key.
    #[tool(idempotent)]
    fn pay(&self, #[context] call: &ToolInput) -> io::Result<&'static str> {
        let transfer = format!("transfer {}", call.idempotency_key());
        if effects(&self.file).contains(&transfer) {
            return Ok("paid, in an earlier attempt");
        }
        self.take_effect(&transfer)?;
        Ok("paid")
    }
}

impl World {
    fn take_effect(&self, effect: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.file)?;
        writeln!(file, "{effect}")?;
        if self.dies {
            // No destructor runs and nothing is stored, as after SIGKILL.
            std::process::abort();
        }
        Ok(())
    }
}

fn effects(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Calls the tool that the user names, then answers with its result.
fn answer(_: usize, request: &ChatRequest) -> ScriptedAnswer {
    let text = |message: &ChatMessage| message.text().unwrap_or_default().to_owned();
    let last = request.turn.last();
    match last {
        Some(message) if message.is_user() => {
            ScriptedAnswer::tool_calls([ToolCall::new("1", text(message), "{}")])
        }
        last => ScriptedAnswer::text(last.map(text).unwrap_or_default()),
    }
}

/// Builds the service, as each process does when it starts.
async fn start(
    directory: &Path,
    dies: bool,
) -> ai_services::Result<(ClerkService, SqliteChatMemoryStore)> {
    let path = directory.join("memory.sqlite");
    let store = SqliteChatMemoryStore::builder().path(path).open().await?;
    let memories = store.clone();
    let clerk = ClerkService::builder()
        .chat_model(ScriptedChatModel::from_fn(answer))
        .tools(World { file: directory.join("world.txt"), dies })
        .chat_memory_provider(move |user| {
            let window = MessageWindowChatMemory::builder().id(user).max_messages(20);
            window.store(memories.clone()).build()
        })
        .durable_turns(DurableTurns::new())
        .build()?;
    Ok((clerk, store))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    if let [_, directory, user, tool] = &*std::env::args().collect::<Vec<_>>() {
        // The process that ends.
        let (clerk, _) = start(Path::new(directory), true).await?;
        clerk.chat(user, tool).await?;
        anyhow::bail!("the process is still alive");
    }
    let directory = std::env::temp_dir().join(format!("ai-services-{}", std::process::id()));
    fs::create_dir(&directory)?;
    for (user, tool) in [("ann", "post_letter"), ("ben", "pay")] {
        let mut child = Command::new(std::env::current_exe()?);
        child.arg(&directory).args([user, tool]).stderr(Stdio::null());
        let status = child.status()?;
        println!("{user}: {tool} took effect, and its process ended: {status}");
        ensure!(!status.success(), "the process did not end in the tool");
    }

    let (clerk, store) = start(&directory, false).await?;
    let recovery = clerk.recover(&store, 10).await?;
    for turn in &recovery.resumed {
        let (user, response) = (&turn.memory_id, &turn.response);
        let unknown: Vec<bool> =
            response.tool_executions.iter().map(|tool| tool.has_unknown_outcome()).collect();
        println!("{user}: {}", response.value.text().unwrap_or_default());
        // The letter was started at most once, so its outcome is unknown. The payment was repeated with its key.
        assert_eq!(unknown, [user.as_str() == "ann"]);
    }
    assert_eq!(recovery.resumed.len(), 2);
    let effects = effects(&directory.join("world.txt"));
    println!("{effects:?}");
    assert_eq!(effects.len(), 2, "one letter and one transfer");
    // The turns are stored, and nothing is left to recover.
    assert!(clerk.recover(&store, 10).await?.resumed.is_empty());
    store.close().await;
    Ok(fs::remove_dir_all(&directory)?)
}

//! A service behind OpenAI's protocols, the AI SDK and AG-UI.
//!
//! Without arguments, the example asks its own server with an ordinary OpenAI client and ends. With an address it serves
//! until Ctrl-C:
//!
//! ```sh
//! cargo run -p ai-services-examples --example serve -- 127.0.0.1:3000
//! curl -NH 'authorization: Bearer ann-token' http://127.0.0.1:3000/v1/chat/completions \
//!     --json '{"model": "support", "stream": true, "messages": [{"role": "user", "content": "Hello!"}]}'
//! ```
//!
//! Any client of these protocols can be used, for example Open `WebUI` with the base URL `http://127.0.0.1:3000/v1` and
//! the key `ann-token`.
#![allow(clippy::print_stdout, reason = "examples print their results")]

use ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ai_services::providers::openai::OpenAiChatModel;
use ai_services::serve::{ChatServer, Principal};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{AnswerStream, Error, ErrorKind, Result, ai_service};
use std::future::pending;
use tokio::net::TcpListener;

#[ai_service]
#[system_message("You are a support agent. Answer briefly.")]
trait Support {
    fn chat(
        &self,
        #[memory_id] conversation: &MemoryId,
        #[user_message] text: &str,
    ) -> AnswerStream;
}

/// The client's side: it knows nothing of the service.
#[ai_service]
trait Client {
    async fn ask(&self, text: &str) -> Result<String>;
}

fn server() -> Result<ChatServer> {
    // A server uses a client such as `OpenAiChatModel::from_env()?`.
    let model = ScriptedChatModel::from_fn(|_, request| {
        let heard = request.messages().filter(|message| message.is_user()).count();
        ScriptedAnswer::text(format!("This is message {heard} of our conversation.")).chunked(8)
    });
    let support = SupportService::builder()
        .chat_model(model)
        .chat_memory_provider(|id| {
            MessageWindowChatMemory::builder().id(id).max_messages(20).build()
        })
        .max_kept_memories(10_000)
        .build()?;
    ChatServer::builder()
        // The table of tokens stands in for sessions or signed tokens.
        .authenticate(async |request| {
            let token = request.headers.get("authorization").and_then(|value| value.to_str().ok());
            match token {
                Some("Bearer ann-token") => Ok(Principal::new("ann")),
                Some("Bearer ben-token") => Ok(Principal::new("ben")),
                _ => Err(Error::new(ErrorKind::Authentication, "unknown token")),
            }
        })
        .service("support", move |turn| support.chat(turn.memory_id(), turn.text()))
        .build()
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let server = server()?;
    if let Some(address) = std::env::args().nth(1) {
        let listener = TcpListener::bind(&address).await?;
        println!("listening on http://{}", listener.local_addr()?);
        let stop = async { drop(tokio::signal::ctrl_c().await) };
        return Ok(server.serve(listener, stop).await?);
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/v1", listener.local_addr()?);
    tokio::select! {
        result = server.serve(listener, pending()) => Ok(result?),
        result = ask(&url) => result,
    }
}

/// Asks twice, in two conversations: a request without a name of a conversation begins a new one.
async fn ask(url: &str) -> anyhow::Result<()> {
    let model =
        OpenAiChatModel::builder().base_url(url).api_key("ann-token").model("support").build()?;
    let client = ClientService::builder().chat_model(model).build()?;
    for question in ["Hello!", "Are you there?"] {
        println!("{question} {}", client.ask(question).await?);
    }
    Ok(())
}

//! The server that the clients of `scripts/serve-clients` talk to. It prints its address, and
//! that of the endpoint on which a manager decides.
//!
//! A scripted model plays the turns of `tests/clients/turns.json` by their message, and random ones for messages such as
//! `random 17`. The bearer token is the principal. The service `shop` has a tool that needs approval.
#![allow(clippy::print_stdout, reason = "the script reads the address")]
#![allow(clippy::needless_pass_by_value, reason = "arguments of tools are owned")]

mod shop;

use ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ai_services::message::{AiMessage, ChatMessage, ToolCall};
use ai_services::model::{ChatRequest, ChatResponse, FinishReason, TokenUsage};
use ai_services::serve::{ChatServer, Principal};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{AnswerStream, Error, ErrorKind, ai_service, tools};
use serde::Deserialize;
use serde_json::json;
use shop::Shop as _;
use tokio::net::TcpListener;

#[ai_service]
trait Assistant {
    fn chat(
        &self,
        #[memory_id] conversation: &MemoryId,
        #[user_message] text: &str,
    ) -> AnswerStream;
}

struct Toolbox;

#[tools]
impl Toolbox {
    /// Returns the weather of a city.
    #[tool(read_only)]
    fn weather(&self, city: String) -> Result<String, String> {
        if city.is_empty() { Err("no city".to_owned()) } else { Ok(format!("{city} is sunny")) }
    }
}

/// A turn of the file.
#[derive(Clone, Debug, Default, Deserialize)]
struct Turn {
    message: String,
    kind: String,
    text: String,
    #[serde(default)]
    thinking: Option<String>,
    /// Text of the answer that calls tools.
    #[serde(default)]
    earlier: String,
    /// Cities whose weather the model asks for, all in one answer.
    #[serde(default)]
    cities: Vec<String>,
    input_tokens: u64,
    output_tokens: u64,
}

impl Turn {
    /// Returns a random turn. Equal seeds give equal turns.
    fn random(seed: u64) -> Self {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut below = |bound: u64| {
            // A linear congruential generator; the constants are Knuth's.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let cities = (0..below(4)).map(|_| "x".repeat(usize::from(below(3) > 0))).collect();
        Self {
            kind: if below(8) == 0 { "broken" } else { "random" }.to_owned(),
            text: "word ".repeat(usize::try_from(below(20)).unwrap_or_default() + 1),
            thinking: (below(2) == 0).then(|| "thought ".repeat(3)),
            earlier: "look ".repeat(usize::from(below(2) == 0)),
            cities,
            input_tokens: 1,
            output_tokens: 1,
            ..Self::default()
        }
    }

    /// Returns the answer that calls the tools. Both calls have one id, as those of some providers.
    fn calls(&self) -> ScriptedAnswer {
        let calls = self
            .cities
            .iter()
            .map(|city| ToolCall::new("call_0", "weather", json!({ "city": city }).to_string()));
        let mut message = AiMessage::builder().tool_calls(calls);
        if !self.earlier.is_empty() {
            message = message.text(&*self.earlier);
        }
        let answer =
            ChatResponse::new(message.build()).with_finish_reason(FinishReason::ToolExecution);
        ScriptedAnswer::from(answer).chunked(3)
    }

    fn answer(&self) -> ScriptedAnswer {
        if self.kind == "error" {
            return ScriptedAnswer::error(ErrorKind::RateLimited, "quota of the project secret-7");
        }
        let mut message = AiMessage::builder().text(&*self.text);
        if let Some(thinking) = &self.thinking {
            message = message.thinking(&**thinking);
        }
        let answer = ChatResponse::new(message.build()).with_finish_reason(FinishReason::Stop);
        let answer = answer.with_usage(TokenUsage::new(self.input_tokens, self.output_tokens));
        let answer = ScriptedAnswer::from(answer).chunked(3);
        if self.kind == "broken" {
            return answer.then_error(ErrorKind::Connection, "reset by secret-7");
        }
        answer
    }
}

/// Plays the turn of the last message of the user.
fn play(turns: &[Turn], request: &ChatRequest) -> ScriptedAnswer {
    let messages: Vec<&ChatMessage> = request.messages().collect();
    let position = messages.iter().rposition(|message| message.is_user()).unwrap_or_default();
    let (_, now) = messages.split_at(position);
    let text = now.first().and_then(|message| message.text()).unwrap_or_default();
    let turn = match text.strip_prefix("random ").and_then(|seed| seed.parse().ok()) {
        Some(seed) => Turn::random(seed),
        None => turns.iter().find(|turn| turn.message == text).cloned().unwrap_or_default(),
    };
    if now.len() == 1 && !turn.cities.is_empty() { turn.calls() } else { turn.answer() }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let turns: Vec<Turn> = serde_json::from_str(include_str!("../tests/clients/turns.json"))?;
    let assistant = AssistantService::builder()
        .chat_model(ScriptedChatModel::from_fn(move |_, request| play(&turns, request)))
        .tools(Toolbox)
        .chat_memory_provider(|id| {
            MessageWindowChatMemory::builder().id(id).max_messages(1000).build()
        })
        .build()?;
    let (shop, decisions, manager) = shop::shop()?;
    let server = ChatServer::builder()
        .authenticate(async |request| {
            let token = request.headers.get("authorization").and_then(|value| value.to_str().ok());
            let name = token.and_then(|token| token.strip_prefix("Bearer "));
            name.map(Principal::new)
                .ok_or_else(|| Error::new(ErrorKind::Authentication, "no token"))
        })
        .service("assistant", move |turn| assistant.chat(turn.memory_id(), turn.text()))
        .service("shop", move |turn| shop.chat(turn.memory_id(), turn.text()))
        .decisions("shop", decisions)
        .build()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let managers = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{} http://{}", listener.local_addr()?, managers.local_addr()?);
    tokio::select! {
        result = server.serve(listener, std::future::pending()) => Ok(result?),
        result = axum::serve(managers, manager).into_future() => Ok(result?),
    }
}

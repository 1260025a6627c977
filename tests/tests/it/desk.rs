//! Tools and agents for the tests of tool calls.

use ai_services::memory::MemoryId;
use ai_services::message::{ChatMessage, ToolCall};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::ToolError;
use ai_services::{InvocationContext, Response, ai_service, tool, tools};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};

#[ai_service]
pub(crate) trait Agent {
    async fn chat(&self, text: &str) -> ai_services::Result<Response<String>>;
}

#[ai_service]
pub(crate) trait UserAgent {
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[context] context: &InvocationContext,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unit {
    /// Degrees Celsius.
    Celsius,
    Fahrenheit,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub(crate) struct Item {
    /// How many.
    qty: u32,
    #[serde(default)]
    parts: Vec<Self>,
}

#[derive(Default)]
pub(crate) struct Desk {
    runs: AtomicUsize,
}

#[tools]
impl Desk {
    /// Tells the weather.
    #[tool]
    async fn weather(
        &self,
        /// The city.
        city: &str,
        #[p("The unit", default = Unit::Celsius)] unit: Unit,
        days: Option<u8>,
    ) -> String {
        format!("{city} {unit:?} {days:?}")
    }

    /// Orders items.
    #[tool(name = "order-items")]
    fn order(&self, items: &[Item]) -> Result<usize, std::io::Error> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        match items.len() {
            0 => Err(std::io::Error::other("nothing to order")),
            n => Ok(n),
        }
    }

    /// Panics.
    #[tool]
    fn panic(&self) {
        panic!("oh no");
    }

    /// Never ends.
    #[tool(timeout = "20ms")]
    async fn hang(&self) {
        std::future::pending::<()>().await;
    }

    /// Who asks.
    #[tool]
    async fn whoami(
        &self,
        #[memory_id] id: &MemoryId,
        #[context] context: &InvocationContext,
    ) -> String {
        format!("{id} {}", context.get::<u32>().copied().unwrap_or_default())
    }

    /// Conceals.
    #[tool]
    fn conceal(&self) -> Result<(), ToolError> {
        Err(ToolError::concealed("password expired"))
    }

    /// Returns at once.
    #[tool(return_immediately)]
    fn quick(&self, n: u32) -> u32 {
        n
    }

    pub(crate) fn helper(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

/// Adds two numbers.
#[tool]
pub(crate) fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[allow(clippy::needless_pass_by_value, reason = "so that calls need no `&`")]
pub(crate) fn call(id: &str, name: &str, arguments: serde_json::Value) -> ToolCall {
    ToolCall::new(id, name, arguments.to_string())
}

pub(crate) fn calling(calls: impl IntoIterator<Item = ToolCall>) -> ScriptedChatModel {
    ScriptedChatModel::new([ScriptedAnswer::tool_calls(calls), ScriptedAnswer::text("done")])
}

/// Returns the tool results in the second request.
pub(crate) async fn told(calls: impl IntoIterator<Item = ToolCall>) -> Vec<(String, bool)> {
    let model = calling(calls);
    let agent = AgentService::builder()
        .chat_model(model.clone())
        .tools(Desk::default())
        .tools(add::tool())
        .build()
        .unwrap();
    agent.chat("go").await.unwrap();
    results(&model.messages_of(1))
}

pub(crate) fn results(messages: &[ChatMessage]) -> Vec<(String, bool)> {
    let result = |message: &ChatMessage| match message {
        ChatMessage::ToolResult(result) => {
            Some((result.text().unwrap().to_owned(), result.is_error()))
        }
        _ => None,
    };
    messages.iter().filter_map(result).collect()
}

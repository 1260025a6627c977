//! A service that calls one tool, as a model would.

use crate::Outcome;
use crate::installed::Probe;
use ai_services::mcp::McpTools;
use ai_services::message::{ChatMessage, ToolCall, ToolResult};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{InvocationContext, Response, ai_service, event};

#[ai_service]
pub(crate) trait Agent {
    async fn chat(
        &self,
        #[context] context: &InvocationContext,
        #[user_message] text: &str,
    ) -> ai_services::Result<Response<String>>;
}

/// The result that the model received.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) result: ToolResult,
    pub(crate) is_unknown: bool,
}

impl Received {
    pub(crate) fn texts(&self) -> String {
        self.result.contents().iter().filter_map(|content| content.text()).collect()
    }

    /// Fails unless the result is a success that contains the text.
    pub(crate) fn succeeds(&self, text: &str) -> Outcome {
        let is_success = !self.result.is_error() && !self.is_unknown && self.texts().contains(text);
        is_success.then_some(()).ok_or_else(|| format!("expected `{text}`: {self:?}").into())
    }
}

/// Calls a tool, and counts its reports of progress.
pub(crate) async fn call(
    tools: &McpTools,
    probe: &Probe,
    on_progress: impl Fn() + Send + Sync + 'static,
) -> Outcome<Received> {
    let name = format!("s__{}", probe.tool);
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([ToolCall::new("1", name, probe.arguments.to_string())]),
        ScriptedAnswer::text("Done."),
    ]);
    let listener = move |_: &event::Call<'_>, event: &event::Event<'_>| {
        if matches!(event, event::Event::ToolProgressed { .. }) {
            on_progress();
        }
    };
    // Not as a provider, which asks the server for its tools first if it has reported a change.
    let agent = AgentService::builder().chat_model(model.clone()).tools(tools.tools());
    let agent = agent.listener(listener).build()?;
    let response = agent.chat(&InvocationContext::new(), "go").await?;
    let execution = response.tool_executions.first().ok_or("the tool was not called")?;
    let result = model.messages_of(1).into_iter().find_map(|message| match message {
        ChatMessage::ToolResult(result) => Some(result),
        _ => None,
    });
    let result = result.ok_or("the model received no result")?;
    Ok(Received { result, is_unknown: execution.has_unknown_outcome() })
}

/// Lists the tools, as a service does before each model call.
pub(crate) async fn listed(tools: &McpTools) -> ai_services::Result<()> {
    let model = ScriptedChatModel::new([ScriptedAnswer::text("Done.")]);
    let agent = AgentService::builder().chat_model(model).tool_provider(tools.clone()).build()?;
    agent.chat(&InvocationContext::new(), "go").await.map(drop)
}

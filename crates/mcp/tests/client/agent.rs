//! A service that calls one tool.

use ai_services::mcp::McpTools;
use ai_services::message::{ChatMessage, Content, ToolCall, ToolResult};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::Tool;
use ai_services::{InvocationContext, Response, ai_service};

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
pub(crate) struct Told {
    pub(crate) result: ToolResult,
    pub(crate) is_unknown: bool,
}

impl Told {
    pub(crate) fn text(&self) -> &str {
        self.result.text().unwrap_or_else(|| panic!("not one text: {:?}", self.result))
    }

    pub(crate) fn contents(&self) -> &[Content] {
        self.result.contents()
    }

    #[track_caller]
    pub(crate) fn is_error(&self, text: &str) {
        assert!(self.result.is_error(), "{self:?}");
        assert!(self.text().contains(text), "{self:?}");
        assert!(!self.is_unknown, "{self:?}");
    }

    #[track_caller]
    pub(crate) fn is_unknown(&self, text: &str) {
        assert!(self.is_unknown, "{self:?}");
        assert!(self.text().starts_with("outcome unknown: "), "{self:?}");
        assert!(self.text().contains(text), "{self:?}");
    }
}

/// Calls a tool as a model would.
pub(crate) async fn call(tools: &McpTools, name: &str, arguments: &str) -> Told {
    call_with(tools, name, arguments, &InvocationContext::new()).await
}

pub(crate) async fn call_with(
    tools: &McpTools,
    name: &str,
    arguments: &str,
    context: &InvocationContext,
) -> Told {
    let model = calling(name, arguments);
    let agent = AgentService::builder().chat_model(model.clone()).tool_provider(tools.clone());
    told(&agent.build().unwrap(), &model, context).await
}

/// Calls one tool, without a listing of its server.
pub(crate) async fn call_tool(tool: Tool, name: &str) -> Told {
    let model = calling(name, "{}");
    let agent = AgentService::builder().chat_model(model.clone()).tools(tool).build().unwrap();
    told(&agent, &model, &InvocationContext::new()).await
}

fn calling(name: &str, arguments: &str) -> ScriptedChatModel {
    ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([ToolCall::new("1", name, arguments)]),
        ScriptedAnswer::text("Done."),
    ])
}

async fn told(
    agent: &AgentService,
    model: &ScriptedChatModel,
    context: &InvocationContext,
) -> Told {
    let response = agent.chat(context, "go").await.unwrap();
    let result = model.messages_of(1).into_iter().find_map(|message| match message {
        ChatMessage::ToolResult(result) => Some(result),
        _ => None,
    });
    let is_unknown = response.tool_executions[0].has_unknown_outcome();
    Told { result: result.expect("a tool result"), is_unknown }
}

/// Returns the names of the tools that a model gets.
pub(crate) async fn offered(tools: &McpTools) -> ai_services::Result<Vec<String>> {
    let model = ScriptedChatModel::new([ScriptedAnswer::text("Done.")]);
    let agent = AgentService::builder().chat_model(model.clone()).tool_provider(tools.clone());
    agent.build().unwrap().chat(&InvocationContext::new(), "go").await?;
    let request = model.requests().remove(0);
    Ok(request.tools.as_slice().iter().map(|tool| tool.name.to_string()).collect())
}

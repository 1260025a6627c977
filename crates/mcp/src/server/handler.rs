//! The requests of clients.

#![expect(deprecated, reason = "the protocol deprecates logging, which earlier revisions have")]

use super::blocks::{blocks, resource_contents};
use super::mcp_call::Era;
use super::offer::Offer;
use super::principal::McpPrincipal;
use super::raw::RawMethods;
use super::run::{Engine, Outcome, Target};
use ai_services_core::message::ToolResult;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, PromptMessage,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Role, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, Tool, UnsubscribeRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

/// Time in which a client may use a list without asking again, in milliseconds. The lists never change while the
/// server runs.
const LIST_TIME_TO_LIVE_MS: u64 = 60_000;

/// Methods that the stateless revision has removed.
const REMOVED_METHODS: [&str; 5] =
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// Methods whose parameters the SDK reads.
const TYPED_METHODS: [&str; 11] = [
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "tools/call",
    "tools/list",
];

/// Answers the requests of clients. Cloning is cheap.
#[derive(Clone, Debug)]
pub(super) struct Handler(pub(super) Arc<Parts>);

/// The parts of a handler.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) config: ServerConfig,
    pub(super) offer: Offer,
    pub(super) engine: Engine,
    pub(super) raw: RawMethods,
    /// The caller of requests that do not arrive over HTTP.
    pub(super) stdio_principal: Option<McpPrincipal>,
}

type Context = RequestContext<RoleServer>;

/// Returns a page of a list, with the caching hints of the stateless revision.
macro_rules! page {
    ($result:ident, $page:expr, $context:expr) => {{
        let (entries, next) = $page?;
        let mut list = $result::with_all_items(entries);
        list.next_cursor = next;
        if Era::of(&$context) == Era::Stateless {
            list = list.with_ttl_ms(LIST_TIME_TO_LIVE_MS).with_cache_scope(CacheScope::Public);
        }
        Ok(list)
    }};
}

impl Handler {
    async fn run(&self, target: Target<'_>, context: Context) -> Result<Outcome, ErrorData> {
        let request = context.extensions.get::<http::request::Parts>().cloned();
        let principal = match &request {
            Some(request) => request.extensions.get::<McpPrincipal>(),
            None => self.0.stdio_principal.as_ref(),
        };
        self.0.engine.run(target, principal, context).await
    }

    /// Runs the tool of a prompt or a resource. A failed tool is an error: their results cannot say that they failed.
    async fn run_or_fail(
        &self,
        target: Target<'_>,
        context: Context,
    ) -> Result<Outcome, ErrorData> {
        match self.run(target, context).await? {
            Outcome::Result(result) if result.is_error() => {
                let message = result.text().unwrap_or("failed").to_owned();
                Err(ErrorData::internal_error(message, None))
            }
            outcome => Ok(outcome),
        }
    }

    /// Answers a request of a method without an API of its own.
    async fn raw<P: Serialize, R: DeserializeOwned>(
        &self,
        method: &str,
        params: P,
        era: Era,
    ) -> Result<R, ErrorData> {
        if era == Era::Stateless && REMOVED_METHODS.contains(&method) {
            return Err(method_not_found(method));
        }
        let params = serde_json::to_value(params).unwrap_or_default();
        let mut result = self.0.raw.call(method, params).await?;
        if let (Era::Stateless, Some(result)) = (era, result.as_object_mut()) {
            result.entry("resultType").or_insert_with(|| "complete".into());
        }
        serde_json::from_value(result).map_err(|error| {
            tracing::warn!(method, %error, "the result of a raw method is invalid");
            ErrorData::internal_error("internal error", None)
        })
    }

    /// Returns the result of a tool, with the structured content that its definition declares.
    fn tool_result(&self, definition: &Tool, result: &ToolResult) -> CallToolResult {
        if result.is_error() {
            return CallToolResult::error(blocks(result.contents()));
        }
        let mut answer = CallToolResult::success(blocks(result.contents()));
        if definition.output_schema.is_none() {
            return answer;
        }
        let structured = result.text().and_then(|text| serde_json::from_str(text).ok());
        match structured.filter(Value::is_object) {
            Some(structured) => {
                answer.structured_content = Some(structured);
                answer
            }
            None => {
                tracing::warn!(tool = &*definition.name, "an answer is not a JSON object");
                CallToolResult::error(blocks(&["the tool failed".into()]))
            }
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.0.config.clone()
    }

    async fn discover(&self, _context: Context) -> Result<DiscoverResult, ErrorData> {
        let mut config = self.get_info();
        if let Some(resources) = &mut config.capabilities.resources {
            // The stateless revision has no `resources/subscribe`.
            resources.subscribe = None;
        }
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, config)
            .with_ttl_ms(LIST_TIME_TO_LIVE_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        page!(ListToolsResult, self.0.offer.page(&self.0.offer.tool_definitions, request), context)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.offer.tool_definition(name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name;
        let Some(definition) = self.0.offer.tool_definition(&name) else {
            return Err(ErrorData::invalid_params(format!("unknown tool: {name}"), None));
        };
        let target = Target {
            method: "tools/call",
            toolbox: &self.0.offer.tools,
            name: &name,
            arguments: request.arguments.unwrap_or_default(),
            input_responses: request.input_responses,
            request_state: request.request_state,
        };
        match self.run(target, context).await? {
            Outcome::Result(result) => Ok(self.tool_result(definition, &result).into()),
            Outcome::InputRequired(questions) => Ok(questions.into()),
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        page!(
            ListPromptsResult,
            self.0.offer.page(&self.0.offer.prompt_definitions, request),
            context
        )
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let name = request.name;
        let mut definitions = self.0.offer.prompt_definitions.iter();
        let Some(definition) = definitions.find(|prompt| prompt.name == name) else {
            return Err(ErrorData::invalid_params(format!("unknown prompt: {name}"), None));
        };
        let target = Target {
            method: "prompts/get",
            toolbox: &self.0.offer.prompts,
            name: &name,
            arguments: request.arguments.unwrap_or_default(),
            input_responses: request.input_responses,
            request_state: request.request_state,
        };
        let result = match self.run_or_fail(target, context).await? {
            Outcome::Result(result) => result,
            Outcome::InputRequired(questions) => return Ok(questions.into()),
        };
        let message = |block| PromptMessage::new(Role::User, block);
        let messages = blocks(result.contents()).into_iter().map(message).collect();
        let description = definition.description.clone().unwrap_or_default();
        Ok(GetPromptResult::new(messages).with_description(description).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let offer = &self.0.offer;
        let all: Vec<_> =
            offer.resources.iter().filter_map(|resource| resource.definition()).collect();
        page!(ListResourcesResult, offer.page(&all, request), context)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let offer = &self.0.offer;
        let all: Vec<_> =
            offer.resources.iter().filter_map(|resource| resource.template()).collect();
        page!(ListResourceTemplatesResult, offer.page(&all, request), context)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let Some((resource, arguments)) = self.0.offer.resource(&uri) else {
            let data = json!({ "uri": uri });
            return Err(ErrorData::resource_not_found("resource not found", Some(data)));
        };
        let target = Target {
            method: "resources/read",
            toolbox: &self.0.offer.resource_tools,
            name: resource.tool.name(),
            arguments,
            input_responses: request.input_responses,
            request_state: request.request_state,
        };
        let result = match self.run_or_fail(target, context).await? {
            Outcome::Result(result) => result,
            Outcome::InputRequired(questions) => return Ok(questions.into()),
        };
        let contents = resource_contents(result.contents(), &uri, resource.text_type());
        Ok(ReadResourceResult::new(contents).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: Context,
    ) -> Result<CompleteResult, ErrorData> {
        self.raw("completion/complete", request, Era::of(&context)).await
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        self.raw::<_, Value>("logging/setLevel", request, Era::of(&context)).await.map(drop)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        self.raw::<_, Value>("resources/subscribe", request, Era::of(&context)).await.map(drop)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        self.raw::<_, Value>("resources/unsubscribe", request, Era::of(&context)).await.map(drop)
    }

    /// Answers a request of an unknown method, or with parameters that are not those of its method.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Result<CustomResult, ErrorData> {
        let (method, era) = (request.method.as_str(), Era::of(&context));
        let is_removed = era == Era::Stateless && REMOVED_METHODS.contains(&method);
        if !is_removed && TYPED_METHODS.contains(&method) {
            return Err(ErrorData::invalid_params(
                format!("invalid parameters of `{method}`"),
                None,
            ));
        }
        self.raw(method, request.params.unwrap_or_default(), era).await.map(CustomResult::new)
    }
}

fn method_not_found(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None)
}

//! Resources and prompts of a server.

use super::connection::Connection;
use super::failure::Failure;
use super::link::Pause;
use super::remote_call;
use super::source::Source;
use crate::clean::clean_text;
use crate::content::{resource_content, resource_line, to_content};
use ai_services_core::message::Content;
use ai_services_core::model::ToolSpecification;
use ai_services_core::tool::{Effect, Tool, ToolError, ToolInput, ToolOutput};
use ai_services_core::{Error, ErrorKind, Result};
use futures_util::future::{BoxFuture, FutureExt};
use rmcp::model::{
    ClientRequest, GetPromptRequest, GetPromptRequestParams, Prompt, ReadResourceRequest,
    ReadResourceRequestParams, Resource, Role, ServerResult,
};
use schemars::json_schema;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A resource of a server: data that it offers for reading.
///
/// The server wrote all texts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteResource {
    /// The address, for [`McpTools::read_resource`](super::McpTools::read_resource).
    pub uri: String,
    /// The name.
    pub name: String,
    /// The purpose, if the server names it.
    pub description: Option<String>,
    /// The media type, if the server names it.
    pub media_type: Option<String>,
    /// The size in bytes, if the server names it.
    pub size: Option<u64>,
}

/// A prompt of a server: a template of messages.
///
/// The server wrote all texts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemotePrompt {
    /// The name, for [`McpTools::prompt`](super::McpTools::prompt).
    pub name: String,
    /// The purpose, if the server names it.
    pub description: Option<String>,
    /// The arguments.
    pub arguments: Vec<RemotePromptArgument>,
}

/// An argument of a prompt, a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemotePromptArgument {
    /// The name.
    pub name: String,
    /// The meaning, if the server names it.
    pub description: Option<String>,
    /// `true` if the prompt cannot be rendered without it.
    pub is_required: bool,
}

/// A message of a prompt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RemotePromptMessage {
    /// `true` for a message of the user, `false` for one of the assistant.
    pub is_user: bool,
    /// The content.
    pub content: Content,
}

/// Most characters of a description.
const MAX_DESCRIPTION: usize = 1_000;

impl Source {
    pub(super) async fn resources(&self) -> Result<Vec<RemoteResource>> {
        let listed = self.entries::<Resource>("list its resources").await?;
        Ok(listed.into_iter().map(RemoteResource::from).collect())
    }

    pub(super) async fn prompts(&self) -> Result<Vec<RemotePrompt>> {
        let listed = self.entries::<Prompt>("list its prompts").await?;
        Ok(listed.into_iter().map(RemotePrompt::from).collect())
    }

    async fn entries<T: super::listing::ListEntry>(&self, action: &str) -> Result<Vec<T>> {
        let server = &self.link.server;
        let list = |connection: Arc<Connection>| async move {
            let listing = connection.list::<T>(server.connect_timeout).await;
            listing.map_err(|failure| failure.into_error(&server.name, action))
        };
        Ok(self.link.read(Pause::Wait, list).await?.entries)
    }

    pub(super) async fn read_resource(&self, uri: &str) -> Result<Vec<Content>> {
        let params = ReadResourceRequestParams::new(uri);
        let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
        match self.request(request, "read a resource").await? {
            ServerResult::ReadResourceResult(result) => {
                Ok(result.contents.into_iter().map(resource_content).collect())
            }
            _ => Err(self.unexpected("read a resource")),
        }
    }

    pub(super) async fn prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Vec<RemotePromptMessage>> {
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = (!arguments.is_empty()).then_some(arguments);
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        match self.request(request, "render a prompt").await? {
            ServerResult::GetPromptResult(result) => {
                let message = |message: rmcp::model::PromptMessage| RemotePromptMessage {
                    is_user: message.role == Role::User,
                    content: to_content(message.content),
                };
                Ok(result.messages.into_iter().map(message).collect())
            }
            _ => Err(self.unexpected("render a prompt")),
        }
    }

    async fn request(&self, request: ClientRequest, action: &str) -> Result<ServerResult> {
        let server = &self.link.server;
        let send = |connection: Arc<Connection>| {
            let request = request.clone();
            async move {
                let result = connection.request(request, server.call_timeout).await;
                result.map_err(|failure| failure.into_error(&server.name, action))
            }
        };
        self.link.read(Pause::Wait, send).await
    }

    fn unexpected(&self, action: &str) -> Error {
        let failure = Failure::Invalid("unexpected kind of answer".to_owned());
        failure.into_error(&self.link.server.name, action)
    }
}

/// Returns the tools for resources and prompts, if they are enabled and the server offers them, with their names
/// at the server.
pub(super) fn tools(source: &Arc<Source>, connection: &Connection) -> Vec<(String, Tool)> {
    let rules = &source.link.server.rules;
    let mut tools = Vec::new();
    if rules.resource_tools && connection.offers(|offered| offered.resources.is_some()) {
        tools.push(list_resources(source));
        tools.push(read_resource(source));
    }
    if rules.prompt_tools && connection.offers(|offered| offered.prompts.is_some()) {
        tools.push(list_prompts(source));
        tools.push(get_prompt(source));
    }
    tools
}

fn list_resources(source: &Arc<Source>) -> (String, Tool) {
    let specification = specification(source, "list_resources", "Lists the resources of");
    reading_tool("list_resources", source, specification, |source, _| {
        let listing = async move {
            let lines: Vec<_> =
                source.resources().await?.iter().map(RemoteResource::line).collect();
            Ok(ToolOutput::text(lines.join("\n")))
        };
        listing.boxed()
    })
}

fn read_resource(source: &Arc<Source>) -> (String, Tool) {
    let parameters = json_schema!({
        "type": "object",
        "properties": { "uri": { "type": "string" } },
        "required": ["uri"],
    });
    let specification = specification(source, "read_resource", "Reads a resource of");
    let specification = specification.with_parameters(parameters);
    reading_tool("read_resource", source, specification, |source, mut arguments| {
        let reading = async move {
            let uri = text_argument(&mut arguments, "uri")?;
            Ok(ToolOutput::contents(source.read_resource(&uri).await?))
        };
        reading.boxed()
    })
}

fn list_prompts(source: &Arc<Source>) -> (String, Tool) {
    let specification = specification(source, "list_prompts", "Lists the prompts of");
    reading_tool("list_prompts", source, specification, |source, _| {
        let listing = async move {
            let lines: Vec<_> = source.prompts().await?.iter().map(RemotePrompt::line).collect();
            Ok(ToolOutput::text(lines.join("\n")))
        };
        listing.boxed()
    })
}

fn get_prompt(source: &Arc<Source>) -> (String, Tool) {
    let parameters = json_schema!({
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "arguments": { "type": "object", "additionalProperties": { "type": "string" } },
        },
        "required": ["name"],
    });
    let specification = specification(source, "get_prompt", "Renders a prompt of");
    let specification = specification.with_parameters(parameters);
    reading_tool("get_prompt", source, specification, |source, mut arguments| {
        let rendering = async move {
            let name = text_argument(&mut arguments, "name")?;
            let arguments = match arguments.remove("arguments") {
                Some(Value::Object(arguments)) => arguments,
                _ => Map::new(),
            };
            let messages = source.prompt(&name, arguments).await?;
            Ok(ToolOutput::contents(messages.into_iter().map(|message| message.content)))
        };
        rendering.boxed()
    })
}

fn specification(source: &Source, name: &str, verb: &str) -> ToolSpecification {
    let server = &source.link.server;
    let description = format!("{verb} the MCP server `{}`.", server.name);
    ToolSpecification::new(server.rules.model_name(&server.name, name), description)
}

type Reading = BoxFuture<'static, Result<ToolOutput>>;

/// Returns a tool that reads from a server, with its name at the server.
fn reading_tool(
    name: &str,
    source: &Arc<Source>,
    specification: ToolSpecification,
    read: fn(Arc<Source>, Map<String, Value>) -> Reading,
) -> (String, Tool) {
    let (server, source) = (Arc::clone(&source.link.server), Arc::clone(source));
    let tool = Tool::from_fn(specification, move |input: ToolInput| {
        let source = Arc::clone(&source);
        async move {
            let reading = read(source, remote_call::arguments(&input)?).await;
            reading.map_err(|error| match error.kind() {
                ErrorKind::Prompt => ToolError::invalid_arguments(error.to_string()),
                _ => ToolError::new(error.to_string()),
            })
        }
    });
    let tool = tool.with_effect(Effect::ReadOnly).with_timeout(server.total_timeout);
    (name.to_owned(), tool)
}

fn text_argument(arguments: &mut Map<String, Value>, name: &'static str) -> Result<String> {
    match arguments.remove(name) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(Error::new(ErrorKind::Prompt, format!("the argument `{name}` is not a text"))),
    }
}

impl RemoteResource {
    fn line(&self) -> String {
        let mut resource = Resource::new(&self.uri, &self.name);
        resource.description.clone_from(&self.description);
        resource.mime_type.clone_from(&self.media_type);
        resource.size = self.size;
        resource_line(&resource)
    }
}

impl From<Resource> for RemoteResource {
    fn from(resource: Resource) -> Self {
        Self {
            uri: resource.uri,
            name: clean_text(&resource.name, MAX_DESCRIPTION),
            description: resource.description.map(|text| clean_text(&text, MAX_DESCRIPTION)),
            media_type: resource.mime_type,
            size: resource.size,
        }
    }
}

impl RemotePrompt {
    fn line(&self) -> String {
        let argument = |RemotePromptArgument { name, is_required, .. }: &RemotePromptArgument| {
            if *is_required { name.clone() } else { format!("[{name}]") }
        };
        let arguments: Vec<_> = self.arguments.iter().map(argument).collect();
        let line = clean_text(&format!("{}({})", self.name, arguments.join(", ")), MAX_DESCRIPTION);
        match &self.description {
            Some(description) => format!("{line}: {}", description.replace('\n', " ")),
            None => line,
        }
    }
}

impl From<Prompt> for RemotePrompt {
    fn from(prompt: Prompt) -> Self {
        let arguments = prompt.arguments.unwrap_or_default().into_iter();
        let argument = |argument: rmcp::model::PromptArgument| {
            let description = argument.description.map(|text| clean_text(&text, MAX_DESCRIPTION));
            let is_required = argument.required == Some(true);
            RemotePromptArgument { name: argument.name, description, is_required }
        };
        Self {
            name: prompt.name,
            description: prompt.description.map(|text| clean_text(&text, MAX_DESCRIPTION)),
            arguments: arguments.map(argument).collect(),
        }
    }
}

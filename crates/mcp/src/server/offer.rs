//! Everything that a server offers: its tools, resources and prompts.

use super::definition;
use super::resource::McpResource;
use ai_services_core::Tool;
use ai_services_core::tool::Toolbox;
use ai_services_core::{Error, Result};
use rmcp::ErrorData;
use rmcp::model::{self, JsonObject, PaginatedRequestParams, ServerCapabilities};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The tools, resources and prompts of a server, with their definitions.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) tools: Toolbox,
    pub(super) tool_definitions: Vec<model::Tool>,
    pub(super) prompts: Toolbox,
    pub(super) prompt_definitions: Vec<model::Prompt>,
    pub(super) resources: Vec<McpResource>,
    pub(super) resource_tools: Toolbox,
    pub(super) page_size: usize,
}

/// The parts of an offer, as the application adds them.
#[derive(Clone, Debug)]
pub(super) struct OfferParts {
    pub(super) tools: Vec<Tool>,
    /// The schemas of typed answers, by name of the tool.
    pub(super) outputs: BTreeMap<String, JsonObject>,
    pub(super) prompts: Vec<Tool>,
    pub(super) resources: Vec<McpResource>,
    pub(super) page_size: usize,
}

impl Offer {
    /// Creates an offer. Fails if a name or a URI is invalid or not unique.
    pub(super) fn new(mut parts: OfferParts) -> Result<Self> {
        let readers = parts.resources.iter().map(|resource| resource.tool.clone()).collect();
        let all = [&parts.tools, &parts.prompts, &readers];
        if let Some(tool) = all.into_iter().flatten().find(|tool| tool.requires_approval()) {
            return Err(Error::configuration(format!(
                "the tool `{}` requires approval, which an MCP server cannot wait for; offer a service that has the tool",
                tool.name()
            )));
        }
        parts.resources.iter().try_for_each(McpResource::check)?;
        let define = |tool| definition::tool(tool, parts.outputs.remove(tool.name()).map(Arc::new));
        let tool_definitions = parts.tools.iter().map(define).collect::<Result<_>>()?;
        if let Some(name) = parts.outputs.keys().next() {
            let message = format!("`typed_output` names an unknown tool: `{name}`");
            return Err(Error::configuration(message));
        }
        Ok(Self {
            tool_definitions,
            prompt_definitions: parts
                .prompts
                .iter()
                .map(definition::prompt)
                .collect::<Result<_>>()?,
            tools: Toolbox::new(parts.tools)?,
            prompts: Toolbox::new(parts.prompts)?,
            resource_tools: Toolbox::new(readers)?,
            resources: parts.resources,
            page_size: parts.page_size.max(1),
        })
    }

    pub(super) fn tool_definition(&self, name: &str) -> Option<&model::Tool> {
        self.tool_definitions.iter().find(|tool| tool.name == name)
    }

    /// Returns the resource with a URI, and the arguments of its tool.
    pub(super) fn resource(&self, uri: &str) -> Option<(&McpResource, JsonObject)> {
        let find = |resource| Some((resource, McpResource::arguments(resource, uri)?));
        self.resources.iter().find_map(find)
    }

    pub(super) fn capabilities(&self) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = (!self.tool_definitions.is_empty()).then(Default::default);
        capabilities.prompts = (!self.prompt_definitions.is_empty()).then(Default::default);
        capabilities.resources = (!self.resources.is_empty()).then(Default::default);
        capabilities
    }

    /// Returns a page of a list, and the cursor of the next page.
    pub(super) fn page<T: Clone>(
        &self,
        list: &[T],
        request: Option<PaginatedRequestParams>,
    ) -> Result<(Vec<T>, Option<String>), ErrorData> {
        let invalid = || ErrorData::invalid_params("invalid cursor", None);
        let start = match request.and_then(|request| request.cursor) {
            Some(cursor) => cursor.parse().ok().filter(|start| *start > 0).ok_or_else(invalid)?,
            None => 0_usize,
        };
        let rest = list.get(start..).ok_or_else(invalid)?;
        if start > 0 && rest.is_empty() {
            return Err(invalid());
        }
        let page: Vec<T> = rest.iter().take(self.page_size).cloned().collect();
        let next = (page.len() < rest.len()).then(|| (start + page.len()).to_string());
        Ok((page, next))
    }
}

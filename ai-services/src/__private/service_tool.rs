//! Items for methods of services that are tools.

use super::tool::ToolDescription;
use crate::service::nested;
use crate::service::{AiService, Method};
use crate::tool::{Effect, StartedTool, Tool, ToolError, ToolInput};
use std::fmt;
use std::sync::Arc;

pub use crate::service::nested::{
    id_text as outer_id_text, memory_id as outer_memory_id, start as start_nested,
};

/// A method of a service that other services may call, in generated code: a constant.
pub struct DeclaredServiceTool {
    pub description: ToolDescription,
    pub method: &'static Method,
    pub has_memory_id: bool,
    pub read_only: bool,
    /// Reads the arguments and starts the call.
    pub start: fn(&AiService, &ToolInput) -> Result<StartedTool, ToolError>,
}

impl fmt::Debug for DeclaredServiceTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.description.fmt(f)
    }
}

/// Creates the tools of a service.
pub fn service_tools(service: &AiService, tools: &[DeclaredServiceTool]) -> Vec<Tool> {
    tools.iter().map(|tool| tool.of(service)).collect()
}

impl DeclaredServiceTool {
    fn of(&self, service: &AiService) -> Tool {
        let (own, start) = (service.clone(), self.start);
        let tool = self.description.tool(Arc::new(move |input: ToolInput| start(&own, &input)));
        let tool = nested::with_properties(tool, service, (self.method, self.has_memory_id));
        if self.read_only { tool.with_effect(Effect::ReadOnly) } else { tool }
    }
}

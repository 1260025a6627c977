//! The tools of one method.

use super::description::{DeclaredTools, Method};
use crate::model::{ChatRequestParameters, ToolChoice};
use crate::tool::{Tool, ToolProvider, ToolRefresh, ToolRequest, Toolbox};
use crate::{Error, Result};
use std::sync::Arc;

/// The tools that the calls of one method use. Selected when the service is built.
pub(super) struct MethodTools {
    declared: DeclaredTools,
    own: Arc<Toolbox>,
    /// The providers that may have tools for the method.
    providers: Vec<Arc<dyn ToolProvider>>,
}

impl MethodTools {
    /// Selects the tools of a method.
    ///
    /// # Errors
    ///
    /// If the method names a tool that neither the service nor one of its providers has.
    pub(super) fn new(
        method: &Method,
        toolbox: &Arc<Toolbox>,
        providers: &[Arc<dyn ToolProvider>],
    ) -> Result<Self> {
        let declared = method.tools;
        let DeclaredTools::Only(names) = declared else {
            return Ok(Self { declared, own: Arc::clone(toolbox), providers: providers.into() });
        };
        let provided: Vec<&str> =
            names.iter().copied().filter(|name| toolbox.get(name).is_none()).collect();
        let mut used = Vec::new();
        let mut unknown = provided.clone();
        for provider in providers {
            let has = |name: &str| may_have(&**provider, name);
            unknown.retain(|name| !has(name));
            if provided.iter().any(|name| has(name)) {
                used.push(Arc::clone(provider));
            }
        }
        if let Some(name) = unknown.first() {
            return Err(unknown_tool(method, name, toolbox, providers));
        }
        Ok(Self { declared, own: Arc::new(toolbox.only(names)?), providers: used })
    }

    /// Returns the service's own tools, which are the same in all calls.
    pub(super) fn own(&self) -> &Arc<Toolbox> {
        &self.own
    }

    /// Returns `true` if each call may add tools.
    pub(super) fn have_providers(&self) -> bool {
        !self.providers.is_empty()
    }

    /// Returns `true` if a call may have tools.
    pub(super) fn may_exist(&self) -> bool {
        !self.providers.is_empty() || !self.own.specifications().is_empty()
    }

    /// Returns `true` if a provider is called before each request.
    pub(super) fn are_refreshed(&self) -> bool {
        self.providers.iter().any(|provider| provider.refresh() == ToolRefresh::EachRequest)
    }

    /// Returns the tools of each provider. If the call has them already, only those that are refreshed.
    ///
    /// # Errors
    ///
    /// If a provider fails.
    pub(super) async fn provided(
        &self,
        request: &ToolRequest<'_>,
        known: Option<&[Vec<Tool>]>,
    ) -> Result<Vec<Vec<Tool>>> {
        let mut provided = Vec::with_capacity(self.providers.len());
        for (index, provider) in self.providers.iter().enumerate() {
            let is_fixed = provider.refresh() == ToolRefresh::EachCall;
            provided.push(match known.and_then(|known| known.get(index)).filter(|_| is_fixed) {
                Some(known) => known.clone(),
                None => {
                    let tools = provider.tools(request).await?;
                    tools.into_iter().filter(|tool| self.takes(tool)).collect()
                }
            });
        }
        Ok(provided)
    }

    /// Returns the service's tools with those of the tool providers.
    ///
    /// # Errors
    ///
    /// If the name of one of these tools is invalid or not unique.
    pub(super) fn with_provided(&self, provided: &[Vec<Tool>]) -> Result<Toolbox> {
        self.own.with(provided.iter().flatten().cloned().collect())
    }

    /// Returns `true` if a tool of a call may be a method of another service.
    pub(super) fn may_nest(&self) -> bool {
        !self.providers.is_empty() || self.own.has_nested()
    }

    /// Returns the service's parameters, without a tool choice that needs a tool of other methods.
    pub(super) fn parameters(
        &self,
        shared: &Arc<ChatRequestParameters>,
    ) -> Arc<ChatRequestParameters> {
        let is_possible = match (self.declared, &shared.tool_choice) {
            (DeclaredTools::Only(names), Some(ToolChoice::Tool(name))) => names.contains(&&**name),
            (DeclaredTools::Only(names), Some(_)) => !names.is_empty(),
            (DeclaredTools::All, _) | (_, None) => true,
        };
        let mut parameters = Arc::clone(shared);
        if !is_possible {
            Arc::make_mut(&mut parameters).tool_choice = None;
        }
        parameters
    }

    /// Returns whether the method uses this tool of a provider. The service's own tool with a name takes
    /// precedence.
    fn takes(&self, tool: &Tool) -> bool {
        match self.declared {
            DeclaredTools::All => true,
            DeclaredTools::Only(names) => {
                names.contains(&tool.name()) && self.own.get(tool.name()).is_none()
            }
        }
    }
}

fn may_have(provider: &dyn ToolProvider, name: &str) -> bool {
    provider.tool_names().is_none_or(|names| names.iter().any(|known| known == name))
}

fn unknown_tool(
    method: &Method,
    name: &str,
    toolbox: &Toolbox,
    providers: &[Arc<dyn ToolProvider>],
) -> Error {
    let provided = providers.iter().filter_map(|provider| provider.tool_names()).flatten();
    let known: Vec<String> = toolbox.names().map(str::to_owned).chain(provided).collect();
    let known = match known.as_slice() {
        [] => "it has no tools".to_owned(),
        names => format!("its tools are `{}`", names.join("`, `")),
    };
    Error::configuration(format!(
        "`#[tools]` of method `{}` names the tool `{name}`, which the AI service does not have; {known}",
        method.name
    ))
}

//! The tools of one method.

use super::description::{DeclaredToolChoice, DeclaredTools, Method};
use crate::model::{Capability, ChatModel, ChatRequestParameters, ToolChoice};
use crate::tool::{Tool, ToolProvider, ToolRefresh, ToolRequest, Toolbox};
use crate::{Error, ErrorKind, Result};
use std::sync::Arc;

/// The tools that the calls of one method use. Selected when the service is built.
pub(super) struct MethodTools {
    declared: DeclaredTools,
    choice: DeclaredToolChoice,
    own: Arc<Toolbox>,
    /// The providers that may have tools for the method.
    providers: Vec<Arc<dyn ToolProvider>>,
}

impl MethodTools {
    /// Selects the tools of a method.
    ///
    /// # Errors
    ///
    /// If the method names a tool that neither the service nor one of its providers has, or if it must call a tool and
    /// has none.
    pub(super) fn new(
        method: &Method,
        toolbox: &Arc<Toolbox>,
        providers: &[Arc<dyn ToolProvider>],
    ) -> Result<Self> {
        let (declared, choice) = (method.tools, method.tool_choice);
        let DeclaredTools::Only(names) = declared else {
            let own = Arc::clone(toolbox);
            let tools = Self { declared, choice, own, providers: providers.into() };
            return tools.check_choice(method).map(|()| tools);
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
        Ok(Self { declared, choice, own: Arc::new(toolbox.only(names)?), providers: used })
    }

    /// Checks the tool choice of a method that uses all tools. Otherwise the macro has compared the names.
    fn check_choice(&self, method: &Method) -> Result<()> {
        match self.choice {
            DeclaredToolChoice::Tool(name)
                if self.own.get(name).is_none()
                    && !self.providers.iter().any(|provider| may_have(&**provider, name)) =>
            {
                Err(unknown_tool(method, name, &self.own, &self.providers))
            }
            DeclaredToolChoice::Required if !self.may_exist() => {
                Err(Error::configuration(format!(
                    "method `{}` with `#[tools(choice = required)]` must call a tool, and the AI service has no tools",
                    method.name
                )))
            }
            _ => Ok(()),
        }
    }

    /// Checks that a model can be forced to call a tool, if the method does so.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] if it cannot.
    pub(super) fn check_model(&self, method: &Method, model: &dyn ChatModel) -> Result<()> {
        let is_forced =
            matches!(self.choice, DeclaredToolChoice::Required | DeclaredToolChoice::Tool(_));
        if !is_forced || model.capabilities().contains(Capability::ToolChoice) {
            return Ok(());
        }
        let (name, model) = (method.name, model.name());
        Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the tool choice of method `{name}` needs a model that can be forced to call tools, and `{model}` cannot"
            ),
        ))
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

    /// Returns the service's parameters with the method's tool choice, or else without one that needs a tool of other
    /// methods.
    pub(super) fn parameters(
        &self,
        shared: &Arc<ChatRequestParameters>,
    ) -> Arc<ChatRequestParameters> {
        let inherited = &shared.tool_choice;
        let choice = match (self.choice, self.declared, inherited) {
            (DeclaredToolChoice::Required, ..) => Some(ToolChoice::Required),
            (DeclaredToolChoice::Tool(name), ..) => Some(ToolChoice::Tool(name.into())),
            (DeclaredToolChoice::Auto, ..) => None,
            (_, DeclaredTools::Only(names), Some(ToolChoice::Tool(name))) => {
                inherited.clone().filter(|_| names.contains(&&**name))
            }
            (_, DeclaredTools::Only(names), _) => inherited.clone().filter(|_| !names.is_empty()),
            (_, DeclaredTools::All, _) => inherited.clone(),
        };
        let mut parameters = Arc::clone(shared);
        if choice != *inherited {
            Arc::make_mut(&mut parameters).tool_choice = choice;
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

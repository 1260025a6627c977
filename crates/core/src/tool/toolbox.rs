//! The tools of a service or of one call, by name.

use super::{Then, Tool};
use crate::error::{Error, Result};
use crate::message::ToolCall;
use crate::model::ToolSpecifications;

/// A list of tools with valid and unique names, with lookup by name.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Toolbox {
    tools: Vec<Tool>,
    /// The indices of the tools, sorted by name. A hash of a name costs 160 instructions, a comparison 20.
    by_name: Vec<usize>,
    specifications: ToolSpecifications,
    /// `true` if a tool has [`Then::ReturnImmediately`].
    has_answers: bool,
    requires_approval: bool,
}

impl Toolbox {
    /// Creates a toolbox. Fails if a name is invalid or not unique.
    #[doc(hidden)]
    pub fn new(tools: Vec<Tool>) -> Result<Self> {
        for tool in &tools {
            check_name(tool.name())?;
        }
        let mut sorted: Vec<_> = tools.iter().map(Tool::name).enumerate().collect();
        sorted.sort_unstable_by_key(|(index, name)| (*name, *index));
        let neighbours = sorted.iter().zip(sorted.iter().skip(1));
        let repeated = neighbours.filter(|((_, one), (_, next))| one == next);
        if let Some((_, (_, name))) = repeated.min_by_key(|(_, (index, _))| *index) {
            return Err(Error::configuration(format!(
                "tool name `{name}` is already taken; tool names must be unique within one AI service",
            )));
        }
        let by_name = sorted.into_iter().map(|(index, _)| index).collect();
        let specifications =
            tools.iter().map(|tool| tool.specification().clone()).collect::<Vec<_>>().into();
        let has_answers = tools.iter().any(|tool| tool.0.then == Then::ReturnImmediately);
        let requires_approval = tools.iter().any(Tool::requires_approval);
        Ok(Self { tools, by_name, specifications, has_answers, requires_approval })
    }

    /// Returns a toolbox with additional tools. Fails if a name is invalid or not unique.
    #[doc(hidden)]
    pub fn with(&self, more: Vec<Tool>) -> Result<Self> {
        Self::new(self.tools.iter().cloned().chain(more).collect())
    }

    /// Returns a toolbox with the tools that have one of these names, in the same order.
    #[doc(hidden)]
    pub fn only(&self, names: &[&str]) -> Result<Self> {
        let is_named = |tool: &&Tool| names.contains(&tool.name());
        Self::new(self.tools.iter().filter(is_named).cloned().collect())
    }

    /// Returns `true` if there are no tools.
    #[doc(hidden)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns the tool with this name.
    #[doc(hidden)]
    pub fn get(&self, name: &str) -> Option<&Tool> {
        let name_of = |index: &usize| self.tools.get(*index).map(Tool::name);
        let at = self.by_name.binary_search_by(|index| name_of(index).cmp(&Some(name))).ok()?;
        self.tools.get(*self.by_name.get(at)?)
    }

    /// Returns `true` if every call is of a tool with [`Then::ReturnImmediately`]. The results are then the
    /// answer, unless a call fails.
    #[doc(hidden)]
    pub fn answers(&self, calls: &[ToolCall]) -> bool {
        let is_answer = |call: &ToolCall| {
            self.get(call.name()).is_some_and(|tool| tool.0.then == Then::ReturnImmediately)
        };
        self.has_answers && calls.iter().all(is_answer)
    }

    /// Returns the names of all tools, in order.
    #[doc(hidden)]
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(Tool::name)
    }

    /// Returns `true` if a tool requires approval.
    #[doc(hidden)]
    #[must_use]
    pub fn requires_approval(&self) -> bool {
        self.requires_approval
    }

    /// Returns `true` if a tool is a method of a service.
    #[doc(hidden)]
    pub fn has_nested(&self) -> bool {
        self.tools.iter().any(|tool| tool.0.is_nested)
    }

    /// Returns the names of the tools that require approval.
    #[doc(hidden)]
    pub fn requiring_approval(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().filter(|tool| tool.requires_approval()).map(Tool::name)
    }

    /// Returns the specifications that are sent to the model.
    #[doc(hidden)]
    pub fn specifications(&self) -> &ToolSpecifications {
        &self.specifications
    }
}

/// Checks a name against the strictest rule of all providers.
fn check_name(name: &str) -> Result<()> {
    let valid = (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if valid {
        Ok(())
    } else {
        Err(Error::configuration(format!(
            "invalid tool name `{name}`; use 1 to 64 characters of `A-Z a-z 0-9 _ -`"
        )))
    }
}

//! Hints for reading incomplete JSON as a type.

use crate::output::json::Node;
use std::collections::HashSet;

/// Hints for reading a type from incomplete JSON: members to fill with empty values, and nodes to omit
/// because the type cannot represent an incomplete value.
#[derive(Debug, Default)]
pub(in crate::output) struct Hints {
    filled: Vec<(HintTarget, &'static str)>,
    omitted: HashSet<usize>,
}

/// The target of a hint: a struct type, identified by the address of its list of fields, or one object,
/// identified by the address of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::output) enum HintTarget {
    Struct(usize),
    Node(usize),
}

/// A change that may help to read an incomplete value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::output) enum Hint {
    /// Fill a member with an empty value.
    Fill(HintTarget, &'static str),
    /// Omit the node.
    Omit(usize),
}

impl Hint {
    pub(super) fn omit(node: &Node<'_>) -> Self {
        Self::Omit(address(node))
    }
}

impl Hints {
    /// Adds a hint. Returns `true` if it is new.
    pub(in crate::output) fn add(&mut self, hint: Hint) -> bool {
        match hint {
            Hint::Fill(target, field) => {
                let is_new = !self.filled.contains(&(target, field));
                if is_new {
                    self.filled.push((target, field));
                }
                is_new
            }
            Hint::Omit(node) => self.omitted.insert(node),
        }
    }

    /// Removes hints about nodes of one attempt. Hints about types are kept.
    pub(in crate::output) fn forget_nodes(&mut self) {
        self.filled.retain(|(target, _)| matches!(target, HintTarget::Struct(_)));
        self.omitted.clear();
    }

    pub(super) fn omits(&self, node: &Node<'_>) -> bool {
        !self.omitted.is_empty() && self.omitted.contains(&address(node))
    }

    /// Returns the members of a target that must be filled if they are missing.
    pub(super) fn filled_members(
        &self,
        target: HintTarget,
    ) -> impl Iterator<Item = &'static str> + '_ {
        self.filled.iter().filter(move |(own, _)| *own == target).map(|(_, field)| *field)
    }
}

/// Returns the address of a node, which is its identity within one attempt.
pub(super) fn address(node: &Node<'_>) -> usize {
    std::ptr::from_ref(node).addr()
}

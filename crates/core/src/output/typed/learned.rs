//! What was learned about a type while its value is being written.

use crate::output::json::Node;
use std::collections::HashSet;

/// What a type needs to be read from unfinished JSON: members that must be filled, and nodes that must
/// be left out because the type has no value for the half of them.
#[derive(Debug, Default)]
pub(in crate::output) struct Learned {
    filled: Vec<(Place, &'static str)>,
    left_out: HashSet<usize>,
}

/// A struct, by its list of members; or one object, by its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::output) enum Place {
    Struct(usize),
    Node(usize),
}

/// What to do to read an unfinished value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::output) enum Remedy {
    /// Give the struct an empty member.
    Fill(Place, &'static str),
    /// Leave out the node.
    LeaveOut(usize),
}

impl Remedy {
    pub(super) fn leave_out(node: &Node<'_>) -> Self {
        Self::LeaveOut(address(node))
    }
}

impl Learned {
    /// Whether the remedy is new.
    pub(in crate::output) fn learn(&mut self, remedy: Remedy) -> bool {
        match remedy {
            Remedy::Fill(place, field) => {
                let is_new = !self.filled.contains(&(place, field));
                if is_new {
                    self.filled.push((place, field));
                }
                is_new
            }
            Remedy::LeaveOut(node) => self.left_out.insert(node),
        }
    }

    /// Forgets what concerns the nodes of one reading, and keeps what concerns the type.
    pub(in crate::output) fn forget_nodes(&mut self) {
        self.filled.retain(|(place, _)| matches!(place, Place::Struct(_)));
        self.left_out.clear();
    }

    pub(super) fn leaves_out(&self, node: &Node<'_>) -> bool {
        !self.left_out.is_empty() && self.left_out.contains(&address(node))
    }

    /// The members of a struct that must be filled if they are not there.
    pub(super) fn fills(&self, place: Place) -> impl Iterator<Item = &'static str> + '_ {
        self.filled.iter().filter(move |(own, _)| *own == place).map(|(_, field)| *field)
    }
}

/// Tells nodes of one reading apart.
pub(super) fn address(node: &Node<'_>) -> usize {
    std::ptr::from_ref(node).addr()
}

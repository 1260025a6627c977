//! Durable turns: the journal of a turn, and the turn that is resumed from it.

mod entry;
mod journaled_call;
mod journaled_turn;
mod turn_log;

pub(super) use entry::Began;
pub(super) use journaled_turn::JournaledTurn;
pub(super) use turn_log::{RoundLog, TurnLog};

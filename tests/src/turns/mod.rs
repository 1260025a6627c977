//! Turns that can be recognised in a store, for the harnesses that kill processes and let them race.
//!
//! Each turn has a tag, said by the user and repeated by the assistant; every third turn calls a tool in
//! between. So a checker sees from the messages alone which turns are there, in which order, and
//! whether one is incomplete or has another one inside.

pub mod check;
pub mod harness;
pub mod kind;
pub mod place;
pub mod play;

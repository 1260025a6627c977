//! Authorization by OAuth.

mod consent;
mod hostile;
mod renewal;
mod scripted_authority;

//! The messages of all compile errors, one function per mistake.
//!
//! Each function has a test of the same name in `tests/ui/fail` and a line in
//! `ai-services/src/docs/errors.md`; a test compares the three lists. Style: lower case, no full stop, names
//! in backticks; the mistake, then at most one fact (`note`) and one action (`help`).

mod attribute;
mod service;
mod template;
mod tool;

pub(crate) use attribute::*;
pub(crate) use service::*;
pub(crate) use template::*;
pub(crate) use tool::*;

/// Formats names as `` `a`, `b` and `c` ``.
fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.split_last() {
        None => "none".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

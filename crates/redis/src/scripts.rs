//! Lua scripts, which the server runs atomically.
//!
//! The writes of a script are not rolled back if it fails. Therefore each script reads all its keys before it
//! writes one, so that keys of the wrong type are detected first.

use redis::Script;
use std::sync::LazyLock;

pub(super) static COMMIT: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(include_str!("time_to_live.lua"), include_str!("commit.lua")))
});
pub(super) static REMOVE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("remove.lua")));
pub(super) static PRUNE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("prune.lua")));
pub(super) static ACQUIRE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("acquire.lua")));
pub(super) static RELEASE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("release.lua")));
pub(super) static APPEND: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(include_str!("time_to_live.lua"), include_str!("append.lua")))
});
pub(super) static DISCARD: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("discard.lua")));

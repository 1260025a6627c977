//! What the server does in one step.
//!
//! A script runs without anything between its steps, but what it has written stays if it fails. So
//! each reads all its keys before it writes one.

use redis::Script;
use std::sync::LazyLock;

pub(super) static COMMIT: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("commit.lua")));
pub(super) static REMOVE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("remove.lua")));
pub(super) static PRUNE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("prune.lua")));
pub(super) static ACQUIRE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("acquire.lua")));
pub(super) static RELEASE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("release.lua")));

//! Servers for tests, started on demand.

#![allow(clippy::panic, reason = "a test cannot continue without its server")]

pub mod cassandra;
pub mod maven;
pub mod postgres;
pub mod process;
pub mod redis;

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Skips tests whose server is not installed.
///
/// Returns `found` unchanged. If it is `None`, writes to standard error that a test is skipped, and which
/// package to install.
///
/// # Panics
///
/// If `found` is `None` and the environment variable `CI` is set.
pub fn installed<T>(found: Option<T>, server: &str, package: &str) -> Option<T> {
    if found.is_none() {
        let missing = format!("{server} is not installed; install the package `{package}`");
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        // Not `eprintln!`, whose output is hidden if the test passes.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {missing}");
    }
    found
}

/// Returns a free port of 127.0.0.1, a different one for each call.
///
/// The port is outside the range that the system uses for outgoing connections, so that it is still free when
/// a killed server restarts.
///
/// # Panics
///
/// If no port is free.
#[must_use]
pub fn free_port() -> u16 {
    const FIRST: u16 = 12_000;
    const COUNT: u16 = 20_000;
    static CALLS: AtomicU16 = AtomicU16::new(0);
    // Test processes that run at the same time start at different ports.
    let start = std::process::id().wrapping_mul(7919);
    let ports = (0..COUNT).map(|_| {
        let calls = CALLS.fetch_add(1, Ordering::Relaxed);
        FIRST + u16::try_from(start.wrapping_add(calls.into()) % u32::from(COUNT)).unwrap_or(0)
    });
    let mut free = ports.filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    let Some(port) = free.next() else { panic!("no port is free") };
    port
}

//! Servers that start themselves, for the tests of what speaks with them.

#![allow(clippy::panic, reason = "a test without its server has nothing else to do")]

pub mod cassandra;
pub mod postgres;
pub mod process;
pub mod redis;

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Decides what becomes of the tests whose server is not installed.
///
/// Returns what was found. Otherwise says on standard error what is skipped, and why.
///
/// # Panics
///
/// If nothing was found and the environment variable `CI` is set.
pub fn installed<T>(found: Option<T>, server: &str, package: &str) -> Option<T> {
    if found.is_none() {
        let missing = format!("{server} is not installed; install the package `{package}`");
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        // Not `eprintln!`, which shows nothing of a test that passes.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {missing}");
    }
    found
}

/// A port of 127.0.0.1 on which nothing listens, another one at each call.
///
/// It is none of those that the system gives to outgoing connections, so that a server that was
/// killed finds it free again.
///
/// # Panics
///
/// If there is none.
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

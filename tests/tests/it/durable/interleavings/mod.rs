//! Two or three processes, with and without leases, and one or two turns, in every order of their operations.
//!
//! Each operation on the store and each effect is a step. The explorer runs the processes again and again, each time in
//! another order of steps, and checks after each step that no effect happened twice. A process that ends is a process
//! that takes no further step. The exploration is complete, because
//!
//! - two orders lead to the same state if the store, the outside world and everything that each process has seen are
//!   equal, up to the names of turns, versions and keys, which are random, and up to the order of the processes that
//!   resume the turn, which are equal. The explorer goes on from one of them only. An attempt at the turn that failed
//!   counts by its ends: the turns that it found, its effects and its last outcome;
//! - an effect is a step that no other process sees, so that it comes before the steps of the others;
//! - a lease may expire at any time and any number of times, but only the next operation that depends on it sees it.
//!   So it expires right before such an operation, or not at all.
//!
//! A lease is not renewed. A renewal in time changes nothing, and a late one finds the lease lost, as the next
//! operation would.

mod explorer;
mod view;

use explorer::Explorer;

/// Explores processes without or with leases. The first ones make these requests, whose turns call these tools, and
/// the others resume the open turn.
fn explore(
    processes: usize,
    has_leases: bool,
    called: &'static [&'static str],
    requests: &'static [&'static [&'static str]],
) {
    let explored = Explorer::new(processes, has_leases, called, requests).explore_all();
    assert!(explored.states > 100 && explored.ended > 10, "{explored:?}");
}

#[test]
fn two_processes_in_every_order() {
    explore(2, false, &["charge", "mail"], &[&["order-1"]]);
}

#[test]
fn two_turns_in_every_order() {
    explore(2, false, &["mail"], &[&["order-1", "order-2"]]);
}

#[test]
fn two_callers_in_every_order() {
    explore(2, false, &["mail"], &[&["order-1"], &["order-2"]]);
}

#[test]
fn repeated_request_in_every_order() {
    explore(2, false, &["mail"], &[&["order-1"], &["order-1"]]);
}

#[test]
fn two_processes_with_leases_in_every_order() {
    explore(2, true, &["charge", "mail"], &[&["order-1"]]);
}

#[test]
fn three_processes_in_every_order() {
    explore(3, false, &["mail"], &[&["order-1"]]);
}

/// `cargo test --release -p ai-services-tests --test it -- --ignored three_processes_with_leases`
#[test]
#[ignore = "takes 20 minutes in release"]
fn three_processes_with_leases_in_every_order() {
    explore(3, true, &["mail"], &[&["order-1"]]);
}

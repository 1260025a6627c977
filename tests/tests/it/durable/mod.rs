//! Durable turns: every point at which a process may end, open turns, and approval.

mod approval;
mod budgets;
mod crash_points;
mod interleavings;
mod open_turns;
mod paused;
mod process;
mod properties;
mod resumed_stream;

use ai_services_tests::durable::outside::Happened;

/// The tools with effects, and the effects.
const EFFECTS: [(&str, Happened); 4] = [
    ("charge", Happened::Charged),
    ("transfer", Happened::Transferred),
    ("mail", Happened::Mailed),
    ("note", Happened::Noted),
];

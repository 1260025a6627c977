//! Replays recorded cases of the reference implementation: `conformance FILE.jsonl…`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that reports to people")]

use ai_services_tests::conformance::Report;
use std::process::ExitCode;

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!("usage: conformance FILE.jsonl…");
        return ExitCode::from(2);
    }
    let mut report = Report::default();
    for file in &files {
        report.run_file(file.as_ref());
    }
    print!("{report}");
    for unreadable in &report.unreadable {
        eprintln!("{unreadable}");
    }
    match (report.unreadable.is_empty(), report.failures.is_empty()) {
        (false, _) => ExitCode::from(2),
        (true, false) => ExitCode::FAILURE,
        (true, true) => ExitCode::SUCCESS,
    }
}

//! The recorded behaviour of the reference implementation.

use ai_services_tests::conformance::Report;
use std::path::Path;

fn report() -> Report {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = files.map(|entry| entry.path());
    let mut report = Report::default();
    for file in files.filter(|path| path.extension().is_some_and(|name| name == "jsonl")) {
        report.run_file(&file);
    }
    report
}

#[test]
fn cases_agree_with_the_reference() {
    let report = report();
    assert!(report.unreadable.is_empty(), "{:?}", report.unreadable);
    assert!(report.failures.is_empty(), "{report}");
    assert!(report.passed > 1400, "{report}");
}

#[test]
fn windows_counts_and_json_skip_nothing() {
    let ops = ["message_window", "token_window", "token_count", "serde"];
    assert_eq!(report().skipped_of(&ops), 0);
}

#[test]
fn few_answers_are_read_differently() {
    let skipped = report().skipped_of(&["parse"]);
    assert!(skipped < 45, "{skipped} of 300");
}

#[test]
fn retrieval_differs_in_little_but_duplicates() {
    let report = report();
    let others = report.skipped.iter().filter(|((op, reason), _)| {
        ["rrf", "aggregate", "inject"].contains(&op.as_str()) && !reason.contains("duplicate")
    });
    let others: usize = others.map(|(_, count)| count).sum();
    assert!(others < 20, "{report}");
    assert!(report.skipped_of(&["inject"]) < 15, "{report}");
}

#[test]
fn unreadable_lines_are_named() {
    let folder = std::env::temp_dir().join(format!("conformance-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("bad.jsonl");
    std::fs::write(&file, "\n{}\n").unwrap();
    let mut report = Report::default();
    report.run_file(&file);
    report.run_file(&folder.join("missing.jsonl"));
    std::fs::remove_dir_all(&folder).unwrap();
    let line = format!("{}:2: missing field `id`", file.display());
    assert!(report.unreadable.first().is_some_and(|first| first.starts_with(&line)));
    assert_eq!(report.unreadable.len(), 2);
}

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
fn retrieval_differs_in_duplicates_and_little_else() {
    let report = report();
    let skipped = |word| {
        let skipped = report.skipped.iter().filter(|((_, reason), _)| reason.contains(word));
        skipped.map(|(_, count)| *count).sum::<usize>()
    };
    assert_eq!(report.skipped_of(&["rrf", "aggregate"]), 116, "of 357: {report}");
    assert_eq!(skipped("fusion: a duplicate within one list counts once"), 114);
    assert_eq!(report.skipped_of(&["inject"]), 8, "of 150: {report}");
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

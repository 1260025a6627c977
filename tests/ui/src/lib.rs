//! Compiles the cases in `pass`, which must succeed, and in `fail`, with the expected error messages.
//!
//! A separate package, so that the dependencies of other tests are not built for the cases. Each file has one
//! mistake and is named after the function in `ai-services-macros/src/errors` that reports it; `types`
//! and `builder` contain the mistakes that rustc reports with messages of `ai-services`, and `slips` the syntax
//! errors that rustc reports alone. After a change of a message, run `scripts/bless` and read the diff.

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing helper fails its test")]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn messages_are_as_expected() {
    let cases = trybuild::TestCases::new();
    cases.pass("pass/*.rs");
    cases.compile_fail("fail/**/*.rs");
}

#[test]
fn every_error_has_a_test_and_a_line_in_the_index() {
    let functions = functions();
    let tests = tests(&["attribute", "service", "template", "tool"]);
    let index = index();
    let missing = |from: &BTreeSet<String>, of: &BTreeSet<String>| -> Vec<String> {
        // `unknown_placeholder_in_file` is a second test of `unknown_placeholder`.
        let has = |name: &str| {
            from.iter().any(|other| name == other || name.starts_with(&format!("{other}_in_")))
        };
        of.iter().filter(|name| !has(name)).cloned().collect()
    };
    assert!(functions.len() > 30, "no error functions found");
    assert_eq!(missing(&tests, &functions), [""; 0], "errors without a test");
    assert_eq!(missing(&index, &functions), [""; 0], "errors without a line in the index");
    assert_eq!(missing(&functions, &tests), [""; 0], "tests without an error");
    let others = self::tests(&["types", "builder"]);
    let known = functions.union(&others).cloned().collect();
    assert_eq!(missing(&known, &index), [""; 0], "lines of the index without an error");
    assert_eq!(missing(&index, &others), [""; 0], "tests without a line in the index");
}

#[test]
fn syntax_error_is_reported_as_in_a_plain_item() {
    let cases = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fail/slips"), "rs");
    assert!(cases.len() > 30, "no cases found");
    for case in cases {
        let source = fs::read_to_string(&case).unwrap();
        let reported = fs::read_to_string(case.with_extension("stderr")).unwrap();
        let (own, plain) = (errors(&reported), errors(&check(&plain(&source))));
        assert!(plain > 0, "{} has no syntax error", case.display());
        // The parser describes an unfinished call at the end of a body in two ways.
        let more =
            usize::from(case.file_stem().unwrap().to_str().unwrap().starts_with("unfinished_call"));
        assert!(own <= plain + more, "{}: {own} errors instead of {plain}", case.display());
    }
}

/// Returns the source without `ai_services`.
fn plain(source: &str) -> String {
    let mut plain =
        "type Result<T> = std::result::Result<T, ()>;\nstruct SupportService;\n".to_owned();
    let is_own = |line: &str| {
        ["use ai_services", "#[ai_service]", "#[tool", "#[system_message(", "#[user_message("]
            .iter()
            .any(|start| line.trim_start().starts_with(start))
    };
    for line in source.lines().filter(|line| !is_own(line)) {
        let mut line = line.to_owned();
        for attribute in ["#[memory_id] ", "#[v] ", "#[user_message] "] {
            line = line.replace(attribute, "");
        }
        line = line.replace("#[p(\"First.\")] ", "").replace("#[p(\"Second.\")] ", "");
        plain.push_str(&line.replace("#[p(\"The text.\")] ", ""));
        plain.push('\n');
    }
    plain
}

/// Returns the messages of rustc for a source without dependencies.
fn check(source: &str) -> String {
    let mut rustc = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()))
        .args(["--edition", "2024", "--emit", "metadata", "--out-dir"])
        .arg(std::env::temp_dir())
        .arg("-")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    rustc.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    String::from_utf8(rustc.wait_with_output().unwrap().stderr).unwrap()
}

/// Returns the number of errors.
fn errors(messages: &str) -> usize {
    let is_error = |line: &&str| line.starts_with("error") && !line.starts_with("error: aborting");
    messages.lines().filter(is_error).count()
}

/// Returns the names of the functions that report an error.
fn functions() -> BTreeSet<String> {
    let errors = workspace().join("ai-services-macros/src/errors");
    let mut names = BTreeSet::new();
    for file in files(&errors, "rs") {
        let source = fs::read_to_string(file).unwrap();
        let functions = source.lines().filter_map(|line| line.strip_prefix("pub(crate) fn "));
        names.extend(functions.filter_map(|line| line.split('(').next()).map(str::to_owned));
    }
    names
}

/// Returns the names of the tests in folders of `fail`.
fn tests(folders: &[&str]) -> BTreeSet<String> {
    let fail = Path::new(env!("CARGO_MANIFEST_DIR")).join("fail");
    let files = folders.iter().flat_map(|folder| files(&fail.join(folder), "rs"));
    files.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// Returns the names in the error index, from lines of the form `` - `name`: … ``.
fn index() -> BTreeSet<String> {
    let path = workspace().join("ai-services/src/docs/errors.md");
    let source = fs::read_to_string(path).unwrap();
    let lines = source.lines().filter_map(|line| line.strip_prefix("- `"));
    lines.filter_map(|line| line.split('`').next()).map(str::to_owned).collect()
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|own| own == extension)).collect()
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

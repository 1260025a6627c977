//! Compiles the cases in `pass`, which must succeed, and in `fail`, with the expected error messages.
//!
//! Each file has one mistake and is named after the function in `ai-services-macros/src/errors` that reports it;
//! `types` and `builder` contain the mistakes that rustc reports with messages of `ai-services`, and `slips` the
//! syntax errors that rustc reports alone. After a change of a message, run `scripts/bless` and read the diff.

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing helper fails its test")]

mod compiler;
mod messages;

use compiler::Compiler;
use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

#[test]
fn valid_cases_compile_and_run() {
    let compiler = Compiler::new();
    let cases = files(&package().join("pass"), "rs");
    assert!(!cases.is_empty(), "no cases found");
    assert_all(&cases, |case| compiler.run(case));
}

#[test]
fn messages_are_as_expected() {
    let compiler = Compiler::new();
    let folders = folders(&package().join("fail"));
    let cases: Vec<_> = folders.iter().flat_map(|folder| files(folder, "rs")).collect();
    assert!(cases.len() > 100, "no cases found");
    assert_all(&cases, |case| {
        let reported = compiler.messages(case).ok_or("it compiles")?;
        let reported = messages::normalized(&reported, case, &package(), &workspace());
        let file = case.with_extension("stderr");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&file, &reported).unwrap();
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        let differs = || format!("== expected\n{expected}\n== reported\n{reported}");
        if expected == reported { Ok(()) } else { Err(differs()) }
    });
}

/// Checks all cases, on all processors, and fails with the reasons of the cases that failed.
fn assert_all(cases: &[PathBuf], check: impl Fn(&Path) -> Result<(), String> + Sync) {
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(reason) = check(case) {
                failures.lock().unwrap().push(format!("{}: {reason}", case.display()));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZeroUsize::get) {
            scope.spawn(work);
        }
    });
    let mut failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    failures.sort();
    assert!(failures.is_empty(), "{} cases failed:\n{}", failures.len(), failures.join("\n"));
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
    let cases = files(&package().join("fail/slips"), "rs");
    assert!(cases.len() > 30, "no cases found");
    assert_all(&cases, |case| {
        let source = fs::read_to_string(case).unwrap();
        let reported = fs::read_to_string(case.with_extension("stderr")).unwrap();
        let (own, plain) = (errors(&reported), errors(&compiler::check_alone(&plain(&source))));
        // The parser describes an unfinished call at the end of a body in two ways.
        let more =
            usize::from(case.file_stem().unwrap().to_str().unwrap().starts_with("unfinished_call"));
        match plain {
            0 => Err("it has no syntax error".to_owned()),
            _ if own <= plain + more => Ok(()),
            _ => Err(format!("{own} errors instead of {plain}")),
        }
    });
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
    let fail = package().join("fail");
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

/// Returns the files in a folder with an extension.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let has_extension = |path: &PathBuf| path.extension().is_some_and(|own| own == extension);
    entries(folder).into_iter().filter(has_extension).collect()
}

/// Returns a folder and the folders in it.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let inner = entries(folder).into_iter().filter(|path| path.is_dir());
    [folder.to_owned()].into_iter().chain(inner).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut entries: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn workspace() -> PathBuf {
    package().ancestors().nth(2).unwrap().to_owned()
}

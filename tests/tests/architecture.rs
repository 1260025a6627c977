//! The layout of the source: who may import whom, and how long a file may be.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails panics"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A module may import modules of smaller ranks only.
const RANKS: &[(u8, &[&str])] = &[
    (0, &["digest", "usage"]),
    (1, &["error"]),
    (2, &["document", "message", "schema", "tls"]),
    (3, &["http", "invocation", "model", "prompt"]),
    (4, &["embedding", "guardrail", "memory", "output", "providers", "tool"]),
    (5, &["combinators", "ingestion", "rag", "store", "testing"]),
    (6, &["event"]),
    (7, &["service"]),
    (8, &["private", "docs", "fuzzing"]),
    (9, &["lib"]),
];

fn rank(module: &str) -> Option<u8> {
    RANKS.iter().find(|(_, modules)| modules.contains(&module)).map(|(rank, _)| *rank)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Whether a file holds nothing but tests.
fn is_test(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().ends_with("tests.rs"))
}

/// The lines of a file before its tests.
fn code(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().take_while(|line| *line != "#[cfg(test)]").map(str::to_owned).collect()
}

/// The top-level module that a file belongs to.
fn module(source: &Path, file: &Path) -> String {
    let first = file.strip_prefix(source).unwrap().components().next().unwrap();
    first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
}

/// The top-level modules that a line of code names through `crate::`.
fn imports(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    code.split("crate::").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    })
}

#[test]
fn providers_do_not_know_each_other() {
    const OPEN: &[&str] = &["ThinkingReplay", "protocol"];
    let source = root().join("ai-services/src/providers");
    let mut seen = 0;
    for provider in ["anthropic", "cohere", "gemini", "ollama", "openai"] {
        let own = [OPEN, &[provider]].concat();
        for file in rust_files(&source.join(provider)).iter().filter(|file| !is_test(file)) {
            for line in code(file) {
                let line = line.split("//").next().unwrap_or_default().to_owned();
                for path in line.split("crate::providers::").skip(1) {
                    seen += 1;
                    let name = path.split(|c: char| !c.is_alphanumeric() && c != '_').next();
                    assert!(name.is_some_and(|name| own.contains(&name)), "{file:?}: {line}");
                }
            }
        }
    }
    assert!(seen > 20, "only {seen} imports were found");
}

#[test]
fn modules_import_smaller_ranks_only() {
    let source = root().join("ai-services/src");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for file in rust_files(&source).iter().filter(|file| !is_test(file)) {
        let own = module(&source, file);
        let own_rank = rank(&own).unwrap_or_else(|| panic!("module `{own}` has no rank"));
        for line in code(file) {
            for import in imports(&line) {
                seen += 1;
                // Names at the root of the crate are for users.
                let allowed = import == own || rank(import).is_some_and(|rank| rank < own_rank);
                if !allowed {
                    wrong.push(format!("{}: `{own}` imports `{import}`", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 100, "only {seen} imports were found");
}

#[test]
fn files_have_one_purpose() {
    let limits = [
        ("ai-services/src", 400),
        ("ai-services-macros/src", 300),
        ("ai-services-template/src", 400),
        ("examples", 250),
    ];
    let mut lengths = BTreeMap::new();
    let mut wrong = Vec::new();
    for (folder, limit) in limits {
        for file in rust_files(&root().join(folder)) {
            let lines = code(&file).len();
            if lines > limit && !is_test(&file) {
                wrong.push(format!("{}: {lines} lines; at most {limit}", file.display()));
            }
            lengths.insert(file, lines);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut sorted: Vec<_> = lengths.into_values().collect();
    sorted.sort_unstable();
    let median = sorted[sorted.len() / 2];
    assert!(median <= 150, "the median file has {median} lines");
}

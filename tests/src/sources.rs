//! The Rust sources of the workspace, for the tests of its structure and its language.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the folders of the library crates, relative to the root, sorted.
pub fn library_crates() -> Vec<String> {
    let mut folders = vec!["ai-services".to_owned(), "ai-services-macros".to_owned()];
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        folders.push(format!("crates/{}", entry.unwrap().file_name().to_str().unwrap()));
    }
    folders.sort();
    folders
}

/// Returns the files below `folder` with this extension, sorted. Build output is left out.
pub fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                found.extend(files(&path, extension));
            }
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns `true` for a file that holds only tests.
pub fn is_test_file(file: &Path) -> bool {
    let is_tests = |name: &str| name == "tests" || name.ends_with("tests.rs");
    // The folder of the checkout can have any name.
    let root = root();
    file.strip_prefix(&root)
        .unwrap_or(file)
        .components()
        .any(|part| part.as_os_str().to_str().is_some_and(is_tests))
}

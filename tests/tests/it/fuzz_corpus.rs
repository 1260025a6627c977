//! Replays the corpus of the fuzz targets through the same functions.

use ai_services::fuzzing;
use std::fs;
use std::path::{Path, PathBuf};

type Target = fn(&[u8]);

/// The targets: a file and a folder in `fuzz`, and a function in this crate.
const TARGETS: &[(&str, Target)] = &[
    ("sse", fuzzing::sse),
    ("chat_stream", fuzzing::chat_stream),
    ("responses_stream", fuzzing::responses_stream),
    #[cfg(feature = "anthropic")]
    ("anthropic_stream", fuzzing::anthropic_stream),
    #[cfg(feature = "gemini")]
    ("gemini_stream", fuzzing::gemini_stream),
    #[cfg(feature = "ollama")]
    ("ollama_stream", fuzzing::ollama_stream),
    ("output", fuzzing::output),
    ("partial", fuzzing::partial),
    ("tool_arguments", fuzzing::tool_arguments),
    ("history", fuzzing::history),
    ("record", fuzzing::record),
];

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("fuzz")
}

fn names(folder: &str) -> Vec<String> {
    let names = fs::read_dir(fuzz().join(folder)).unwrap();
    let mut names: Vec<_> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn corpus_violates_no_invariant() {
    for &(target, run) in TARGETS {
        let files = names(&format!("corpus/{target}"));
        assert!(files.len() >= 8, "{target} has {} files", files.len());
        for file in files {
            let input = fs::read(fuzz().join("corpus").join(target).join(&file)).unwrap();
            std::panic::catch_unwind(|| run(&input))
                .unwrap_or_else(|_| panic!("{target}/{file} violates an invariant"));
        }
    }
}

#[test]
fn corpus_split_in_every_size_violates_no_invariant() {
    for &(target, run) in TARGETS {
        for file in names(&format!("corpus/{target}")) {
            let mut input = fs::read(fuzz().join("corpus").join(target).join(&file)).unwrap();
            for size in 1..=64 {
                if let Some(first) = input.first_mut() {
                    *first = size;
                }
                run(&input);
            }
        }
    }
}

/// Needs all providers, because some have separate targets.
#[cfg(all(feature = "anthropic", feature = "gemini", feature = "ollama"))]
#[test]
fn every_target_is_replayed() {
    let mut targets: Vec<_> = TARGETS.iter().map(|(target, _)| *target).collect();
    targets.sort_unstable();
    assert_eq!(names("corpus"), targets);
    let files: Vec<_> = targets.iter().map(|target| format!("{target}.rs")).collect();
    assert_eq!(names("fuzz_targets"), files);
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    for target in targets {
        assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
    }
}

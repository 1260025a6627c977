//! The English of the documentation: limits on phrases that a reader has to translate.
//!
//! Summaries begin with a verb or a noun, and things are not persons. CONTRIBUTING.md has the rules and
//! examples.

use ai_services_tests::sources::{files, is_test_file, library_crates, root};
use std::fmt;
use std::fs;
use std::path::Path;

/// Words that a summary must not begin with.
const OPENINGS: &[&str] = &[
    "What", "Who", "Whoever", "Whose", "Whether", "How", "Those", "Whatever", "Of", "Nothing",
    "Nobody", "Somebody",
];

/// Phrases that turn things into persons.
const PERSONS: &[&[&str]] = &[
    &["whoever"],
    &["nobody"],
    &["somebody"],
    &["anybody"],
    &["tell"],
    &["tells"],
    &["is", "told"],
    &["are", "told"],
    &["was", "told"],
    &["is", "asked"],
    &["had", "better"],
];

const NEGATED_NOUNS: &[&[&str]] = &[&["is", "no"], &["are", "no"], &["was", "no"], &["were", "no"]];

/// Figures of a body of text.
#[derive(Default)]
struct Figures {
    summaries: usize,
    /// Summaries that begin with one of [`OPENINGS`].
    openings: Vec<String>,
    words: usize,
    what: usize,
    persons: usize,
    negated_nouns: usize,
}

impl Figures {
    fn add_summary(&mut self, place: &str, line: &str) {
        self.summaries += 1;
        let first = line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        if OPENINGS.contains(&first) {
            self.openings.push(format!("{place}: {line}"));
        }
    }

    fn add_prose(&mut self, text: &str) {
        let text = without_code(text).to_lowercase();
        let words: Vec<_> = text
            .split(|c: char| !c.is_ascii_alphabetic() && c != '\'')
            .filter(|word| !word.is_empty())
            .collect();
        let count = |phrases: &[&[&str]]| {
            let of =
                |phrase: &[&str]| words.windows(phrase.len()).filter(|at| *at == phrase).count();
            phrases.iter().map(|phrase| of(phrase)).sum::<usize>()
        };
        self.words += words.len();
        self.what += count(&[&["what"]]);
        self.persons += count(PERSONS);
        self.negated_nouns += count(NEGATED_NOUNS);
    }

    fn per_thousand(&self, count: usize) -> f64 {
        1000.0 * count as f64 / self.words.max(1) as f64
    }

    fn is_plain(&self) -> bool {
        self.openings.len() * 100 <= self.summaries
            && self.per_thousand(self.what) <= 2.0
            && self.per_thousand(self.persons) <= 0.5
            && self.per_thousand(self.negated_nouns) <= 1.0
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {} summaries begin with a question word (at most 1 %); per 1,000 words: what {:.1} \
             (2.0), persons {:.1} (0.5), is no {:.1} (1.0){}",
            self.openings.len(),
            self.summaries,
            self.per_thousand(self.what),
            self.per_thousand(self.persons),
            self.per_thousand(self.negated_nouns),
            self.openings.iter().map(|place| format!("\n  {place}")).collect::<String>(),
        )
    }
}

#[test]
fn documentation_of_every_crate_is_plain() {
    let mut violations = Vec::new();
    let mut summaries = 0;
    for folder in library_crates().iter().map(String::as_str).chain(["examples"]) {
        let mut figures = Figures::default();
        for file in files(&root().join(folder), "rs").iter().filter(|file| !is_test_file(file)) {
            add_rustdoc(&mut figures, file);
        }
        summaries += figures.summaries;
        if !figures.is_plain() {
            violations.push(format!("{folder}: {figures}"));
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    assert!(summaries > 3_000, "only {summaries} summaries were found");
}

#[test]
fn markdown_is_plain() {
    let mut figures = Figures::default();
    for file in files(&root(), "md").iter().filter(|file| !is_sample(file)) {
        let text = fs::read_to_string(file).unwrap();
        figures.add_prose(&outside_fences(text.lines()));
    }
    assert!(figures.words > 5_000, "only {} words were found", figures.words);
    assert!(figures.is_plain(), "{figures}");
}

/// Returns `true` for Markdown that is input of a test or of an example.
fn is_sample(file: &Path) -> bool {
    let relative = file.strip_prefix(root()).unwrap();
    relative.starts_with("examples/documents") || relative.starts_with("tests/tests")
}

/// Adds each block of documentation comments in a file.
fn add_rustdoc(figures: &mut Figures, file: &Path) {
    let text = fs::read_to_string(file).unwrap();
    let mut block: Vec<&str> = Vec::new();
    for (number, line) in text.lines().chain([""]).enumerate() {
        let line = line.trim();
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        match comment.filter(|comment| !comment.starts_with('/')) {
            Some(comment) => block.push(comment.strip_prefix(' ').unwrap_or(comment)),
            None if block.is_empty() => {}
            None => {
                let prose = outside_fences(block.iter().copied());
                if let Some(summary) = prose.lines().find(|line| !line.trim().is_empty()) {
                    let place = format!("{}:{}", file.display(), number + 1 - block.len());
                    figures.add_summary(&place, summary);
                    figures.add_prose(&prose);
                }
                block.clear();
            }
        }
    }
}

/// Returns the lines outside of fenced code blocks.
fn outside_fences<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut is_code = false;
    let mut prose = String::new();
    for line in lines {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    prose
}

/// Removes the text between pairs of backticks.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

#[test]
fn figures_count_each_kind_of_violation() {
    let mut figures = Figures::default();
    figures.add_summary("a", "What it does.");
    figures.add_summary("b", "Whatsoever.");
    figures.add_prose("What is told to nobody is no `what` at all. He tells it.");
    let counts = (figures.what, figures.persons, figures.negated_nouns);
    assert_eq!((figures.openings.len(), figures.summaries), (1, 2));
    assert_eq!(counts, (1, 3, 1));
}

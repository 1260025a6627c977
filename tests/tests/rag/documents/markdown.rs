//! Splitting of Markdown.

use super::{document, texts, value};
use ai_services::document::{DocumentSplitter, MarkdownSplitter, TextSegment, key};

fn split(text: &str, max: usize, overlap: usize) -> Vec<TextSegment> {
    let splitter = MarkdownSplitter::builder().max_size(max).overlap(overlap).build().unwrap();
    splitter.split(&document(text))
}

fn headings(segments: &[TextSegment]) -> Vec<Option<String>> {
    segments.iter().map(|segment| value(segment.metadata(), key::HEADING)).collect()
}

#[test]
fn segments_have_their_headings() {
    let text = "Intro.\n# A\n## B\nOne.\n### C\nTwo.\n## D\nThree.\n# E #\nFour.\n";
    let segments = split(text, 100, 10);
    assert_eq!(
        texts(&segments),
        ["Intro.", "# A\n## B\nOne.", "### C\nTwo.", "## D\nThree.", "# E #\nFour."]
    );
    let expected = [None, Some("A > B"), Some("A > B > C"), Some("A > D"), Some("E")];
    assert_eq!(headings(&segments), expected.map(|heading| heading.map(str::to_owned)));
    let index = |segment: &TextSegment| value(segment.metadata(), key::INDEX).unwrap();
    assert_eq!(segments.iter().map(index).collect::<String>(), "01234");
}

#[test]
fn long_section_is_cut_and_keeps_its_heading() {
    let text = format!("# Long\n{}\n# Short\nend", "word ".repeat(20));
    let segments = split(&text, 40, 0);
    assert_eq!(segments.len(), 4);
    assert_eq!(headings(&segments)[2].as_deref(), Some("Long"));
    assert_eq!(headings(&segments)[3].as_deref(), Some("Short"));
}

/// Every segment below the heading has a copy of it.
#[test]
fn long_heading_is_truncated() {
    let text = format!("# {}\n{}", "ä".repeat(100_000), "## Short\ntext\n".repeat(100));
    let segments = split(&text, 1_000, 0);
    let last = headings(&segments).pop().unwrap().unwrap();
    assert_eq!(last, format!("{} > Short", "ä".repeat(128)));
    assert!(segments.iter().map(|segment| segment.text().len()).sum::<usize>() > 200_000);
}

#[test]
fn code_stays_whole_if_it_fits() {
    let code = "```rust\n# not a heading\n\nfn main() {}\n```";
    let text = format!("Look at this here:\n\n{code}\n\nThat was it, really.");
    let segments = split(&text, 45, 20);
    assert!(texts(&segments).contains(&code), "{:?}", texts(&segments));
    assert_eq!(headings(&segments), vec![None; segments.len()]);
}

#[test]
fn code_that_does_not_fit_is_cut_between_lines() {
    let text = format!("~~~\n{}~~~", "let x = \"a b. C d\";\n\n".repeat(6));
    for segment in split(&text, 50, 0) {
        let first = segment.text().lines().next().unwrap();
        assert!(first == "~~~" || first.starts_with("let x"), "{first}");
        assert!(segment.text().chars().count() <= 50);
    }
}

#[test]
fn table_is_cut_between_rows() {
    let row = "| some cell. And more | other cell |\n";
    let segments = split(&format!("Before.\n\n{}After.", row.repeat(8)), 120, 0);
    assert!(segments.len() > 2);
    for segment in &segments {
        for line in segment.text().lines().filter(|line| line.contains('|')) {
            assert_eq!(line, row.trim_end());
        }
    }
}

#[test]
fn unclosed_fence_extends_to_the_end() {
    let segments = split("# A\n```\n# not B\n", 100, 0);
    assert_eq!(texts(&segments), ["# A\n```\n# not B"]);
}

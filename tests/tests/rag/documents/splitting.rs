//! Splitting of plain text.

use super::{document, texts};
use ai_services::ErrorKind;
use ai_services::document::{
    Document, DocumentSplitter, Metadata, RecursiveSplitter, TextMeasure, TextSegment, key,
};

fn split(text: &str, max: usize, overlap: usize) -> Vec<TextSegment> {
    let splitter = RecursiveSplitter::builder().max_size(max).overlap(overlap).build().unwrap();
    splitter.split(&document(text))
}

#[test]
fn short_text_is_one_segment_with_all_metadata() {
    let metadata = Metadata::new().with(key::SOURCE, "a.txt").with(key::PAGE, 3);
    let document = Document::new("  One.\n\nTwo.\n", metadata.clone());
    let segments = RecursiveSplitter::default().split(&document);
    assert_eq!(texts(&segments), ["One.\n\nTwo."]);
    assert_eq!(segments[0].metadata(), &metadata.with(key::INDEX, 0));
}

#[test]
fn blank_text_has_no_segments() {
    assert!(split("", 10, 5).is_empty());
    assert!(split(" \n\t\u{a0}\u{2003}\r\n", 1, 0).is_empty());
}

#[test]
fn larger_units_are_preferred() {
    let cases = [
        ("aa bb. cc\ndd\n\nee ff gg hh", "aa bb. cc\ndd|ee ff gg hh"),
        ("aa bb. cc\ndd ee ff gg hh", "aa bb. cc|dd ee ff gg hh"),
        ("aa bb cc. Dd ee ff gg hh", "aa bb cc.|Dd ee ff gg hh"),
        ("aa bb cc dd ee ff gg hh", "aa bb cc dd ee|ff gg hh"),
        ("aabbccddeeffgghhii", "aabbccddeeffgg|hhii"),
    ];
    for (text, expected) in cases {
        assert_eq!(texts(&split(text, 14, 0)).join("|"), expected, "{text}");
    }
}

#[test]
fn short_paragraph_is_merged_with_a_long_one() {
    let text = format!("Title\n\n{}", "word ".repeat(10));
    assert_eq!(texts(&split(&text, 30, 0))[0], "Title\n\nword word word word");
}

#[test]
fn segments_repeat_whole_sentences_or_words() {
    let text = "One is here. Two is there. Three is nowhere at all.";
    assert_eq!(
        texts(&split(text, 28, 14)),
        ["One is here. Two is there.", "Two is there. Three is", "Three is nowhere at all."]
    );
    assert_eq!(texts(&split("aa bb cc dd ee ff", 8, 4)), ["aa bb cc", "cc dd ee", "ee ff"]);
    // No word starts within the possible overlap.
    assert_eq!(texts(&split("aaaaaaaaaabbbbb", 10, 5)), ["aaaaaaaaaa", "bbbbb"]);
}

#[test]
fn combined_characters_stay_together() {
    assert_eq!(texts(&split("abcde\u{301}f", 5, 0)), ["abcd", "e\u{301}f"]);
    assert_eq!(texts(&split("ab👩\u{200d}👧cd", 4, 0)), ["ab", "👩\u{200d}👧c", "d"]);
    // The maximum is too small for them.
    assert_eq!(texts(&split("e\u{301}\u{302}", 2, 0)), ["e\u{301}", "\u{302}"]);
}

#[test]
fn size_is_counted_by_the_measure() {
    let words = TextMeasure::new(|text| text.split_whitespace().count());
    let splitter = RecursiveSplitter::builder().max_size(3).overlap(1).measure(words);
    let segments = splitter.build().unwrap().split(&document("a bb ccc dddd eeeee"));
    assert_eq!(texts(&segments), ["a bb ccc", "ccc dddd eeeee"]);
}

#[test]
fn character_larger_than_the_maximum_is_a_segment() {
    let heavy = TextMeasure::new(|text| text.len());
    let splitter = RecursiveSplitter::builder().max_size(3).overlap(0).measure(heavy);
    let segments = splitter.build().unwrap().split(&document("ab😀cd"));
    assert_eq!(texts(&segments), ["ab", "😀", "cd"]);
}

#[test]
fn invalid_sizes_are_rejected() {
    let error = RecursiveSplitter::builder().max_size(0).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    let error = RecursiveSplitter::builder().max_size(9).overlap(5).build().unwrap_err();
    assert_eq!(
        error.to_string(),
        "an `overlap` of 5 is more than half of the `max_size` 9; set it to at most 4"
    );
}

//! Properties that hold for every text.

use super::cut::{Limits, cut};
use super::{DocumentSplitter, MarkdownSplitter, TextMeasure};
use ai_services_core::document::{Document, Metadata};
use proptest::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Texts with all constructs that splitters recognise.
fn text() -> impl Strategy<Value = String> {
    const ODD: &[&str] = &[
        "\n",
        "\r\n",
        "\n\n",
        ". ",
        "! ",
        "。",
        "```\n",
        "\n~~~~\n",
        "\n| a | b |\n",
        "\n# ",
        "\n### x\n",
        "e\u{301}",
        "👩\u{200d}👧",
        "🇩🇪🇫🇷",
        "\u{a0}",
        "\u{2028}",
        "\u{c}",
        "--",
        "\u{200d}",
        "\u{feff}",
    ];
    let piece = prop_oneof![
        4 => "[a-zA-Z]{1,9}",
        4 => Just(" ".to_owned()),
        2 => prop::sample::select(ODD).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

/// A measure that is not additive: as with tokens, a part may be larger than the whole.
fn odd_measure() -> TextMeasure {
    TextMeasure::new(|text| {
        let length = text.chars().count();
        if length % 7 == 3 { length + 1 } else { length }
    })
}

fn visible(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn check(text: &str, pieces: &[Range<usize>], limits: &Limits) -> Result<(), TestCaseError> {
    let size = |range: Range<usize>| limits.measure.size(&text[range]);
    let mut before = 0..0;
    for piece in pieces {
        let shown = &text[piece.clone()];
        prop_assert!(!shown.is_empty() && shown == shown.trim());
        prop_assert!(
            size(piece.clone()) <= limits.max || shown.chars().count() == 1,
            "{:?}",
            shown
        );
        prop_assert!(piece.end > before.end, "{:?} has no new text", shown);
        prop_assert!(piece.start >= before.start);
        match text.get(before.end..piece.start) {
            Some(between) => prop_assert_eq!(visible(between), ""),
            None => prop_assert!(size(piece.start..before.end) <= limits.overlap),
        }
        before = piece.clone();
    }
    prop_assert_eq!(visible(&text[before.end..]), "");
    Ok(())
}

/// All limits that a builder accepts.
fn limits() -> impl Strategy<Value = Limits> {
    (1_usize..60, 0_usize..=100, any::<bool>()).prop_map(|(max, share, is_odd)| Limits {
        max,
        overlap: max / 2 * share / 100,
        measure: if is_odd { odd_measure() } else { TextMeasure::characters() },
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn pieces_are_complete_and_within_limits(text in text(), limits in limits()) {
        let pieces = cut(&text, 0..text.len(), &[], &limits);
        check(&text, &pieces, &limits)?;
        prop_assert_eq!(cut(&text, 0..text.len(), &[], &limits), pieces);
    }

    #[test]
    fn markdown_pieces_are_complete_and_within_limits(text in text(), limits in limits()) {
        let splitter = MarkdownSplitter(limits.clone());
        let sections = splitter.pieces(&text);
        let pieces: Vec<_> = sections.into_iter().flat_map(|(pieces, _)| pieces).collect();
        check(&text, &pieces, &limits)?;
        let document = Document::new(text.as_str(), Metadata::new());
        let segments = splitter.split(&document);
        prop_assert_eq!(segments.len(), pieces.len());
        for (segment, piece) in segments.iter().zip(pieces) {
            prop_assert_eq!(segment.text(), &text[piece]);
        }
    }

    #[test]
    fn arbitrary_text_can_be_cut(text in any::<String>(), limits in limits()) {
        check(&text, &cut(&text, 0..text.len(), &[], &limits), &limits)?;
    }
}

/// The number of bytes measured per byte of text does not depend on the length of the text.
#[test]
fn work_is_proportional_to_the_text() {
    for unit in ["A word. ", "x", " \n x", "```\n", "日本語。", "a\u{301}", "word\n\n"] {
        let measured = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&measured);
        let measure = TextMeasure::new(move |text| {
            count.fetch_add(text.len(), Ordering::Relaxed);
            text.len() / 4
        });
        let text = unit.repeat(400_000 / unit.len());
        let limits = Limits { max: 256, overlap: 128, measure };
        let pieces = cut(&text, 0..text.len(), &[], &limits);
        assert!(pieces.len() > 100);
        let share = measured.load(Ordering::Relaxed) / text.len();
        assert!(share < 64, "{unit:?}: every byte was measured {share} times");
    }
}

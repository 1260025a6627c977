//! Search for sensitive data in a text, with the treatment of overlaps.

use crate::steps;
use std::ops::Range;

/// A function that finds data of one kind: sorted ranges that do not overlap.
pub(super) type FindFn = fn(&str, &mut Vec<Range<usize>>);

/// A range of sensitive data and the index of its finder.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    pub(super) range: Range<usize>,
    pub(super) finder: usize,
}

/// Returns the byte at an index, or 0 after the end, which no finder searches for.
pub(super) fn at(bytes: &[u8], index: usize) -> u8 {
    steps::add(1);
    bytes.get(index).copied().unwrap_or(0)
}

/// Returns `true` if an ASCII letter or digit is before an index.
pub(super) fn follows_word(bytes: &[u8], index: usize) -> bool {
    index.checked_sub(1).is_some_and(|before| at(bytes, before).is_ascii_alphanumeric())
}

/// Returns `true` for a single separator within an account or card number.
pub(super) fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'-' | b'.' | b'/')
}

/// Returns `true` if a character may separate the parts of a number.
pub(super) fn may_separate(c: char) -> bool {
    matches!(c, ' ' | '-' | '.' | '/' | '(' | ')')
}

/// Returns the last character boundary at or before an index.
pub(super) fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Maximum number of passes over the remaining text. Keeps the time linear even for a malicious text in which
/// each pass creates a new match.
const MAX_PASSES: u32 = 32;

/// Finds all sensitive data in the given parts of a text.
///
/// The remaining text is searched again, because the rest of an overlapping match can be a match of its own.
pub(super) fn find_all(
    text: &str,
    parts: Vec<Range<usize>>,
    mut find: impl FnMut(&str, &mut Vec<Finding>),
) -> Vec<Finding> {
    let mut all = Vec::new();
    let mut pending: Vec<_> = parts.into_iter().map(|part| (part, 0)).collect();
    let mut found = Vec::new();
    while let Some((part, passes)) = pending.pop() {
        if passes == MAX_PASSES {
            continue;
        }
        let Some(piece) = text.get(part.clone()) else { continue };
        steps::add(piece.len());
        find(piece, &mut found);
        let joined = without_overlaps(std::mem::take(&mut found));
        let mut start = part.start;
        for Finding { range, finder } in joined {
            let range = range.start + part.start..range.end + part.start;
            pending.push((start..range.start, passes + 1));
            start = range.end;
            all.push(Finding { range, finder });
        }
        if start > part.start {
            pending.push((start..part.end, passes + 1));
        }
    }
    all.sort_by_key(|found| found.range.start);
    all
}

/// Merges overlapping findings. The longest one determines the finder; among equally long ones, the first
/// finder wins.
fn without_overlaps(mut found: Vec<Finding>) -> Vec<Finding> {
    found.retain(|found| !found.range.is_empty());
    found.sort_by_key(|found| (found.range.start, found.finder));
    let mut joined: Vec<Finding> = Vec::with_capacity(found.len());
    let mut longest = 0;
    for found in found {
        let length = found.range.len();
        match joined.last_mut() {
            Some(last) if found.range.start < last.range.end => {
                last.range.end = last.range.end.max(found.range.end);
                if (length, last.finder) > (longest, found.finder) {
                    last.finder = found.finder;
                    longest = length;
                }
            }
            _ => {
                longest = length;
                joined.push(found);
            }
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(range: Range<usize>, finder: usize) -> Finding {
        Finding { range, finder }
    }

    #[test]
    fn overlaps_are_merged_into_the_longest() {
        let overlapping = vec![found(4..9, 0), found(0..5, 1), found(8..20, 2), found(20..21, 3)];
        assert_eq!(without_overlaps(overlapping), [found(0..20, 2), found(20..21, 3)]);
    }

    #[test]
    fn first_finder_wins_among_equals() {
        assert_eq!(without_overlaps(vec![found(0..5, 2), found(0..5, 1)]), [found(0..5, 1)]);
        assert_eq!(without_overlaps(vec![found(0..5, 2), found(3..8, 1)]), [found(0..8, 1)]);
        assert_eq!(without_overlaps(vec![found(0..5, 1), found(3..8, 2)]), [found(0..8, 1)]);
    }

    #[test]
    fn number_of_passes_is_limited() {
        // Finds only the last match.
        let mut searched = 0;
        let find = |text: &str, all: &mut Vec<Finding>| {
            searched += text.len();
            if let Some(start) = text.rfind('x') {
                all.push(found(start..start + 1, 0));
            }
        };
        let text = "x".repeat(10_000);
        assert_eq!(find_all(&text, vec![0..text.len(); 1], find).len(), 32);
        assert!(searched <= 32 * text.len());
    }

    #[test]
    fn remaining_text_is_searched_again() {
        // Finds only the first match.
        let find = |text: &str, all: &mut Vec<Finding>| {
            if let Some(start) = text.find('x') {
                all.push(found(start..start + 1, 0));
            }
        };
        let parts = vec![0..3, 5..8];
        let starts: Vec<usize> =
            find_all("axx-xaxx", parts, find).iter().map(|found| found.range.start).collect();
        assert_eq!(starts, [1, 2, 6, 7]);
    }
}

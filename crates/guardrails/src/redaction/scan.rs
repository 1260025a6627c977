//! Finding everything in a text, and what to do where it overlaps.

use std::ops::Range;

/// Finds what is of one kind: ranges in order that do not overlap.
pub(super) type Find = fn(&str, &mut Vec<Range<usize>>);

/// Something that was found, and by which finder.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) range: Range<usize>,
    pub(super) finder: usize,
}

/// The byte at an index; 0 behind the end, which no finder is looking for.
pub(super) fn at(bytes: &[u8], index: usize) -> u8 {
    bytes.get(index).copied().unwrap_or(0)
}

/// Whether a character of the ASCII words stands before an index.
pub(super) fn follows_word(bytes: &[u8], index: usize) -> bool {
    index.checked_sub(1).is_some_and(|before| at(bytes, before).is_ascii_alphanumeric())
}

/// The length of a single separator within a number: a blank or a hyphen, also one at which lines do not
/// break; 0 if there is none.
pub(super) fn separator(bytes: &[u8], index: usize) -> usize {
    match bytes.get(index..).unwrap_or_default() {
        [b' ' | b'-', ..] => 1,
        // U+00A0.
        [0xC2, 0xA0, ..] => 2,
        // U+2009, U+2011, U+2013, U+202F.
        [0xE2, 0x80, 0x89 | 0x91 | 0x93 | 0xAF, ..] => 3,
        _ => 0,
    }
}

/// Whether a character may stand between the parts of something that is found: a [`separator`], or what
/// stands between the groups of a telephone number.
pub(super) fn may_separate(c: char) -> bool {
    matches!(c, ' ' | '-' | '.' | '/' | '(' | ')')
        || matches!(c, '\u{A0}' | '\u{2009}' | '\u{2011}' | '\u{2013}' | '\u{202F}')
}

/// Where a character begins, here or before.
pub(super) fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// How often what remains is looked through at most, so that the time is linear in the length of the text
/// even if somebody wrote it such that each time one thing becomes whole.
const MOST_LOOKS: u32 = 32;

/// Finds everything in the parts of a text that are given, so that nothing is left in what remains.
///
/// What remains is looked through again, because something may be whole now that was part of something
/// larger.
pub(super) fn everything(
    text: &str,
    parts: Vec<Range<usize>>,
    mut find: impl FnMut(&str, &mut Vec<Found>),
) -> Vec<Found> {
    let mut all = Vec::new();
    let mut open: Vec<_> = parts.into_iter().map(|part| (part, 0)).collect();
    let mut found = Vec::new();
    while let Some((part, looks)) = open.pop() {
        if looks == MOST_LOOKS {
            continue;
        }
        let Some(piece) = text.get(part.clone()) else { continue };
        find(piece, &mut found);
        let joined = without_overlaps(std::mem::take(&mut found));
        let mut start = part.start;
        for Found { range, finder } in joined {
            let range = range.start + part.start..range.end + part.start;
            open.push((start..range.start, looks + 1));
            start = range.end;
            all.push(Found { range, finder });
        }
        if start > part.start {
            open.push((start..part.end, looks + 1));
        }
    }
    all.sort_by_key(|found| found.range.start);
    all
}

/// Joins what overlaps: of it, nothing is left. The longest gives the kind, and of equally long ones the
/// first finder.
fn without_overlaps(mut found: Vec<Found>) -> Vec<Found> {
    found.retain(|found| !found.range.is_empty());
    found.sort_by_key(|found| (found.range.start, found.finder));
    let mut joined: Vec<Found> = Vec::with_capacity(found.len());
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

    fn found(range: Range<usize>, finder: usize) -> Found {
        Found { range, finder }
    }

    #[test]
    fn overlaps_become_one_of_the_longest() {
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
    fn rest_is_not_looked_through_for_ever() {
        // Finds only the last of its kind.
        let mut looks = 0;
        let find = |text: &str, all: &mut Vec<Found>| {
            looks += text.len();
            if let Some(start) = text.rfind('x') {
                all.push(found(start..start + 1, 0));
            }
        };
        let text = "x".repeat(10_000);
        assert_eq!(everything(&text, vec![0..text.len(); 1], find).len(), 32);
        assert!(looks <= 32 * text.len());
    }

    #[test]
    fn rest_is_looked_through_again() {
        // Finds only the first of its kind.
        let find = |text: &str, all: &mut Vec<Found>| {
            if let Some(start) = text.find('x') {
                all.push(found(start..start + 1, 0));
            }
        };
        let parts = vec![0..3, 5..8];
        let starts: Vec<usize> =
            everything("axx-xaxx", parts, find).iter().map(|found| found.range.start).collect();
        assert_eq!(starts, [1, 2, 6, 7]);
    }
}

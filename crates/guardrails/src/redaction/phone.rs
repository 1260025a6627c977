//! Telephone numbers.

use super::scan::{at, may_separate};
use crate::steps;
use std::ops::Range;

/// A run of digits.
#[derive(Clone, Copy, Debug)]
struct Group {
    start: usize,
    end: usize,
    /// The separator before the group.
    before: Before,
}

/// The separator before a group.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Before {
    /// No separator of a telephone number.
    Nothing,
    /// A separator with a blank or a parenthesis. A number may start after it.
    Blank,
    /// Any other separator.
    Sign,
}

/// Maximum number of groups of a number. More groups are a table.
const MAX_GROUPS: usize = 8;
/// Maximum length of the separator between two groups, in bytes: `) - `.
pub(super) const MAX_BETWEEN: usize = 4;

/// Finds telephone numbers.
pub(super) fn phones(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut groups = Vec::new();
    let mut from = 0;
    while let Some(group) = next_group(bytes, from, groups.is_empty()) {
        if group.before == Before::Nothing {
            numbers(bytes, &groups, found);
            groups.clear();
        }
        groups.push(group);
        from = group.end;
    }
    numbers(bytes, &groups, found);
}

/// Returns the next run of digits at or after an index.
fn next_group(bytes: &[u8], from: usize, is_first: bool) -> Option<Group> {
    let start = from + bytes.iter().skip(from).position(u8::is_ascii_digit)?;
    let length = bytes.iter().skip(start).take_while(|b| b.is_ascii_digit()).count();
    steps::add(start + length - from);
    let between = bytes.get(from..start).unwrap_or_default();
    let before = if is_first { Before::Nothing } else { before(between) };
    Some(Group { start, end: start + length, before })
}

/// Returns the kind of a separator.
fn before(between: &[u8]) -> Before {
    let is_separator = |b: &u8| may_separate(char::from(*b));
    let is_number =
        !between.is_empty() && between.len() <= MAX_BETWEEN && between.iter().all(is_separator);
    if !is_number {
        return Before::Nothing;
    }
    let is_blank = between.iter().any(|b| matches!(b, b' ' | b'('));
    if is_blank { Before::Blank } else { Before::Sign }
}

/// Finds the numbers in consecutive groups.
fn numbers(bytes: &[u8], groups: &[Group], found: &mut Vec<Range<usize>>) {
    let mut rest = groups;
    let mut follows_number = false;
    while let Some((first, others)) = rest.split_first() {
        let window = rest.get(..MAX_GROUPS).unwrap_or(rest);
        // A group after a number is treated as the first one, because the number will be replaced.
        let before = if follows_number { Before::Nothing } else { first.before };
        let number = number(bytes, window, &Group { before, ..*first });
        follows_number = number.is_some();
        rest = match number {
            Some((range, count)) => {
                found.push(range);
                rest.get(count..).unwrap_or_default()
            }
            None => others,
        };
    }
}

/// Returns the longest number that starts with the first of these groups, and its number of groups.
fn number(bytes: &[u8], groups: &[Group], first: &Group) -> Option<(Range<usize>, usize)> {
    let previous = first.start.checked_sub(1).map_or(b' ', |index| at(bytes, index));
    let is_plus = previous == b'+';
    let follows = previous.is_ascii_alphanumeric() || previous == b'_';
    if follows || (!is_plus && first.before == Before::Sign) {
        return None;
    }
    let count = (1..=groups.len()).rev().find(|count| {
        let groups = groups.get(..*count).unwrap_or_default();
        ends_at_word_boundary(bytes, groups) && is_number(bytes, groups, is_plus)
    })?;
    let end = groups.get(count - 1)?.end;
    steps::add(end - first.start);
    let is_closed = || bytes.get(first.start..end).is_some_and(|number| number.contains(&b')'));
    let sign = is_plus || (previous == b'(' && is_closed());
    Some((first.start - usize::from(sign)..end, count))
}

/// Returns `true` if the groups are not followed by the rest of a larger word.
fn ends_at_word_boundary(bytes: &[u8], groups: &[Group]) -> bool {
    let Some(end) = groups.last().map(|group| group.end) else { return false };
    match at(bytes, end) {
        b'-' => !at(bytes, end + 1).is_ascii_alphabetic(),
        next => !next.is_ascii_alphanumeric() && next != b'_',
    }
}

/// Returns `true` if the groups have the format of a telephone number.
fn is_number(bytes: &[u8], groups: &[Group], is_plus: bool) -> bool {
    steps::add(groups.len());
    let mut lengths = [0; MAX_GROUPS];
    for (length, group) in lengths.iter_mut().zip(groups) {
        *length = group.end - group.start;
    }
    let lengths = lengths.get(..groups.len()).unwrap_or_default();
    let count: usize = lengths.iter().sum();
    let digit = |index| digit(bytes, groups, index);
    // E.164 allows at most 15 digits; `00` replaces the plus sign.
    if is_plus {
        return (8..=15).contains(&count) && digit(0) != b'0';
    }
    // Area codes and exchanges of the North American plan do not start with 0 or 1.
    let is_american = |area| digit(area) > b'1' && digit(area + 3) > b'1';
    match (digit(0), digit(1), lengths) {
        (b'0', b'0', _) => (10..=17).contains(&count) && digit(2) != b'0',
        (b'0', _, [first, ..]) if *first > 1 => {
            (9..=12).contains(&count) && !is_date(bytes, groups) && !is_postal_code(bytes, groups)
        }
        (_, _, [3, 3, 4]) => is_american(0),
        (b'1', _, [1, 3, 3, 4]) => is_american(1),
        (b'1', b'3'..=b'9', [11] | [3, 4, 4]) => true,
        _ => false,
    }
}

/// Returns the digit of a number at an index, or 0 after the end.
fn digit(bytes: &[u8], groups: &[Group], index: usize) -> u8 {
    let mut digits = groups.iter().flat_map(|group| group.start..group.end);
    digits.nth(index).map_or(0, |index| at(bytes, index))
}

/// Returns `true` if the groups start with a day, a month and a year.
fn is_date(bytes: &[u8], groups: &[Group]) -> bool {
    let [day, month, year, ..] = groups else { return false };
    let length = |group: &Group| group.end - group.start;
    length(day) == 2
        && length(month) == 2
        && length(year) == 4
        && matches!((at(bytes, year.start), at(bytes, year.start + 1)), (b'1', b'9') | (b'2', b'0'))
}

/// Returns `true` if the groups start with an American postal code, for example `02110-1301`.
fn is_postal_code(bytes: &[u8], groups: &[Group]) -> bool {
    let [area, rest, others @ ..] = groups else { return false };
    area.end - area.start == 5
        && rest.end - rest.start == 4
        && bytes.get(area.end..rest.start) == Some(b"-")
        && others.first().is_none_or(|next| next.before == Before::Blank)
}

#[cfg(test)]
mod tests {
    use super::super::tests::all;
    use super::*;

    #[test]
    fn numbers_are_found() {
        for text in [
            "+49 30 1234567",
            "+49 (0)30 / 123 45-67",
            "+1 202-555-0123",
            "+442079460958",
            "+86 138 0013 8000",
            "0049 30 1234567",
            "030 1234567",
            "(030) 12 34 56 78",
            "030/1234567",
            "0171-1234567",
            "01711234567",
            "06 12 34 56 78",
            "06.12.34.56.78",
            "020 7946 0958",
            "(202) 555-0123",
            "202-555-0123",
            "202.555.0123",
            "1-202-555-0123",
            "13800138000",
            "138 0013 8000",
            "02110/1301",
            "06221 1234",
        ] {
            assert_eq!(all(phones, text), [text]);
            assert_eq!(all(phones, &format!("tel:{text}, bitte.")), [text]);
            assert_eq!(all(phones, &format!("Zimmer 12 {text}\n7")), [text]);
        }
    }

    #[test]
    fn number_after_a_number_is_found() {
        let numbers = ["030/1234567", "0171-1234567", "13800138000"];
        for sign in ["/", "-", ".", ") - "] {
            assert_eq!(all(phones, &numbers.join(sign)), numbers, "{sign}");
        }
    }

    #[test]
    fn american_postal_codes_are_ignored() {
        for text in ["02110-1301", "Boston, MA 02110-1301, USA", "02110-1301 617"] {
            assert!(all(phones, text).is_empty(), "{text}: {:?}", all(phones, text));
        }
        assert_eq!(all(phones, "MA 02110-1301 617-555-0123"), ["617-555-0123"]);
        assert_eq!(all(phones, "02110-1301-22"), ["02110-1301-22"]);
    }

    #[test]
    fn other_numbers_are_ignored() {
        for text in [
            "01.02.2026",
            "01.02.2026 10 Uhr",
            "2026-01-02",
            "0.123456789012",
            "1,234,567,890",
            "10 000 000 000",
            "1760000000",
            "1760000000000",
            "555-0123",
            "12345678-1234-1234-1234-012345678901",
            "a0301234567",
            "0301234567a",
            "+1234567",
            "+1234567890123456",
            "123-456-7890",
            "192.168.100.200",
            "000 000 000 000",
            "030\n1234567",
        ] {
            assert!(all(phones, text).is_empty(), "{text}: {:?}", all(phones, text));
        }
    }
}

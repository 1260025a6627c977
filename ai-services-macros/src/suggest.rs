//! Suggestions for misspelled names.

/// Returns the candidate closest to `name`, if it is close enough to be a misspelling.
///
/// Uses the rule of rustc: at most a third of the letters differ.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the Levenshtein distance in letters; ignores case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.to_lowercase().chars().enumerate() {
        // The cell to the left, and the one above it.
        let mut left = i + 1;
        let mut above_left = i;
        for (cell, other) in row.iter_mut().skip(1).zip(&b) {
            let substituted = above_left + usize::from(letter != *other);
            above_left = *cell;
            left = substituted.min(left + 1).min(*cell + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("Same", "same"), 0);
    }

    #[test]
    fn nearest_is_within_a_third() {
        assert_eq!(nearest("citty", ["text", "city"]), Some("city"));
        assert_eq!(nearest("tongue", ["text", "city"]), None);
        assert_eq!(nearest("a", ["b", "bc"]), Some("b"));
        assert_eq!(nearest("x", []), None);
    }
}

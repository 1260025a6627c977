//! Reading which of some numbered options a model chose.

use std::collections::BTreeSet;

/// Words that say nothing about which option is meant.
const FILLERS: &[&str] = &[
    "the", "a", "answer", "answers", "choice", "choices", "option", "options", "place", "places",
    "source", "sources", "number", "numbers", "is", "are", "my",
];

/// The options that an answer names, counted from 1 to `options`; `None` if it is not clear which.
///
/// An answer is numbers, separated by commas or by "and". Around them may stand marks and words that could
/// be left out: "Options 1 and 3." is as clear as "1, 3". Any other word makes it unclear, because it may
/// turn the meaning around: "not 2".
pub(super) fn chosen(answer: &str, options: usize) -> Option<BTreeSet<usize>> {
    let mut chosen = BTreeSet::new();
    let mut rest = answer;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        let (digits, after) = from.split_at(end);
        let is_part_of_a_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '-')
            || after.starts_with(char::is_alphanumeric);
        let is_clear = if chosen.is_empty() { is_filler(before) } else { is_separator(before) };
        if is_part_of_a_word || !is_clear {
            return None;
        }
        chosen.insert(digits.parse().ok().filter(|number| (1..=options).contains(number))?);
        rest = after;
    }
    (!chosen.is_empty() && is_filler(rest)).then_some(chosen)
}

/// Whether a text between two numbers says that both are meant. "2.5" and "1-3" do not.
fn is_separator(text: &str) -> bool {
    // Marks that belong to the numbers: "**1**, **3**", "[1] and [3]".
    let is_mark = |c: char| c.is_whitespace() || "*_`\"'()[]".contains(c);
    let text = text.trim_matches(is_mark).to_ascii_lowercase();
    matches!(text.as_str(), "," | ";" | "and" | "&" | ", and")
}

/// Whether a text has no words but those that could be left out.
fn is_filler(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.all(|word| FILLERS.iter().any(|filler| filler.eq_ignore_ascii_case(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn clear_answers_are_read() {
        for (answer, expected) in [
            ("2", vec![2]),
            (" 2\n", vec![2]),
            ("1, 2", vec![1, 2]),
            ("3,1,3", vec![1, 3]),
            ("**2**.", vec![2]),
            ("\"1\"", vec![1]),
            ("[1, 3]", vec![1, 3]),
            ("Option 2", vec![2]),
            ("The answer is: 1, 2, and 3.", vec![1, 2, 3]),
            ("Sources 1 and 3", vec![1, 3]),
            ("002", vec![2]),
            ("**1**, **3**", vec![1, 3]),
            ("[1], [3]", vec![1, 3]),
            ("(1); (2) and `3`", vec![1, 2, 3]),
        ] {
            assert_eq!(chosen(answer, 3), Some(expected.into_iter().collect()), "{answer}");
        }
    }

    #[test]
    fn unclear_answers_are_not_guessed() {
        for answer in [
            "",
            "none",
            "Sorry, I don't know",
            "4",
            "0",
            "1, 4",
            "-1",
            "2.5",
            "1-3",
            "1 2",
            "1/2",
            "not 2",
            "2, but not 1",
            "of 3 options, 1",
            "v2",
            "2nd",
            "1e1",
            "99999999999999999999",
            "2: dogs",
            "1 or 2",
            "²",
            "1, 2 or maybe 3",
            "1'000",
            "1 (2)",
            "1*3",
        ] {
            assert_eq!(chosen(answer, 3), None, "{answer}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_an_option(answer in "[0-9a-z ,.;&-]{0,12}|.{0,12}", options in 0_usize..5) {
            for number in chosen(&answer, options).into_iter().flatten() {
                prop_assert!((1..=options).contains(&number));
            }
        }

        #[test]
        fn lists_of_numbers_are_read(numbers in proptest::collection::btree_set(1_usize..20, 1..6)) {
            let answer = numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            prop_assert_eq!(chosen(&answer, 20), Some(numbers));
        }
    }
}

//! Parsing a model's choice among numbered options.

use std::collections::BTreeSet;

/// Filler words, which do not change the choice.
const FILLERS: &[&str] = &[
    "the", "a", "answer", "answers", "choice", "choices", "option", "options", "place", "places",
    "source", "sources", "number", "numbers", "is", "are", "my",
];

/// Parses the options that an answer names, from 1 to `options`. Returns `None` if the answer is ambiguous.
///
/// An answer is a list of numbers, separated by commas or "and". Punctuation and filler words around the
/// numbers are ignored: "Options 1 and 3." is as clear as "1, 3". Any other word makes the answer ambiguous,
/// because it may invert the meaning: "not 2".
pub(super) fn parse_choice(answer: &str, options: usize) -> Option<BTreeSet<usize>> {
    let mut choice = BTreeSet::new();
    let mut rest = answer;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        let (digits, after) = from.split_at(end);
        let is_part_of_a_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '-')
            || after.starts_with(char::is_alphanumeric);
        let is_clear = if choice.is_empty() { is_filler(before) } else { is_separator(before) };
        if is_part_of_a_word || !is_clear {
            return None;
        }
        choice.insert(digits.parse().ok().filter(|number| (1..=options).contains(number))?);
        rest = after;
    }
    (!choice.is_empty() && is_filler(rest)).then_some(choice)
}

/// Returns whether a text between two numbers means "and". The text in "2.5" or "1-3" does not.
fn is_separator(text: &str) -> bool {
    // Punctuation around the numbers: "**1**, **3**", "[1] and [3]".
    let is_mark = |c: char| c.is_whitespace() || "*_`\"'()[]".contains(c);
    let text = text.trim_matches(is_mark).to_ascii_lowercase();
    matches!(text.as_str(), "," | ";" | "and" | "&" | ", and")
}

/// Returns whether a text consists of filler words.
fn is_filler(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.all(|word| FILLERS.iter().any(|filler| filler.eq_ignore_ascii_case(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn clear_answers_are_parsed() {
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
            assert_eq!(parse_choice(answer, 3), Some(expected.into_iter().collect()), "{answer}");
        }
    }

    #[test]
    fn ambiguous_answers_are_rejected() {
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
            assert_eq!(parse_choice(answer, 3), None, "{answer}");
        }
    }

    proptest! {
        #[test]
        fn parsed_numbers_are_options(answer in "[0-9a-z ,.;&-]{0,12}|.{0,12}", options in 0_usize..5) {
            for number in parse_choice(&answer, options).into_iter().flatten() {
                prop_assert!((1..=options).contains(&number));
            }
        }

        #[test]
        fn lists_of_numbers_are_parsed(numbers in proptest::collection::btree_set(1_usize..20, 1..6)) {
            let answer = numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            prop_assert_eq!(parse_choice(&answer, 20), Some(numbers));
        }
    }
}

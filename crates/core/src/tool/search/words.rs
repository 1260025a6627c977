//! Words of names and sentences, reduced to their stems.

/// Words that say nothing about a task.
const STOP_WORDS: [&str; 52] = [
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "does",
    "for", "from", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my",
    "need", "of", "on", "or", "our", "please", "so", "some", "that", "the", "their", "this", "to",
    "us", "want", "was", "we", "what", "which", "will", "with", "would", "you", "your",
];

/// Returns the stems of the words of a text, without stop words. A name such as `get_userName` is several words.
pub(super) fn stems(text: &str) -> impl Iterator<Item = String> + '_ {
    let parts = text.split(|letter: char| !letter.is_alphanumeric());
    parts.flat_map(camel_case).filter_map(|word| {
        let word = word.to_lowercase();
        (!word.is_empty() && !STOP_WORDS.contains(&word.as_str())).then(|| stem(&word))
    })
}

/// Splits a word before each upper-case letter that follows a lower-case one.
fn camel_case(word: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut was_lower) = (0, false);
    for (at, letter) in word.char_indices() {
        if was_lower && letter.is_uppercase() {
            words.extend(word.get(start..at));
            start = at;
        }
        was_lower = letter.is_lowercase();
    }
    words.extend(word.get(start..));
    words
}

/// Removes the usual endings of English words, so that `converts`, `converting` and `conversion` are close to `convert`.
fn stem(word: &str) -> String {
    const ENDINGS: [(&str, &str); 19] = [
        ("ations", ""),
        ("ation", ""),
        ("ings", ""),
        ("ing", ""),
        ("ies", "y"),
        ("ied", "y"),
        ("ions", ""),
        ("ion", ""),
        ("ments", ""),
        ("ment", ""),
        ("sses", "ss"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("xes", "x"),
        ("ers", ""),
        ("er", ""),
        ("ed", ""),
        ("ss", "ss"),
        ("s", ""),
    ];
    let mut stem = word.to_owned();
    for (ending, replacement) in ENDINGS {
        if let Some(rest) = word.strip_suffix(ending)
            && rest.chars().count() >= 3
        {
            stem = format!("{rest}{replacement}");
            break;
        }
    }
    // `stopping` is `stop`, `taking` is `take`.
    let mut letters = stem.chars().rev();
    if let (Some(last), Some(before)) = (letters.next(), letters.next())
        && stem.len() > 3
        && (last == 'e' || (last == before && !matches!(last, 's' | 'l')))
    {
        stem.pop();
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            &["convert", "converts", "converting", "converted", "converter"][..],
            &["stop", "stops", "stopping", "stopped"],
            &["schedule", "schedules", "scheduling", "scheduled"],
            &["city", "cities"],
            &["box", "boxes"],
            &["translate", "translation", "translating"],
        ] {
            let stems: Vec<String> = forms.iter().map(|form| stem(form)).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{stems:?}");
        }
    }

    #[test]
    fn names_are_split() {
        let words: Vec<String> = stems("get_userName-2 of the HTTP").collect();
        assert_eq!(words, ["get", "us", "nam", "2", "http"]);
    }
}

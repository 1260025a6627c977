//! Words of names and sentences, reduced to their stems.

/// Words that say nothing about a task.
const STOP_WORDS: [&str; 88] = [
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been",
    "being", "by", "can", "could", "did", "do", "does", "done", "for", "from", "has", "have", "he",
    "her", "here", "his", "how", "i", "if", "im", "in", "into", "is", "it", "its", "just", "many",
    "may", "me", "might", "more", "much", "must", "my", "need", "no", "not", "now", "of", "on",
    "or", "our", "please", "she", "should", "so", "some", "than", "that", "the", "their", "them",
    "then", "there", "they", "this", "to", "too", "us", "want", "was", "we", "were", "what",
    "when", "where", "which", "who", "whom", "will", "with", "would", "yet", "you", "your",
];

/// Words that interfaces use for one thing. A tool is found by any word of a group.
const SYNONYMS: [&[&str]; 21] = [
    &["add", "create", "make", "new"],
    &["answer", "reply", "respond"],
    &["buy", "order", "purchase"],
    &["calculate", "compute"],
    &["cancel", "abort"],
    &["change", "edit", "modify", "update"],
    &["delete", "erase", "remove"],
    &["find", "lookup", "search"],
    &["image", "photo", "picture"],
    &["list", "show", "view"],
    &["email", "mail"],
    &["movie", "film"],
    &["move", "reschedule"],
    &["message", "text"],
    &["start", "launch", "run"],
    &["stop", "end", "halt"],
    &["begin", "open"],
    &["book", "reserve"],
    &["meeting", "appointment", "event"],
    &["cost", "price"],
    &["error", "exception", "failure"],
];

/// Returns the stems of the synonyms of words, given by their stems.
pub(super) fn synonyms(words: &[String]) -> Vec<String> {
    let mut synonyms = Vec::new();
    for group in SYNONYMS {
        let group: Vec<String> = group.iter().map(|word| stem(word)).collect();
        if group.iter().any(|word| words.contains(word)) {
            synonyms.extend(group.into_iter().filter(|word| !words.contains(word)));
        }
    }
    synonyms.sort_unstable();
    synonyms.dedup();
    synonyms
}

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
    // `translate` and `translating` are `transl`, as `translation` is.
    match stem.strip_suffix("at") {
        Some(rest) if rest.chars().count() >= 3 => rest.to_owned(),
        _ => stem,
    }
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
        assert_eq!(words, ["get", "user", "nam", "2", "http"]);
    }
}

//! A simple tokenizer.

/// Words without information about the topic of a text.
const STOP_WORDS: [&str; 48] = [
    "a", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from",
    "has", "have", "how", "i", "if", "in", "into", "is", "it", "may", "me", "much", "my", "not",
    "of", "on", "or", "that", "the", "their", "there", "they", "this", "to", "was", "we", "what",
    "when", "where", "which", "who", "with", "you", "your",
];

/// Returns the words of a text in lower case, without stop words and without common endings.
pub(crate) fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let found = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    found.filter(|word| !STOP_WORDS.contains(word)).map(|word| stem(word).to_owned()).collect()
}

fn stem(word: &str) -> &str {
    for ending in ["ies", "ing", "ed", "es", "s", "e", "y"] {
        if let Some(rest) = word.strip_suffix(ending)
            && rest.chars().count() >= 3
        {
            return rest;
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_have_one_stem() {
        assert_eq!(words("Battery, batteries"), ["batter", "batter"]);
        assert_eq!(words("How do I charge it?"), words("charging"));
        assert_eq!(words("E21 HC-3115"), ["e21", "hc", "3115"]);
    }
}

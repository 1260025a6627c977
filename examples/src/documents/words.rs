//! Words, as simple as can be.

/// Words that say nothing of what a text is about.
const STOP: [&str; 48] = [
    "a", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from",
    "has", "have", "how", "i", "if", "in", "into", "is", "it", "may", "me", "much", "my", "not",
    "of", "on", "or", "that", "the", "their", "there", "they", "this", "to", "was", "we", "what",
    "when", "where", "which", "who", "with", "you", "your",
];

/// The words of a text in small letters, with common ones left out and the plainest endings cut off.
pub(crate) fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let found = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    found.filter(|word| !STOP.contains(word)).map(|word| stem(word).to_owned()).collect()
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
    fn forms_of_a_word_are_one() {
        assert_eq!(words("Battery, batteries"), ["batter", "batter"]);
        assert_eq!(words("How do I charge it?"), words("charging"));
        assert_eq!(words("E21 HC-3115"), ["e21", "hc", "3115"]);
    }
}

//! What a tool tells a model of what was found.

/// The most that is told at a time, in bytes. A service fails by default if a tool returns more than 256 KiB, which
/// a long document or a hostile page should not be able to bring about.
const MAX_BYTES: usize = 192 << 10;

/// The parts with empty lines between them. The one that does not fit is cut off, and how many came after it is said
/// in the end.
pub(super) fn told(parts: impl IntoIterator<Item = String>) -> String {
    let mut parts = parts.into_iter();
    let Some(mut told) = parts.next() else { return "nothing was found".to_owned() };
    while told.len() <= MAX_BYTES {
        let Some(part) = parts.next() else { return told };
        told.push_str("\n\n");
        told.push_str(&part);
    }
    told.truncate(start(&told, MAX_BYTES).len());
    told.push('…');
    match parts.count() {
        0 => told,
        left_out => format!("{told}\n\n({left_out} more found, left out because it is too much)"),
    }
}

/// As many whole characters as go into `max` bytes.
pub(super) fn start(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_told_if_it_fits() {
        let parts = |texts: &[&str]| told(texts.iter().map(|text| (*text).to_owned()));
        assert_eq!(parts(&[]), "nothing was found");
        assert_eq!(parts(&["a", "b\nc"]), "a\n\nb\nc");
        let full = "x".repeat(MAX_BYTES - 3);
        assert_eq!(parts(&[&full, "y"]), format!("{full}\n\ny"));
    }

    #[test]
    fn what_is_too_much_is_cut_off_and_counted() {
        let told = told(["é".repeat(MAX_BYTES), "b".to_owned(), "c".to_owned()]);
        let (text, rest) = told.split_once('…').unwrap();
        assert_eq!(text.len(), MAX_BYTES);
        assert_eq!(rest, "\n\n(2 more found, left out because it is too much)");
    }

    #[test]
    fn last_part_is_cut_between_characters() {
        let told = told(["x".repeat(MAX_BYTES - 3), "éé".to_owned()]);
        assert!(told.ends_with("x\n\n…"), "the first byte of a character is no character");
    }
}

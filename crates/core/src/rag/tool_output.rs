//! Text of search results in the output of a tool.

/// Size limit of the output, in bytes. By default, a service fails if a tool returns more than 256 KiB; a
/// long document or a hostile page must not be able to cause that.
const MAX_BYTES: usize = 192 << 10;

/// Joins the parts with empty lines between them. At the size limit, the current part is truncated, and a
/// last line states how many parts follow.
pub(super) fn join_parts(parts: impl IntoIterator<Item = String>) -> String {
    let mut parts = parts.into_iter();
    let Some(mut joined) = parts.next() else { return "nothing was found".to_owned() };
    while joined.len() <= MAX_BYTES {
        let Some(part) = parts.next() else { return joined };
        joined.push_str("\n\n");
        joined.push_str(&part);
    }
    joined.truncate(prefix(&joined, MAX_BYTES).len());
    joined.push('…');
    match parts.count() {
        0 => joined,
        left_out => format!("{joined}\n\n({left_out} more found, left out because it is too much)"),
    }
}

/// Returns the longest prefix of at most `max` bytes that ends at a character boundary.
pub(super) fn prefix(text: &str, max: usize) -> &str {
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
    fn all_parts_are_kept_if_they_fit() {
        let join = |texts: &[&str]| join_parts(texts.iter().map(|text| (*text).to_owned()));
        assert_eq!(join(&[]), "nothing was found");
        assert_eq!(join(&["a", "b\nc"]), "a\n\nb\nc");
        let full = "x".repeat(MAX_BYTES - 3);
        assert_eq!(join(&[&full, "y"]), format!("{full}\n\ny"));
    }

    #[test]
    fn excess_parts_are_truncated_and_counted() {
        let joined = join_parts(["é".repeat(MAX_BYTES), "b".to_owned(), "c".to_owned()]);
        let (text, rest) = joined.split_once('…').unwrap();
        assert_eq!(text.len(), MAX_BYTES);
        assert_eq!(rest, "\n\n(2 more found, left out because it is too much)");
    }

    #[test]
    fn last_part_is_truncated_between_characters() {
        let joined = join_parts(["x".repeat(MAX_BYTES - 3), "éé".to_owned()]);
        assert!(joined.ends_with("x\n\n…"), "half a character is not kept");
    }
}

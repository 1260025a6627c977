//! Lines of Markdown, as far as its structure goes: headings, fences and tables.

/// The mark that opened a block of code, and how often it was repeated.
pub(super) type Fence = (char, usize);

/// Whether the line belongs to a fenced block of code, its first and last line included. `open` is the
/// fence that is open before and after it.
pub(super) fn fence(line: &str, open: &mut Option<Fence>) -> bool {
    let mark = mark(line);
    match (*open, mark) {
        (None, None) => false,
        (None, Some((found, rest))) => {
            // Code within a line may begin like a fence.
            let opens = found.0 != '`' || !rest.contains('`');
            *open = opens.then_some(found);
            opens
        }
        (Some((mark, count)), Some((found, rest))) => {
            if found.0 == mark && found.1 >= count && rest.trim().is_empty() {
                *open = None;
            }
            true
        }
        (Some(_), None) => true,
    }
}

/// Three or more backticks or tildes at the beginning of a line, and what is behind them.
fn mark(line: &str) -> Option<(Fence, &str)> {
    let line = unindented(line)?;
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    // Both marks are one byte long.
    let count = line.len() - rest.len();
    (count >= 3).then_some(((mark, count), rest))
}

/// The level and the text of a heading with `#`.
pub(super) fn heading(line: &str) -> Option<(usize, &str)> {
    let line = unindented(line)?;
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let is_heading = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    if !is_heading {
        return None;
    }
    let text = rest.trim();
    // Marks at the end are decoration, unless they are part of a word.
    let bare = text.trim_end_matches('#');
    let text = if bare.is_empty() || bare.ends_with([' ', '\t']) { bare.trim_end() } else { text };
    Some((level, text))
}

/// Whether the line is a row of a table.
pub(super) fn is_row(line: &str) -> bool {
    line.trim_start().starts_with('|')
}

/// The line without up to three spaces before it. With more it is code.
fn unindented(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() <= 3).then(|| text.trim_end_matches(['\r', '\n']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_told_from_what_looks_alike() {
        let cases = [
            ("# One", Some((1, "One"))),
            ("   ###### Six ##\r\n", Some((6, "Six"))),
            ("## C#", Some((2, "C#"))),
            ("#", Some((1, ""))),
            ("## ##", Some((2, ""))),
            ("####### Seven", None),
            ("#hash", None),
            ("    # code", None),
            ("text # x", None),
        ];
        for (line, expected) in cases {
            assert_eq!(heading(line), expected, "{line:?}");
        }
    }

    #[test]
    fn fence_ends_with_a_mark_like_its_first() {
        let text = "a\n````rust\n```\n# b\n~~~~\n`````\nc\n~~~\n```\n~~~\n``` x ``` y\nd";
        let mut open = None;
        let inside: String =
            text.lines().map(|line| if fence(line, &mut open) { 'x' } else { '.' }).collect();
        assert_eq!(inside, ".xxxxx.xxx..");
        assert_eq!(open, None);
    }
}

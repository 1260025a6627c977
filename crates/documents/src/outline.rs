//! Line-based recognition of Markdown structure: headings, fences and tables.

/// The character of an opening code fence, and its number of repetitions.
pub(super) type Fence = (char, usize);

/// Returns whether the line belongs to a fenced code block, including the fences. `open` is the open fence
/// before the line, and is updated.
pub(super) fn fence(line: &str, open: &mut Option<Fence>) -> bool {
    let mark = mark(line);
    match (*open, mark) {
        (None, None) => false,
        (None, Some((found, rest))) => {
            // Inline code may start like a fence.
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

/// Returns the three or more backticks or tildes at the start of a line, and the rest of the line.
fn mark(line: &str) -> Option<(Fence, &str)> {
    let line = unindented(line)?;
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    // Both marks are one byte long.
    let count = line.len() - rest.len();
    (count >= 3).then_some(((mark, count), rest))
}

/// Returns the level and the text of a heading with `#`.
pub(super) fn heading(line: &str) -> Option<(usize, &str)> {
    let line = unindented(line)?;
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let is_heading = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    if !is_heading {
        return None;
    }
    let text = rest.trim();
    // Trailing marks are decoration, unless they are part of a word.
    let bare = text.trim_end_matches('#');
    let text = if bare.is_empty() || bare.ends_with([' ', '\t']) { bare.trim_end() } else { text };
    Some((level, text))
}

/// Returns whether the line is a row of a table.
pub(super) fn is_row(line: &str) -> bool {
    line.trim_start().starts_with('|')
}

/// Strips up to three leading spaces. Returns `None` for more: the line is code then.
fn unindented(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() <= 3).then(|| text.trim_end_matches(['\r', '\n']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_recognised() {
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
    fn fence_is_closed_by_a_matching_mark() {
        let text = "a\n````rust\n```\n# b\n~~~~\n`````\nc\n~~~\n```\n~~~\n``` x ``` y\nd";
        let mut open = None;
        let inside: String =
            text.lines().map(|line| if fence(line, &mut open) { 'x' } else { '.' }).collect();
        assert_eq!(inside, ".xxxxx.xxx..");
        assert_eq!(open, None);
    }
}

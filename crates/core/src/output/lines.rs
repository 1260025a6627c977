//! Lists with one item per line.

use super::json::{List, Node};

/// Returns the lines of a text that are not blank, without list markers.
pub(super) fn list(text: &str) -> Node<'_> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let lines = unmarked(&lines).unwrap_or(lines);
    let items = lines.into_iter().map(|line| Node::Bare(line.into())).collect();
    Node::List(List { items, is_closed: true })
}

/// Removes the list markers if all lines have one: the same bullet, or the numbers from 1.
fn unmarked<'a>(lines: &[&'a str]) -> Option<Vec<&'a str>> {
    let bulleted = |bullet: char| {
        let text = |line: &&'a str| after(line.strip_prefix(bullet)?);
        lines.iter().map(text).collect::<Option<Vec<_>>>()
    };
    let numbered = || {
        let lines = lines.iter().enumerate().map(|(index, line)| {
            let rest = line.strip_prefix((index + 1).to_string().as_str())?;
            after(rest.strip_prefix(['.', ')'])?)
        });
        lines.collect::<Option<Vec<_>>>()
    };
    ['-', '*', '•'].into_iter().find_map(bulleted).or_else(numbered)
}

/// Returns the text after a list marker, which has to be followed by a blank or tab.
fn after(rest: &str) -> Option<&str> {
    rest.strip_prefix([' ', '\t']).map(str::trim_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let Node::List(List { items, .. }) = list(text) else { panic!("a list") };
        let line = |item| if let Node::Bare(text) = item { text.into_owned() } else { "?".into() };
        items.into_iter().map(line).collect()
    }

    #[test]
    fn list_markers_are_removed_if_all_lines_have_one() {
        assert_eq!(lines("- a\n\n- b "), ["a", "b"]);
        assert_eq!(lines("1. a\n2. b"), ["a", "b"]);
        assert_eq!(lines("• a"), ["a"]);
        assert_eq!(lines("- a\nb"), ["- a", "b"]);
        assert_eq!(lines("1. a\n3. b"), ["1. a", "3. b"]);
        assert_eq!(lines("-5\n-6"), ["-5", "-6"]);
        assert!(lines(" \n").is_empty());
    }
}

//! Recognition of block markers at the beginning of a line.

/// Maximum length of a marker, for example of a rule or a fence with a language, in bytes. A longer one is
/// text.
const MAX_MARKER_BYTES: usize = 200;

/// Position of a block marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// At the start of a line.
    First,
    /// After the marker of a quote.
    Quoted,
}

/// Fence of a code block. The closing fence repeats `mark` at least `length` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    mark: char,
    length: usize,
}

/// Kind of a line, by its marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    Text,
    Heading {
        level: usize,
    },
    Bullet,
    Quote,
    Rule,
    Table,
    /// Opening fence of a code block.
    Open(Fence),
    /// Closing fence of a code block.
    Close,
    /// Line of a code block.
    Code,
}

impl LineKind {
    /// Returns the lengths of the indentation and of the marker after it, which is not shown, in bytes.
    pub(super) fn marker(self, line: &str) -> (usize, usize) {
        let text = line.trim_start_matches(is_blank);
        let indent = line.len() - text.len();
        match self {
            Self::Heading { level } => (indent, level + 1),
            Self::Bullet => (indent, 2),
            Self::Quote => {
                let after = text.strip_prefix('>').unwrap_or_default();
                (indent, if after.starts_with(' ') { 2 } else { 1 })
            }
            Self::Rule => (indent, text.len()),
            Self::Text | Self::Table | Self::Open(_) | Self::Close | Self::Code => (0, 0),
        }
    }
}

/// Returns the kind of a line from its text so far, or `None` if it depends on the rest of the line.
pub(super) fn line_kind(
    line: &str,
    fence: Option<Fence>,
    position: Position,
    is_end: bool,
) -> Option<LineKind> {
    let text = line.trim_start_matches(is_blank);
    if line.len() - text.len() > MAX_MARKER_BYTES {
        return Some(if fence.is_some() { LineKind::Code } else { LineKind::Text });
    }
    if let Some(fence) = fence {
        return in_code(text, fence, is_end);
    }
    let Some(first) = text.chars().next() else { return is_end.then_some(LineKind::Text) };
    let after = text.trim_start_matches(first);
    let count = text.chars().take_while(|&c| c == first).count();
    // The marker may continue in the next piece.
    let is_open = after.is_empty() && !is_end && count <= MAX_MARKER_BYTES;
    match first {
        '|' => Some(LineKind::Table),
        '#' | '>' | '+' if is_open => None,
        '>' => Some(LineKind::Quote),
        '#' if count <= 6 && after.starts_with(is_blank) => {
            Some(LineKind::Heading { level: count })
        }
        '+' if count == 1 && after.starts_with(is_blank) => Some(LineKind::Bullet),
        '`' | '~' if position == Position::First => {
            if is_open {
                return None;
            }
            let is_fence = count >= 3 && !after.contains('`') && text.len() <= MAX_MARKER_BYTES;
            match (is_fence, is_end) {
                (true, true) => Some(LineKind::Open(Fence { mark: first, length: count })),
                (true, false) => None,
                (false, _) => Some(LineKind::Text),
            }
        }
        '-' | '*' | '_' => bullet_or_rule(text, first, is_end),
        _ => Some(LineKind::Text),
    }
}

fn in_code(text: &str, fence: Fence, is_end: bool) -> Option<LineKind> {
    let after = text.trim_start_matches(fence.mark);
    if text.len() > MAX_MARKER_BYTES || !after.chars().all(is_blank) {
        return Some(LineKind::Code);
    }
    let count = text.chars().take_while(|&c| c == fence.mark).count();
    is_end.then_some(if count >= fence.length { LineKind::Close } else { LineKind::Code })
}

fn bullet_or_rule(text: &str, mark: char, is_end: bool) -> Option<LineKind> {
    let is_rule = text.len() <= MAX_MARKER_BYTES && text.chars().all(|c| c == mark || is_blank(c));
    if is_rule && !is_end {
        return None;
    }
    if is_rule && text.chars().filter(|&c| c == mark).count() >= 3 {
        return Some(LineKind::Rule);
    }
    let is_bullet = mark != '_' && text.chars().nth(1).is_some_and(is_blank);
    Some(if is_bullet { LineKind::Bullet } else { LineKind::Text })
}

fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t'
}

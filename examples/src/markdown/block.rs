//! What kind of line it is, from how it begins.

/// A beginning that could still become a rule, or the name of a language, is text if it is longer.
const LONGEST: usize = 200;

/// Where a beginning stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// At the front of a line.
    First,
    /// Behind the marker of a quote.
    Quoted,
}

/// What a block of code is closed with: this character, at least so many times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    mark: char,
    length: usize,
}

/// How a line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    Text,
    Heading {
        level: usize,
    },
    Bullet,
    Quote,
    Rule,
    Table,
    /// A block of code, which begins behind the line.
    Open(Fence),
    /// The end of a block of code.
    Close,
    /// A line in a block of code.
    Code,
}

impl Begin {
    /// How many bytes of the line are its indentation, and how many behind it a marker that is not
    /// shown.
    pub(super) fn marker(self, line: &str) -> (usize, usize) {
        let text = line.trim_start_matches(is_blank);
        let indent = line.len() - text.len();
        match self {
            Self::Heading { level } => (indent, level + 1),
            Self::Bullet => (indent, 2),
            Self::Quote => {
                let behind = text.strip_prefix('>').unwrap_or_default();
                (indent, if behind.starts_with(' ') { 2 } else { 1 })
            }
            Self::Rule => (indent, text.len()),
            Self::Text | Self::Table | Self::Open(_) | Self::Close | Self::Code => (0, 0),
        }
    }
}

/// The kind of a line of which this is there; `None` if that depends on what comes.
pub(super) fn begin(
    line: &str,
    fence: Option<Fence>,
    position: Position,
    is_end: bool,
) -> Option<Begin> {
    let text = line.trim_start_matches(is_blank);
    if line.len() - text.len() > LONGEST {
        return Some(if fence.is_some() { Begin::Code } else { Begin::Text });
    }
    if let Some(fence) = fence {
        return in_code(text, fence, is_end);
    }
    let Some(first) = text.chars().next() else { return is_end.then_some(Begin::Text) };
    let behind = text.trim_start_matches(first);
    let count = text.chars().take_while(|&c| c == first).count();
    // The marker may go on.
    let is_open = behind.is_empty() && !is_end && count <= LONGEST;
    match first {
        '|' => Some(Begin::Table),
        '#' | '>' | '+' if is_open => None,
        '>' => Some(Begin::Quote),
        '#' if count <= 6 && behind.starts_with(is_blank) => Some(Begin::Heading { level: count }),
        '+' if count == 1 && behind.starts_with(is_blank) => Some(Begin::Bullet),
        '`' | '~' if position == Position::First => {
            if is_open {
                return None;
            }
            let is_fence = count >= 3 && !behind.contains('`') && text.len() <= LONGEST;
            match (is_fence, is_end) {
                (true, true) => Some(Begin::Open(Fence { mark: first, length: count })),
                (true, false) => None,
                (false, _) => Some(Begin::Text),
            }
        }
        '-' | '*' | '_' => bullet_or_rule(text, first, is_end),
        _ => Some(Begin::Text),
    }
}

fn in_code(text: &str, fence: Fence, is_end: bool) -> Option<Begin> {
    let behind = text.trim_start_matches(fence.mark);
    if text.len() > LONGEST || !behind.chars().all(is_blank) {
        return Some(Begin::Code);
    }
    let count = text.chars().take_while(|&c| c == fence.mark).count();
    is_end.then_some(if count >= fence.length { Begin::Close } else { Begin::Code })
}

fn bullet_or_rule(text: &str, mark: char, is_end: bool) -> Option<Begin> {
    let is_rule = text.len() <= LONGEST && text.chars().all(|c| c == mark || is_blank(c));
    if is_rule && !is_end {
        return None;
    }
    if is_rule && text.chars().filter(|&c| c == mark).count() >= 3 {
        return Some(Begin::Rule);
    }
    let is_bullet = mark != '_' && text.chars().nth(1).is_some_and(is_blank);
    Some(if is_bullet { Begin::Bullet } else { Begin::Text })
}

fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t'
}

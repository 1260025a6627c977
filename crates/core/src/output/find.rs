//! Where in a text the JSON stands.

use super::json::{self, Fault, List, Node};
use super::lines;
use super::shape::{Root, Structure};

/// What the text may mean, the likeliest first.
///
/// # Errors
///
/// Why it cannot be such a value, in words.
pub(super) fn readings<'a>(text: &'a str, structure: &Structure) -> Result<Vec<Node<'a>>, String> {
    let answer = after_thinking(text.trim_start_matches('\u{feff}'));
    let text = answer.ok_or("the answer ends while the model still thinks")?.trim();
    let fault = match json::whole_text(text) {
        Ok(node) => return Ok(vec![listed(node, text, structure)]),
        Err(fault) => fault,
    };
    let is_json = text.starts_with(['{', '[']);
    match fault {
        Fault::Ends if text.is_empty() && structure.root == Root::Values => {
            return Ok(vec![lines::list("")]);
        }
        Fault::Ends if text.is_empty() => return Err("the answer is empty".to_owned()),
        Fault::Ends if is_json => return Err(fault.to_string()),
        Fault::TooDeep | Fault::Twice(_) => return Err(fault.to_string()),
        Fault::Ends | Fault::Unexpected(_) => {}
    }
    let fences = fences(text);
    if let Some(node) = only(fenced(&fences, structure)?)? {
        return Ok(vec![node]);
    }
    if let ([fence], true) = (fences.as_slice(), structure.is_scalar)
        && let Ok(node) = json::whole_text(fence).or_else(|_| plain(fence))
    {
        return Ok(vec![listed(node, fence, structure)]);
    }
    let block = only(blocks(text, structure)?)?;
    if !structure.is_scalar || text.starts_with('{') {
        return block.map(|node| vec![node]).ok_or_else(|| fault.explain(text));
    }
    Ok(match (structure.root, block) {
        (Root::Values, Some(block)) if is_quoted(&block) => vec![block],
        (Root::Values, block) => [lines::list(text)].into_iter().chain(block).collect(),
        (_, Some(block)) => vec![block],
        (_, None) => vec![Node::Bare(text)],
    })
}

/// The text without the thoughts that some models write before it; `None` if they do not end.
pub(super) fn after_thinking(text: &str) -> Option<&str> {
    match text.trim_start().strip_prefix("<think>") {
        Some(thoughts) => thoughts.split_once("</think>").map(|(_, answer)| answer),
        None => Some(text),
    }
}

/// The lines of a text, where a list is wanted and the text is a single value.
fn listed<'a>(node: Node<'a>, text: &'a str, structure: &Structure) -> Node<'a> {
    match (&node, structure.root) {
        (Node::List(_) | Node::Object(_), _) => node,
        (_, Root::Values) if structure.is_scalar => lines::list(text),
        _ => node,
    }
}

/// A text in a fence that is no JSON.
fn plain(text: &str) -> Result<Node<'_>, Fault> {
    match text.starts_with(['{', '"']) || text.is_empty() {
        true => Err(Fault::Unexpected(0)),
        false => Ok(Node::Bare(text)),
    }
}

/// Whether a block in prose is surely meant as a list: a word in brackets may be anything.
fn is_quoted(node: &Node<'_>) -> bool {
    match node {
        Node::List(List { items, .. }) => {
            !items.is_empty() && items.iter().all(|item| matches!(item, Node::Text(_)))
        }
        _ => true,
    }
}

/// The only one of some readings, if there is any.
fn only(nodes: Vec<Node<'_>>) -> Result<Option<Node<'_>>, String> {
    let mut nodes = nodes.into_iter();
    let Some(first) = nodes.next() else { return Ok(None) };
    match nodes.filter(|node| *node != first).count() {
        0 => Ok(Some(first)),
        _ => Err("the answer holds several blocks of JSON that differ; one is wanted".to_owned()),
    }
}

/// Whether a piece of JSON among other text can be the value.
pub(super) fn fits(node: &Node<'_>, structure: &Structure) -> bool {
    match structure.root {
        Root::Whole => matches!(node, Node::Object(_)),
        Root::Value => {
            matches!(node, Node::Object(_))
                && (!structure.is_scalar || node.member("value").is_some())
        }
        Root::Values => matches!(node, Node::List(_)) || node.member("values").is_some(),
    }
}

/// The JSON in fenced blocks.
fn fenced<'a>(fences: &[&'a str], structure: &Structure) -> Result<Vec<Node<'a>>, String> {
    let mut found = Vec::new();
    for fence in fences {
        match json::whole_text(fence) {
            Ok(node) if fits(&node, structure) => found.push(node),
            Err(fault @ (Fault::TooDeep | Fault::Twice(_))) => return Err(fault.to_string()),
            Err(Fault::Ends) if fence.starts_with(['{', '[']) => {
                return Err(Fault::Ends.to_string());
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(found)
}

/// The contents of fenced blocks. A fence starts a line.
pub(super) fn fences(text: &str) -> Vec<&str> {
    const FENCE: &str = "```";
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(FENCE) {
        rest = after;
        if !before.rsplit('\n').next().unwrap_or(before).trim().is_empty() {
            continue;
        }
        let body = without_language(after.trim_start_matches('`'));
        // Backticks in a string of the JSON do not end the block.
        let json = json::prefix(body, 0).ok().map(|(_, end)| body.split_at(end));
        let ended = json.filter(|(_, after)| {
            let after = after.trim_start();
            after.is_empty() || after.starts_with(FENCE)
        });
        let (content, after) = match ended {
            Some((content, after)) => {
                (content, after.split_once(FENCE).map_or("", |(_, rest)| rest))
            }
            None => body.split_once(FENCE).unwrap_or((body, "")),
        };
        found.push(content.trim());
        rest = after;
    }
    found
}

/// The content of a fenced block without the name of its language.
fn without_language(body: &str) -> &str {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '_' | '.');
    let rest = body.trim_start_matches(is_name);
    let is_language = rest.starts_with(|c: char| c.is_whitespace() || matches!(c, '{' | '['));
    if is_language { rest } else { body }
}

/// The pieces of JSON among other text that can be the value.
fn blocks<'a>(text: &'a str, structure: &Structure) -> Result<Vec<Node<'a>>, String> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = next_start(text, at, structure.root) {
        match json::prefix(text, start) {
            Ok((node, end)) => {
                at = end;
                if fits(&node, structure) {
                    found.push(node);
                }
            }
            // What stands inside of a broken block is not the answer: on behind it.
            Err(Fault::Unexpected(fault)) => at = fault.max(start + 1),
            // An open bracket alone means nothing.
            Err(Fault::Ends) if !text.get(start..).unwrap_or_default().contains('"') => break,
            Err(fault) => return Err(fault.to_string()),
        }
    }
    // A list may be the mark of a footnote; one in its wrapper is none.
    if structure.root == Root::Values && found.iter().any(|node| matches!(node, Node::Object(_))) {
        found.retain(|node| matches!(node, Node::Object(_)));
    }
    Ok(found)
}

/// Where the next piece of JSON may start.
pub(super) fn next_start(text: &str, at: usize, root: Root) -> Option<usize> {
    let rest = text.as_bytes().get(at..)?;
    let starts = |byte: &u8| *byte == b'{' || (*byte == b'[' && root == Root::Values);
    rest.iter().position(starts).map(|offset| at + offset)
}

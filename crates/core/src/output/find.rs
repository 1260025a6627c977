//! Finds the JSON in the text of an answer.

use super::json::{self, List, Node, SyntaxError};
use super::lines;
use super::shape::{Root, Structure};
use super::steps;

/// Returns the possible values of a text, the most likely first.
///
/// # Errors
///
/// Returns the reason if the text contains no value of this structure.
pub(super) fn candidates<'a>(
    text: &'a str,
    structure: &Structure,
) -> Result<Vec<Node<'a>>, String> {
    let answer = after_think_block(text.trim_start_matches('\u{feff}'));
    let text = answer.ok_or("the answer ends inside the `<think>` block")?.trim();
    let error = match json::parse_complete(text) {
        Ok(node) => return Ok(vec![split_lines(node, text, structure)]),
        Err(error) => error,
    };
    let is_json = text.starts_with(['{', '[']);
    match error {
        SyntaxError::UnexpectedEnd if text.is_empty() && structure.root == Root::Values => {
            return Ok(vec![lines::list("")]);
        }
        SyntaxError::UnexpectedEnd if text.is_empty() => {
            return Err("the answer is empty".to_owned());
        }
        SyntaxError::UnexpectedEnd if is_json => return Err(error.to_string()),
        SyntaxError::TooDeep | SyntaxError::DuplicateKey { .. } => return Err(error.to_string()),
        SyntaxError::UnexpectedEnd | SyntaxError::Unexpected(_) => {}
    }
    let fences = fences(text);
    if let Some(node) = single_distinct(fenced(&fences, structure)?)? {
        return Ok(vec![node]);
    }
    if let ([fence], true) = (fences.as_slice(), structure.is_scalar)
        && let Ok(node) = json::parse_complete(fence).or_else(|_| bare_text(fence))
    {
        return Ok(vec![split_lines(node, fence, structure)]);
    }
    let block = single_distinct(blocks(text, structure)?)?;
    if !structure.is_scalar || text.starts_with('{') {
        return block.map(|node| vec![node]).ok_or_else(|| error.explain(text));
    }
    Ok(match (structure.root, block) {
        (Root::Values, Some(block)) if is_certain(&block) => vec![block],
        (Root::Values, block) => [lines::list(text)].into_iter().chain(block).collect(),
        (_, Some(block)) => vec![block],
        (_, None) => vec![Node::Bare(text.into())],
    })
}

/// Returns the text after the `<think>` block that some models write before the answer. Returns `None`
/// if the block has no end.
pub(super) fn after_think_block(text: &str) -> Option<&str> {
    match text.trim_start().strip_prefix("<think>") {
        Some(thoughts) => thoughts.split_once("</think>").map(|(_, answer)| answer),
        None => Some(text),
    }
}

/// Returns the lines of a text if the type is a list of scalars and the text is a single value.
fn split_lines<'a>(node: Node<'a>, text: &'a str, structure: &Structure) -> Node<'a> {
    match (&node, structure.root) {
        (Node::List(_) | Node::Object(_), _) => node,
        (_, Root::Values) if structure.is_scalar => lines::list(text),
        _ => node,
    }
}

/// Returns the text of a fence that is not JSON.
fn bare_text(text: &str) -> Result<Node<'_>, SyntaxError> {
    if text.starts_with(['{', '"']) || text.is_empty() {
        Err(SyntaxError::Unexpected(0))
    } else {
        Ok(Node::Bare(text.into()))
    }
}

/// Returns `true` if a block in prose is certainly a list: its items are quoted. A bare word in brackets
/// can mean anything.
fn is_certain(node: &Node<'_>) -> bool {
    match node {
        Node::List(List { items, .. }) => {
            !items.is_empty() && items.iter().all(|item| matches!(item, Node::Text(_)))
        }
        _ => true,
    }
}

/// Returns the node if all nodes are equal. Fails if two nodes differ.
fn single_distinct(nodes: Vec<Node<'_>>) -> Result<Option<Node<'_>>, String> {
    let mut nodes = nodes.into_iter();
    let Some(first) = nodes.next() else { return Ok(None) };
    match nodes.filter(|node| *node != first).count() {
        0 => Ok(Some(first)),
        _ => Err("the answer contains several different blocks of JSON; exactly one is expected"
            .to_owned()),
    }
}

/// Returns `true` if a piece of JSON within other text can be the value.
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

/// Returns the JSON in fenced blocks.
fn fenced<'a>(fences: &[&'a str], structure: &Structure) -> Result<Vec<Node<'a>>, String> {
    let mut found = Vec::new();
    for fence in fences {
        match json::parse_complete(fence) {
            Ok(node) if fits(&node, structure) => found.push(node),
            Err(error @ (SyntaxError::TooDeep | SyntaxError::DuplicateKey { .. })) => {
                return Err(error.to_string());
            }
            Err(SyntaxError::UnexpectedEnd) if fence.starts_with(['{', '[']) => {
                return Err(SyntaxError::UnexpectedEnd.to_string());
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(found)
}

/// Returns the contents of fenced blocks. A fence has to be at the start of a line.
pub(super) fn fences(text: &str) -> Vec<&str> {
    const FENCE: &str = "```";
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(FENCE) {
        rest = after;
        steps::add(before.len());
        if !before.rsplit('\n').next().unwrap_or(before).trim().is_empty() {
            continue;
        }
        let body = without_language(after.trim_start_matches('`'));
        // Backticks in a string of the JSON do not end the block.
        let json = json::parse_prefix(body, 0).ok().map(|(_, end)| body.split_at(end));
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
        steps::add(content.len());
        found.push(content.trim());
        rest = after;
    }
    found
}

/// Removes the language name from the start of a fenced block.
fn without_language(body: &str) -> &str {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '_' | '.');
    let rest = body.trim_start_matches(is_name);
    let is_language = rest.starts_with(|c: char| c.is_whitespace() || matches!(c, '{' | '['));
    if is_language { rest } else { body }
}

/// Returns the pieces of JSON within other text that can be the value.
fn blocks<'a>(text: &'a str, structure: &Structure) -> Result<Vec<Node<'a>>, String> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = next_start(text, at, structure.root) {
        match json::parse_prefix(text, start) {
            Ok((node, end)) => {
                at = end;
                if fits(&node, structure) {
                    found.push(node);
                }
            }
            // The inside of a malformed block is not the answer: continue after the mistake.
            Err(SyntaxError::Unexpected(position)) => at = position.max(start + 1),
            // An open bracket without strings is ordinary prose.
            Err(SyntaxError::UnexpectedEnd)
                if !text.get(start..).unwrap_or_default().contains('"') =>
            {
                break;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    // A bare list can be a footnote mark such as `[1]`; a list in its wrapper cannot.
    if structure.root == Root::Values && found.iter().any(|node| matches!(node, Node::Object(_))) {
        found.retain(|node| matches!(node, Node::Object(_)));
    }
    Ok(found)
}

/// Returns the next position where JSON can start.
pub(super) fn next_start(text: &str, at: usize, root: Root) -> Option<usize> {
    let rest = text.as_bytes().get(at..)?;
    let starts = |byte: &u8| *byte == b'{' || (*byte == b'[' && root == Root::Values);
    let offset = rest.iter().position(starts);
    steps::add(offset.unwrap_or(rest.len()));
    offset.map(|offset| at + offset)
}

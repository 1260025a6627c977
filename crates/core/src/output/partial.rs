//! Partial values of answers that are being streamed.

use super::json::{self, Node, SyntaxError};
use super::shape::{Root, Shape, Structure};
use super::typed::{self, Hints, ReadOptions};
use super::{Output, find, read, steps};
use serde::de::DeserializeOwned;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;

/// The text of an answer so far, and the partial values that are read from it.
///
/// Missing values are empty: `None`, `""`, `[]`, 0, `false`, or the default of `#[serde(default)]`.
/// Texts and lists grow; other values appear when they are complete. A type without an empty value is
/// withheld until it is complete, together with the optional value or the list item that contains it.
///
/// The text is read again after it has grown by 1/256, so that all values together take linear time. A
/// value of a short text is never late.
#[derive(Debug)]
pub struct Growing<T> {
    shape: Shape,
    text: String,
    /// Length of the text when it was last read.
    read: usize,
    progress: Progress,
    value: PhantomData<fn() -> T>,
}

/// State between two partial values of one answer.
#[derive(Debug, Default)]
pub struct Progress {
    hints: Hints,
    /// The position in the text before which no JSON starts.
    searched: usize,
    /// Hash of the JSON of the last value.
    last_hash: Option<u64>,
}

impl<T: Output> Growing<T> {
    /// Creates the state for an answer of this shape, without text.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        let (text, progress) = (String::new(), Progress::default());
        Self { shape, text, read: 0, progress, value: PhantomData }
    }

    /// Adds a piece of the text.
    pub fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    /// Removes the text, for an answer that restarts.
    pub fn clear(&mut self) {
        self.text.clear();
        (self.read, self.progress.searched, self.progress.last_hash) = (0, 0, None);
    }

    /// Returns the value of the text so far. Returns `None` if it has not changed since the last call,
    /// cannot be read yet, or if the text has hardly grown since it was last read.
    pub fn value(&mut self) -> Option<T> {
        /// The new part of the text for which the text is read again.
        const FRACTION: usize = 256;
        if self.text.len() - self.read <= self.read / FRACTION {
            return None;
        }
        self.read = self.text.len();
        T::partial(&self.text, &self.shape, &mut self.progress)
    }
}

impl Progress {
    /// Records the JSON and returns whether it differs from the last one.
    fn has_changed(&mut self, node: &Node<'_>) -> bool {
        let mut hasher = DefaultHasher::new();
        hash(node, &mut hasher);
        let new_hash = Some(hasher.finish());
        std::mem::replace(&mut self.last_hash, new_hash) != new_hash
    }
}

/// Reads the value of an incomplete answer, if it has changed.
pub(super) fn value<T: DeserializeOwned>(
    text: &str,
    shape: &Shape,
    progress: &mut Progress,
) -> Option<T> {
    if shape.is_nothing() {
        return None;
    }
    let Some(structure) = shape.structure() else {
        let node = read::free_text(text);
        let has_changed = !text.is_empty() && progress.has_changed(&node);
        return has_changed.then(|| typed::read(&node, ReadOptions::default()).ok())?;
    };
    let node = partial_json(text, structure, &mut progress.searched)?;
    if !progress.has_changed(&node) {
        return None;
    }
    if node.is_open() {
        read_incomplete(&node, structure.root, &mut progress.hints)
    } else {
        read::complete(&node, structure).ok()
    }
}

/// Returns the JSON so far, once it has content.
///
/// The search continues where the last one ended: a position where no JSON starts stays one when the text
/// grows.
fn partial_json<'a>(
    whole_text: &'a str,
    structure: &Structure,
    searched: &mut usize,
) -> Option<Node<'a>> {
    steps::add(whole_text.len());
    let text = find::after_think_block(whole_text)?;
    let before = whole_text.len() - text.len();
    let mut at = searched.saturating_sub(before);
    loop {
        let start = find::next_start(text, at, structure.root);
        *searched = start.map_or(whole_text.len(), |start| before + start);
        let start = start?;
        match json::parse_partial(text, start) {
            Ok((node, _)) if node.is_open() => return has_content(&node).then_some(node),
            Ok((node, _)) if find::fits(&node, structure) => return Some(node),
            Ok((_, end)) => at = end,
            Err(SyntaxError::Unexpected(position)) => at = position.max(start + 1),
            Err(_) => return None,
        }
    }
}

fn has_content(node: &Node<'_>) -> bool {
    match node {
        Node::Object(object) => !object.members.is_empty(),
        _ => true,
    }
}

/// Reads an incomplete value. Each failed attempt adds a hint about the type for the next one.
fn read_incomplete<T: DeserializeOwned>(
    node: &Node<'_>,
    root: Root,
    hints: &mut Hints,
) -> Option<T> {
    /// Maximum number of attempts, above the number of fields of realistic types.
    const MAX_ATTEMPTS: usize = 1000;
    hints.forget_nodes();
    let mut is_lenient = false;
    for _ in 0..MAX_ATTEMPTS {
        let options = ReadOptions { is_lenient, skips_nulls: false, hints: Some(hints) };
        let hint = match read::read_at_root(node, root, options) {
            Ok(value) => return Some(value),
            Err(error) => error.hint(),
        };
        if !hint.is_some_and(|hint| hints.add(hint)) {
            if is_lenient {
                return None;
            }
            is_lenient = true;
            hints.forget_nodes();
        }
    }
    None
}

/// Hashes a node with its content.
fn hash(node: &Node<'_>, hasher: &mut DefaultHasher) {
    std::mem::discriminant(node).hash(hasher);
    match node {
        Node::Null => {}
        Node::Bool(value) => value.hash(hasher),
        Node::Number(text) | Node::Bare(text) => text.hash(hasher),
        Node::Text(text) => (&text.text, text.is_closed).hash(hasher),
        Node::List(list) => {
            (list.items.len(), list.is_closed).hash(hasher);
            list.items.iter().for_each(|item| hash(item, hasher));
        }
        Node::Object(object) => {
            (object.members.len(), object.is_closed).hash(hasher);
            for (name, value) in &object.members {
                name.hash(hasher);
                hash(value, hasher);
            }
        }
    }
}

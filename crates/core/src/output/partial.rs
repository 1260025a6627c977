//! Values that grow while an answer arrives.

use super::json::{self, Fault, Node};
use super::shape::{Root, Shape, Structure};
use super::typed::{self, Learned, Manner};
use super::{Output, find, read};
use serde::de::DeserializeOwned;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;

/// The text of an answer so far, and the values that it amounts to.
///
/// What has not arrived is empty: `None`, `""`, `[]`, 0, `false`, or what `#[serde(default)]` says.
/// Texts and lists grow; all else appears when it is complete. Where a type has no empty value, the
/// optional value or the item of a list around it waits.
#[derive(Debug)]
pub struct Growing<T> {
    shape: Shape,
    text: String,
    progress: Progress,
    value: PhantomData<fn() -> T>,
}

/// What was learned from the beginnings of one answer.
#[derive(Debug, Default)]
pub struct Progress {
    learned: Learned,
    /// What the last value was made of.
    shown: Option<u64>,
}

impl<T: Output> Growing<T> {
    /// Nothing so far of an answer of this shape.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self { shape, text: String::new(), progress: Progress::default(), value: PhantomData }
    }

    /// Adds a piece of the text.
    pub fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    /// Forgets the text: the answer begins again.
    pub fn clear(&mut self) {
        self.text.clear();
        self.progress.shown = None;
    }

    /// The value that the text amounts to, if it shows more than the one before.
    pub fn value(&mut self) -> Option<T> {
        T::partial(&self.text, &self.shape, &mut self.progress)
    }
}

impl Progress {
    /// Whether there is something that was not there before.
    fn shows_more(&mut self, node: &Node<'_>) -> bool {
        let mut hasher = DefaultHasher::new();
        hash(node, &mut hasher);
        let shown = Some(hasher.finish());
        std::mem::replace(&mut self.shown, shown) != shown
    }
}

/// The value that the beginning of an answer amounts to.
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
        let is_news = !text.is_empty() && progress.shows_more(&node);
        return is_news.then(|| typed::read(&node, Manner::default()).ok())?;
    };
    let node = beginning(text, structure)?;
    if !progress.shows_more(&node) {
        return None;
    }
    match node.is_open() {
        true => grown(&node, structure.root, &mut progress.learned),
        false => read::whole(&node, structure).ok(),
    }
}

/// The JSON that has begun, once there is something in it.
fn beginning<'a>(text: &'a str, structure: &Structure) -> Option<Node<'a>> {
    let text = find::after_thinking(text)?;
    let mut at = 0;
    loop {
        let start = find::next_start(text, at, structure.root)?;
        match json::open(text, start) {
            Ok((node, _)) if node.is_open() => return has_begun(&node).then_some(node),
            Ok((node, _)) if find::fits(&node, structure) => return Some(node),
            Ok((_, end)) => at = end,
            Err(Fault::Unexpected(fault)) => at = fault.max(start + 1),
            Err(_) => return None,
        }
    }
}

fn has_begun(node: &Node<'_>) -> bool {
    match node {
        Node::Object(object) => !object.members.is_empty(),
        _ => true,
    }
}

/// Reads an unfinished value: with every attempt, more is known of what the type needs.
fn grown<T: DeserializeOwned>(node: &Node<'_>, root: Root, learned: &mut Learned) -> Option<T> {
    /// More members are in no type, and deeper is no JSON.
    const ATTEMPTS: usize = 1000;
    learned.forget_nodes();
    let mut is_lenient = false;
    for _ in 0..ATTEMPTS {
        let manner = Manner { is_lenient, skips_nulls: false, learned: Some(learned) };
        let remedy = match read::rooted(node, root, manner) {
            Ok(value) => return Some(value),
            Err(fault) => fault.remedy(),
        };
        if !remedy.is_some_and(|remedy| learned.learn(remedy)) {
            if is_lenient {
                return None;
            }
            is_lenient = true;
            learned.forget_nodes();
        }
    }
    None
}

/// Hashes what can be seen of a node.
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

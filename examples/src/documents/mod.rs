//! What the examples with documents share: all of it runs without a network.

pub(crate) mod embedder;
pub(crate) mod source;
pub(crate) mod words;

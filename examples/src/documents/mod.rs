//! Code shared by the examples with documents. It runs without a network.

pub(crate) mod source;
pub(crate) mod words;

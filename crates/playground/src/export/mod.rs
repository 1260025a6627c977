//! A turn in the forms that a test can use.

mod cassette;
mod rust_test;

pub(crate) use cassette::cassette;
pub(crate) use rust_test::{Delivery, rust_test};

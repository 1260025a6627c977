//! Futures in boxes.

use std::pin::Pin;

/// Boxes the future that `future` returns. The future is built in its box and never moves.
///
/// `Box::pin` allocates after it has built the future. If the allocation failed, the future would be dropped, so
/// rustc builds it on the stack, and copies it whole. A new future of a few KiB has set only its arguments.
#[doc(hidden)]
pub fn boxed<F: Future>(future: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::into_pin(Box::write(Box::new_uninit(), future()))
}

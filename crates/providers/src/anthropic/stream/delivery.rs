//! Delivery of the pieces of blocks in the order of the answer.

use super::partial_block::PartialBlock;

/// Text of a block, if the block is of the delivered kind.
pub(super) type TextOf = fn(&PartialBlock) -> Option<&str>;

/// The delivery of all blocks of one kind.
///
/// A block waits for the end of its predecessors, so that the delivered pieces are always the beginning of
/// the answer. Anthropic has one open block at a time, but some compatible servers interleave blocks.
#[derive(Default)]
pub(super) struct Delivery {
    /// Position of the first block that can still grow.
    next: usize,
    /// Length of the delivered part of this block, in bytes.
    sent: usize,
}

impl Delivery {
    /// Emits the pieces that became available.
    pub(super) fn advance(
        &mut self,
        blocks: &[PartialBlock],
        text_of: TextOf,
        mut emit: impl FnMut(String),
    ) {
        while let Some(block) = blocks.get(self.next) {
            if let Some(text) = text_of(block) {
                let piece = text.get(self.sent..).unwrap_or_default();
                if !piece.is_empty() {
                    emit(piece.to_owned());
                }
                self.sent = text.len();
                if block.is_open {
                    return;
                }
            }
            (self.next, self.sent) = (self.next + 1, 0);
        }
    }

    /// Returns the delivered text.
    pub(super) fn delivered(&self, blocks: &[PartialBlock], text_of: TextOf) -> String {
        blocks.iter().take(self.next.saturating_add(1)).filter_map(text_of).collect()
    }
}

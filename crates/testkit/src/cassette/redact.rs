//! Redaction of the pieces of a stream.

use ai_services_core::model::ModelStreamEvent;
use ai_services_core::redaction::Redaction;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Redacts the pieces of a stream, including secrets that are spread over several pieces.
pub(super) fn redact_pieces(redaction: &Redaction, pieces: &mut Vec<ModelStreamEvent>) {
    let mut joined: BTreeMap<PieceChannel, String> = BTreeMap::new();
    for piece in pieces.iter_mut() {
        if let Some((channel, text)) = channel(piece) {
            joined.entry(channel).or_default().push_str(text);
        }
    }
    let mut clean: BTreeMap<PieceChannel, String> = BTreeMap::new();
    for (channel, text) in &joined {
        if let Cow::Owned(text) = redaction.text(text) {
            clean.insert(*channel, text);
        }
    }
    // The first piece gets the whole redacted text of its channel.
    for piece in pieces.iter_mut() {
        let Some((channel, text)) = channel(piece) else { continue };
        if let Some(clean) = clean.get_mut(&channel) {
            *text = std::mem::take(clean);
        }
    }
    pieces.retain(|piece| {
        !matches!(piece, ModelStreamEvent::Text(text) | ModelStreamEvent::Thinking(text) if text.is_empty())
    });
}

/// Channel of a stream; the pieces of one channel form one text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PieceChannel {
    Text,
    Thinking,
    Call(usize),
}

fn channel(piece: &mut ModelStreamEvent) -> Option<(PieceChannel, &mut String)> {
    match piece {
        ModelStreamEvent::Text(text) => Some((PieceChannel::Text, text)),
        ModelStreamEvent::Thinking(text) => Some((PieceChannel::Thinking, text)),
        ModelStreamEvent::ToolCall(delta) => {
            Some((PieceChannel::Call(delta.index), &mut delta.arguments))
        }
        ModelStreamEvent::Completed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redaction(secret: &str) -> Redaction {
        let mut redaction = Redaction::default();
        redaction.literal(secret.to_owned());
        redaction
    }

    #[test]
    fn secrets_are_redacted_across_pieces() {
        let text = |text: &str| ModelStreamEvent::Text(text.to_owned());
        let mut pieces = vec![text("a hunt"), text("er2 b"), text("c")];
        redact_pieces(&redaction("hunter2"), &mut pieces);
        let [ModelStreamEvent::Text(only)] = pieces.as_slice() else { panic!("{pieces:?}") };
        assert_eq!(only, "a [redacted] bc");
        let mut pieces = vec![text("a "), text("b")];
        redact_pieces(&redaction("hunter2"), &mut pieces);
        assert_eq!(pieces.len(), 2);
    }
}

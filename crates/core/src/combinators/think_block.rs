//! Thinking that a model writes into the text of its answer.

use crate::error::{Error, Result};
use crate::message::AiMessage;
use crate::model::{
    Capabilities, ChatModel, ChatRequest, ChatResponse, ModelEndpoint, ModelStreamEvent,
    PartialAnswer,
};
use async_trait::async_trait;
use futures_util::future;
use futures_util::stream::{self, BoxStream, StreamExt};
use std::fmt;
use std::mem::take;
use std::sync::Arc;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// A model that moves the `<think>` block at the start of an answer from its text to its thinking.
///
/// Some servers do not separate the thinking of open models such as DeepSeek R1 and Qwen. Without this model,
/// the block is a part of the answer: users see it, and the memory stores it. White space around the block is
/// removed. The thinking of an answer that ends inside its block has no text after it.
///
/// An answer without a block at its start is returned unchanged. If there is a block, the answer loses its
/// [`provider_content`](AiMessage::provider_content), which would contain the block.
///
/// Streams are split in the same way. Only text that can be the start of a tag is held back.
///
/// # Examples
///
/// ```
/// use ai_services::combinators::ThinkBlockModel;
/// use ai_services::message::ChatMessage;
/// use ai_services::model::{ChatModel, ChatRequest};
/// use ai_services::testing::ScriptedChatModel;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let script = ScriptedChatModel::replies(["<think>\nTwo and two.\n</think>\n\nFour."]);
/// let model = ThinkBlockModel::new(script);
/// let response = model.chat(&ChatRequest::new([ChatMessage::user("2 + 2?")])).await?;
/// assert_eq!(response.message.text(), Some("Four."));
/// assert_eq!(response.message.thinking(), Some("Two and two."));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ThinkBlockModel(Arc<dyn ChatModel>);

impl ThinkBlockModel {
    /// Creates a model that separates the thinking in the answers of `model`.
    pub fn new(model: impl ChatModel + 'static) -> Self {
        Self(Arc::new(model))
    }
}

#[async_trait]
impl ChatModel for ThinkBlockModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let mut response = self.0.chat(request).await?;
        let mut answer = SeparatedAnswer::default();
        answer.thinking.push_str(response.message.thinking().unwrap_or_default());
        answer.add(response.message.text().unwrap_or_default());
        answer.finish();
        response.message = answer.separate(response.message);
        Ok(response)
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        let events = self.0.stream(request).scan(SeparatedAnswer::default(), |answer, event| {
            future::ready(Some(stream::iter(answer.read(event))))
        });
        events.flatten().boxed()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn endpoint(&self) -> ModelEndpoint<'_> {
        self.0.endpoint()
    }
}

impl fmt::Debug for ThinkBlockModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThinkBlockModel").field("model", &self.0.name()).finish()
    }
}

/// The text and the thinking of an answer, separated piece by piece.
#[derive(Default)]
struct SeparatedAnswer {
    place: Place,
    /// Text that can still be a part of a tag, or white space beside a tag.
    held: String,
    has_block: bool,
    text: String,
    thinking: String,
}

/// The place in the text of an answer.
#[derive(Clone, Copy, Default, PartialEq)]
enum Place {
    #[default]
    Start,
    Block,
    AfterBlock,
    Text,
}

/// The new parts of an answer.
#[derive(Default)]
struct NewParts {
    thinking: String,
    text: String,
}

impl SeparatedAnswer {
    /// Maps an event of the model.
    fn read(&mut self, event: Result<ModelStreamEvent>) -> Vec<Result<ModelStreamEvent>> {
        match event {
            Ok(ModelStreamEvent::Text(piece)) => self.add(&piece).into_events().collect(),
            Ok(ModelStreamEvent::Thinking(piece)) => {
                self.thinking.push_str(&piece);
                vec![Ok(ModelStreamEvent::Thinking(piece))]
            }
            Ok(ModelStreamEvent::Completed(mut response)) => {
                let rest = self.finish();
                response.message = take(self).separate(response.message);
                rest.into_events().chain([Ok(ModelStreamEvent::Completed(response))]).collect()
            }
            Ok(call) => vec![Ok(call)],
            Err(error) => vec![Err(self.separate_partial(error))],
        }
    }

    /// Adds text.
    fn add(&mut self, piece: &str) -> NewParts {
        self.held.push_str(piece);
        let mut new = NewParts::default();
        while self.step(&mut new) {}
        self.thinking.push_str(&new.thinking);
        self.text.push_str(&new.text);
        new
    }

    /// Moves on to the next place. Returns `false` if more text is needed.
    fn step(&mut self, new: &mut NewParts) -> bool {
        match self.place {
            Place::Start => {
                let begun = self.held.trim_start();
                if let Some(rest) = begun.strip_prefix(OPEN) {
                    self.held = rest.to_owned();
                    self.has_block = true;
                    self.place = Place::Block;
                    return true;
                }
                if !OPEN.starts_with(begun) {
                    self.place = Place::Text;
                    return true;
                }
                false
            }
            Place::Block => {
                if let Some((thoughts, rest)) = self.held.split_once(CLOSE) {
                    let rest = rest.to_owned();
                    self.think(thoughts.trim_end().len(), new);
                    self.held = rest;
                    self.place = Place::AfterBlock;
                    return true;
                }
                self.think(self.held.len() - held_back(&self.held), new);
                false
            }
            Place::AfterBlock => {
                self.held = self.held.trim_start().to_owned();
                if !self.held.is_empty() {
                    self.place = Place::Text;
                }
                !self.held.is_empty()
            }
            Place::Text => {
                new.text.push_str(&take(&mut self.held));
                false
            }
        }
    }

    /// Moves text of this length to the thinking.
    fn think(&mut self, length: usize, new: &mut NewParts) {
        let rest = self.held.split_off(length);
        let thoughts = std::mem::replace(&mut self.held, rest);
        let is_first = self.thinking.is_empty() && new.thinking.is_empty();
        new.thinking.push_str(if is_first { thoughts.trim_start() } else { &thoughts });
    }

    /// Adds the held text at the end of the answer.
    fn finish(&mut self) -> NewParts {
        let mut new = NewParts::default();
        let held = take(&mut self.held);
        match self.place {
            Place::Block => new.thinking = held.trim_end().to_owned(),
            Place::AfterBlock => {}
            Place::Start | Place::Text => new.text = held,
        }
        self.thinking.push_str(&new.thinking);
        self.text.push_str(&new.text);
        new
    }

    /// Returns the message with its text and thinking separated.
    fn separate(self, message: AiMessage) -> AiMessage {
        if !self.has_block {
            return message;
        }
        let calls = message.tool_calls().to_vec();
        let needs_text = calls.is_empty() && message.refusal().is_none();
        let mut builder = AiMessage::builder().tool_calls(calls);
        if needs_text || !self.text.is_empty() {
            builder = builder.text(self.text);
        }
        if !self.thinking.is_empty() {
            builder = builder.thinking(self.thinking);
        }
        if let Some(refusal) = message.refusal() {
            builder = builder.refusal(refusal);
        }
        builder.build()
    }

    /// Returns the error with the delivered part of the answer, if a part was received.
    fn separate_partial(&mut self, error: Error) -> Error {
        let Some(partial) = error.detail::<PartialAnswer>() else { return error };
        let calls = partial.tool_calls.clone();
        let delivered = PartialAnswer::new(take(&mut self.text))
            .with_thinking(take(&mut self.thinking))
            .with_tool_calls(calls);
        error.map_source(|source| delivered.with_source(source).into())
    }
}

impl NewParts {
    fn into_events(self) -> impl Iterator<Item = Result<ModelStreamEvent>> {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        let thinking = some(self.thinking).map(ModelStreamEvent::Thinking);
        let text = some(self.text).map(ModelStreamEvent::Text);
        thinking.into_iter().chain(text).map(Ok)
    }
}

/// Returns the length of the end of `text` that can belong to the end tag: white space, and a part of the tag.
fn held_back(text: &str) -> usize {
    let mut starts = (1..CLOSE.len()).rev().filter_map(|length| CLOSE.get(..length));
    let tag = starts.find(|start| text.ends_with(start)).map_or(0, str::len);
    let thoughts = text.get(..text.len() - tag).unwrap_or_default();
    text.len() - thoughts.trim_end().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::message::{ChatMessage, ToolCall};

    /// A model that streams these pieces, and whose whole answer is their text.
    struct Pieces(Vec<String>, Option<ErrorKind>);

    #[async_trait]
    impl ChatModel for Pieces {
        async fn chat(&self, _: &ChatRequest) -> Result<ChatResponse> {
            let call = ToolCall::new("c", "f", "{}");
            let builder = AiMessage::builder().text(self.0.concat());
            let builder = if self.0.len() == 1 { builder.tool_calls([call]) } else { builder };
            Ok(ChatResponse::new(builder.build()))
        }

        fn stream<'a>(&'a self, _: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
            let pieces = self.0.iter().cloned().map(|piece| Ok(ModelStreamEvent::Text(piece)));
            let end = match self.1 {
                Some(kind) => {
                    Err(Error::new(kind, "broken").with_source(PartialAnswer::new(self.0.concat())))
                }
                None => Ok(ModelStreamEvent::Completed(Box::new(ChatResponse::new(
                    AiMessage::new(self.0.concat()),
                )))),
            };
            stream::iter(pieces.chain([end]).collect::<Vec<_>>()).boxed()
        }
    }

    fn request() -> ChatRequest {
        ChatRequest::new([ChatMessage::user("Hi!")])
    }

    /// Returns the text and the thinking of the pieces, and the end.
    async fn streamed(model: Pieces) -> (String, String, Result<AiMessage>) {
        let model = ThinkBlockModel::new(model);
        let request = request();
        let mut events = model.stream(&request);
        let (mut text, mut thinking) = (String::new(), String::new());
        while let Some(event) = events.next().await {
            match event {
                Ok(ModelStreamEvent::Text(piece)) => text.push_str(&piece),
                Ok(ModelStreamEvent::Thinking(piece)) => thinking.push_str(&piece),
                Ok(ModelStreamEvent::Completed(response)) => {
                    return (text, thinking, Ok(response.message));
                }
                Ok(other) => panic!("{other:?}"),
                Err(error) => return (text, thinking, Err(error)),
            }
        }
        panic!("no end")
    }

    const CASES: [(&str, &str, &str); 9] = [
        ("<think>\nHm, é.\n</think>\n\nFour.", "Four.", "Hm, é."),
        (" \n<think>a</think>b</think>", "b</think>", "a"),
        ("<think></think>b", "b", ""),
        ("<think> a < b </ c ", "", "a < b </ c"),
        ("<think>a</thin", "", "a</thin"),
        ("Four. <think>a</think>", "Four. <think>a</think>", ""),
        ("<thin", "<thin", ""),
        ("  plain", "  plain", ""),
        ("", "", ""),
    ];

    #[tokio::test]
    async fn block_is_moved_to_the_thinking() {
        for (answer, text, thinking) in CASES {
            let model = ThinkBlockModel::new(Pieces(vec![answer.to_owned(), String::new()], None));
            let message = model.chat(&request()).await.unwrap().message;
            let said = (message.text().unwrap_or_default(), message.thinking().unwrap_or_default());
            assert_eq!(said, (text, thinking), "{answer}");
        }
    }

    #[tokio::test]
    async fn stream_split_anywhere_gives_the_same_answer() {
        for (answer, text, thinking) in CASES {
            for at in (0..=answer.len()).filter(|at| answer.is_char_boundary(*at)) {
                let (begin, end) = answer.split_at(at);
                let pieces = Pieces(vec![begin.to_owned(), end.to_owned()], None);
                let (said, thought, message) = streamed(pieces).await;
                assert_eq!((&*said, &*thought), (text, thinking), "{answer} at {at}");
                let message = message.unwrap();
                assert_eq!(message.text().unwrap_or_default(), text, "{answer} at {at}");
                assert_eq!(message.thinking().unwrap_or_default(), thinking, "{answer} at {at}");
            }
            let letters = answer.chars().map(String::from).collect();
            let (said, thought, _) = streamed(Pieces(letters, None)).await;
            assert_eq!((&*said, &*thought), (text, thinking), "{answer} by letters");
        }
    }

    #[tokio::test]
    async fn tool_calls_of_an_answer_without_text_are_kept() {
        let model = ThinkBlockModel::new(Pieces(vec!["<think>a</think>".to_owned()], None));
        let message = model.chat(&request()).await.unwrap().message;
        assert_eq!((message.text(), message.tool_calls().len()), (None, 1));
    }

    #[tokio::test]
    async fn partial_answer_of_an_error_equals_the_pieces() {
        let pieces = vec!["<think>a</think>b".to_owned()];
        let (text, thinking, end) = streamed(Pieces(pieces, Some(ErrorKind::Connection))).await;
        let error = end.unwrap_err();
        let partial = error.detail::<PartialAnswer>().unwrap();
        assert_eq!((&*partial.text, &*partial.thinking), ("b", "a"));
        assert_eq!((text, thinking), (partial.text.clone(), partial.thinking.clone()));
    }
}

//! Checks of what a model says while it is told.

/// What a chunk guardrail thinks of a piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkVerdict {
    /// It is told as it is.
    Pass,
    /// This is told instead; nothing, if it is empty.
    Rewrite(String),
    /// The call fails with this reason. What was told before stays told.
    Block(Box<str>),
}

/// Checks the text of an answer piece by piece, so that a stream need not wait for its end.
///
/// One is made for each answer, and sees its text in order, in the pieces in which it comes: a word may be
/// cut in two. One that has to see more before it decides keeps the piece back with
/// `Rewrite(String::new())`, and tells it later or in [`finish`](Self::finish). What it makes of the pieces
/// is the answer: it is what is returned and remembered. The text of an answer that is not streamed is one
/// piece.
///
/// What a model thinks and the arguments of its tool calls are not shown to it, except for the tool that
/// takes an answer with a type: these arguments are the answer's text.
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::{ChunkGuardrail, ChunkVerdict};
/// use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
/// use ai_services::{AnswerStream, ai_service};
///
/// /// Lowers the voice.
/// struct Quiet;
///
/// impl ChunkGuardrail for Quiet {
///     fn check(&mut self, text: &str) -> ChunkVerdict {
///         ChunkVerdict::Rewrite(text.to_lowercase())
///     }
///
///     fn name(&self) -> &str {
///         "quiet"
///     }
/// }
///
/// #[ai_service]
/// trait Assistant {
///     fn chat(&self, message: &str) -> AnswerStream;
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let model = ScriptedChatModel::new([ScriptedAnswer::pieces(["HEL", "LO."])]);
/// let assistant =
///     AssistantService::builder().chat_model(model).chunk_guardrail(|| Quiet).build()?;
/// let mut text = assistant.chat("Hi!").text();
/// assert_eq!(text.next().await.transpose()?.as_deref(), Some("hel"));
/// assert_eq!(text.next().await.transpose()?.as_deref(), Some("lo."));
/// # Ok(())
/// # }
/// ```
pub trait ChunkGuardrail: Send {
    /// What it thinks of the next piece, which is never empty.
    fn check(&mut self, text: &str) -> ChunkVerdict;

    /// The text is over: a [`Rewrite`](ChunkVerdict::Rewrite) tells what was kept back. By default
    /// nothing is.
    fn finish(&mut self) -> ChunkVerdict {
        ChunkVerdict::Pass
    }

    /// The name in errors.
    fn name(&self) -> &str;
}

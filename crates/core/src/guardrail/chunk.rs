//! Guardrails that check a streamed answer piece by piece.

/// The decision of a chunk guardrail about a piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkVerdict {
    /// The piece is delivered unchanged.
    Pass,
    /// This text is delivered instead. An empty text drops the piece.
    Rewrite(String),
    /// The call fails with this reason. Text that was delivered before cannot be withdrawn.
    Block(Box<str>),
}

/// Checks the text of an answer piece by piece, so that a stream does not have to wait for the end.
///
/// A new guardrail is created for each answer. It receives the text in order, in the pieces that the
/// model sends: a word may be split between two pieces. A guardrail that needs more text before it can
/// decide withholds the piece with `Rewrite(String::new())`, and delivers it later or in
/// [`finish`](Self::finish). The rewritten text is the answer: it is returned and stored in the memory.
/// An answer that is not streamed is checked as one piece.
///
/// The model's reasoning and the arguments of tool calls are not checked. Exception: the arguments of
/// the tool through which the model returns a typed answer are the text of the answer.
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::{ChunkGuardrail, ChunkVerdict};
/// use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
/// use ai_services::{AnswerStream, ai_service};
///
/// /// Converts the answer to lower case.
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
    /// Checks the next piece, which is never empty.
    fn check(&mut self, text: &str) -> ChunkVerdict;

    /// Called at the end of the text. A [`Rewrite`](ChunkVerdict::Rewrite) delivers withheld text.
    /// Default: [`Pass`](ChunkVerdict::Pass), which delivers no more text.
    fn finish(&mut self) -> ChunkVerdict {
        ChunkVerdict::Pass
    }

    /// Returns the name of the guardrail for error messages.
    fn name(&self) -> &str;
}

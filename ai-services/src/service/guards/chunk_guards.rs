//! The chunk guardrails of one answer.

use super::set::Guards;
use crate::guardrail::{ChunkGuardrail, ChunkVerdict, GuardrailStage, Objection, Rejection};
use crate::message::ToolCall;
use crate::model::ChatResponse;
use crate::{Error, Result};

/// The chunk guardrails of one answer, with their state.
pub(in crate::service) struct ChunkGuards<'a> {
    guards: &'a Guards,
    text: ChunkChain,
    answer_tool: ChunkChain,
}

/// The chunk guardrails of one channel. Each receives the output of the one before it.
#[derive(Default)]
struct ChunkChain {
    guardrails: Vec<Box<dyn ChunkGuardrail>>,
    /// The text that went in.
    received: String,
    /// The text that came out.
    released: String,
}

/// A text in the stream of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::service) enum Channel {
    /// The text of the message.
    Text,
    /// The arguments of the tool whose arguments are the answer.
    AnswerTool,
}

impl<'a> ChunkGuards<'a> {
    /// Creates the guardrails of a new answer.
    pub(in crate::service) fn new(guards: &'a Guards) -> Self {
        let chain = || ChunkChain { guardrails: guards.chunk_chain(), ..ChunkChain::default() };
        Self { guards, text: chain(), answer_tool: chain() }
    }

    /// Checks a piece and returns the text to deliver.
    ///
    /// # Errors
    ///
    /// If a guardrail blocks the piece.
    pub(in crate::service) fn check(&mut self, channel: Channel, text: String) -> Result<String> {
        let chain = self.chain(channel);
        if chain.guardrails.is_empty() {
            return Ok(text);
        }
        chain.received.push_str(&text);
        chain.pass(text, 0)
    }

    /// Ends a channel and returns the rest of the text to deliver.
    ///
    /// # Errors
    ///
    /// If a guardrail blocks the rest.
    pub(in crate::service) fn finish(&mut self, channel: Channel) -> Result<String> {
        self.chain(channel).finish()
    }

    /// Returns the answer with the rewrites of the guardrails. If the answer differs from its pieces,
    /// the guardrails have not seen it, so it is checked as a whole.
    ///
    /// # Errors
    ///
    /// If a guardrail blocks the whole answer.
    pub(in crate::service) fn apply_to(
        self,
        mut response: Box<ChatResponse>,
        answer_tool: Option<&str>,
    ) -> Result<Box<ChatResponse>> {
        let text = response.message.text();
        let arguments = answer_arguments(&response, answer_tool);
        if !self.text.has_received(text) || !self.answer_tool.has_received(arguments) {
            return self.guards.check_whole(response, answer_tool);
        }
        let text = self.text.into_rewrite(text);
        let arguments = self.answer_tool.into_rewrite(arguments);
        if let Some(text) = text {
            response.message = response.message.with_text(text);
        }
        if let Some(arguments) = arguments {
            let mut calls = response.message.tool_calls().to_vec();
            if let Some(own) = calls.iter_mut().find(|call| Some(call.name()) == answer_tool) {
                *own = ToolCall::new(own.id(), own.name(), arguments);
            }
            response.message = response.message.with_tool_calls(calls);
        }
        Ok(response)
    }

    fn chain(&mut self, channel: Channel) -> &mut ChunkChain {
        match channel {
            Channel::Text => &mut self.text,
            Channel::AnswerTool => &mut self.answer_tool,
        }
    }
}

/// Returns the arguments of the first call of the tool whose arguments are the answer.
fn answer_arguments<'a>(response: &'a ChatResponse, answer_tool: Option<&str>) -> Option<&'a str> {
    let mut calls = response.message.tool_calls().iter();
    calls.find(|call| Some(call.name()) == answer_tool).map(ToolCall::arguments)
}

impl ChunkChain {
    /// Passes a piece through the guardrails from index `first` on.
    fn pass(&mut self, mut text: String, first: usize) -> Result<String> {
        for guardrail in self.guardrails.iter_mut().skip(first) {
            if text.is_empty() {
                break;
            }
            match guardrail.check(&text) {
                ChunkVerdict::Pass => {}
                ChunkVerdict::Rewrite(rewritten) => text = rewritten,
                ChunkVerdict::Block(reason) => return Err(blocked(guardrail.name(), reason)),
            }
        }
        self.released.push_str(&text);
        Ok(text)
    }

    /// Returns `true` if the received pieces add up to this text.
    fn has_received(&self, whole: Option<&str>) -> bool {
        self.guardrails.is_empty() || self.received == whole.unwrap_or_default()
    }

    /// Returns the released text if it differs from the original.
    fn into_rewrite(self, original: Option<&str>) -> Option<String> {
        let differs = !self.guardrails.is_empty() && self.released != original.unwrap_or_default();
        differs.then_some(self.released)
    }

    /// Passes the rest that each guardrail held back through the guardrails after it.
    fn finish(&mut self) -> Result<String> {
        let mut rest = String::new();
        for index in 0..self.guardrails.len() {
            let Some(guardrail) = self.guardrails.get_mut(index) else { break };
            match guardrail.finish() {
                ChunkVerdict::Pass => {}
                ChunkVerdict::Rewrite(text) => rest.push_str(&self.pass(text, index + 1)?),
                ChunkVerdict::Block(reason) => return Err(blocked(guardrail.name(), reason)),
            }
        }
        Ok(rest)
    }
}

impl Guards {
    /// Passes a whole answer through the chunk guardrails, each channel in one piece.
    ///
    /// # Errors
    ///
    /// If a guardrail blocks it. The error contains the usage of the answer.
    pub(in crate::service) fn check_whole(
        &self,
        response: Box<ChatResponse>,
        answer_tool: Option<&str>,
    ) -> Result<Box<ChatResponse>> {
        if !self.has_chunk() {
            return Ok(response);
        }
        let mut guards = ChunkGuards::new(self);
        let arguments = answer_arguments(&response, answer_tool);
        let channels = [(Channel::Text, response.message.text()), (Channel::AnswerTool, arguments)];
        let usage = response.usage;
        for (channel, text) in channels {
            let checked = guards.check(channel, text.unwrap_or_default().to_owned());
            let finished = checked.and_then(|_| guards.finish(channel));
            finished.map_err(|error| error.with_usage(usage))?;
        }
        guards.apply_to(response, answer_tool)
    }
}

fn blocked(guardrail: &str, reason: Box<str>) -> Error {
    let objections = vec![Objection::new(guardrail, reason)];
    Rejection::new(GuardrailStage::Output, objections).into_error()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::message::AiMessage;

    /// Releases whole words only, and hides one.
    #[derive(Default)]
    struct Hides(String);

    impl Hides {
        fn take(&mut self, end: usize) -> String {
            let words: String = self.0.drain(..end).collect();
            words.replace("secret", "***")
        }
    }

    impl ChunkGuardrail for Hides {
        fn check(&mut self, text: &str) -> ChunkVerdict {
            self.0.push_str(text);
            let end = self.0.rfind(' ').map_or(0, |space| space + 1);
            ChunkVerdict::Rewrite(self.take(end))
        }

        fn finish(&mut self) -> ChunkVerdict {
            let end = self.0.len();
            ChunkVerdict::Rewrite(self.take(end))
        }

        fn name(&self) -> &str {
            "hides"
        }
    }

    /// Blocks a word that the guardrail before it should have hidden.
    struct Blocks;

    impl ChunkGuardrail for Blocks {
        fn check(&mut self, text: &str) -> ChunkVerdict {
            if text.contains("secret") {
                ChunkVerdict::Block("a secret".into())
            } else {
                ChunkVerdict::Pass
            }
        }

        fn name(&self) -> &str {
            "blocks"
        }
    }

    fn guards(hides: bool) -> Guards {
        let mut guards = Guards::default();
        if hides {
            guards.add_chunk(Hides::default);
        }
        guards.add_chunk(|| Blocks);
        guards
    }

    fn released(guards: &Guards, pieces: &[&str]) -> Result<Vec<String>> {
        let mut chunks = ChunkGuards::new(guards);
        let mut released = Vec::new();
        for piece in pieces {
            released.push(chunks.check(Channel::Text, (*piece).to_owned())?);
        }
        released.push(chunks.finish(Channel::Text)?);
        Ok(released)
    }

    #[test]
    fn held_back_text_is_released_later() {
        let released = released(&guards(true), &["a sec", "ret b", " c"]).unwrap();
        assert_eq!(released, ["a ", "*** ", "b ", "c"]);
    }

    #[test]
    fn later_guardrails_receive_the_output_of_earlier_ones() {
        assert!(released(&guards(true), &["secret"]).is_ok());
        let error = released(&guards(false), &["secret"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Guardrail);
        assert_eq!(error.detail::<Rejection>().unwrap().objections[0].guardrail.as_ref(), "blocks");
    }

    #[test]
    fn answer_is_the_released_text() {
        let calls = [ToolCall::new("1", "other", "secret"), ToolCall::new("2", "final", "secret")];
        let message = AiMessage::builder().text("the secret").tool_calls(calls).build();
        let mut guards = Guards::default();
        guards.add_chunk(Hides::default);
        let response =
            guards.check_whole(Box::new(ChatResponse::new(message)), Some("final")).unwrap();
        assert_eq!(response.message.text(), Some("the ***"));
        let arguments = response.message.tool_calls().iter().map(ToolCall::arguments);
        assert_eq!(arguments.collect::<Vec<_>>(), ["secret", "***"]);
    }

    #[test]
    fn error_of_a_blocked_answer_contains_its_usage() {
        let usage = crate::model::TokenUsage::new(1, 2);
        let response = ChatResponse::new(AiMessage::new("secret")).with_usage(usage);
        let error = guards(false).check_whole(Box::new(response), None).unwrap_err();
        assert_eq!(error.usage(), Some(&usage));
    }
}

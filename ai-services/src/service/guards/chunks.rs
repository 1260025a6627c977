//! The guardrails that see an answer piece by piece.

use super::Guards;
use crate::error::{Error, Result};
use crate::guardrail::{ChunkGuardrail, ChunkVerdict, GuardrailStage, Objection, Rejection};
use crate::message::ToolCall;
use crate::model::ChatResponse;

/// The chunk guardrails of one answer, and what they made of it.
pub(in crate::service) struct Chunks<'a> {
    guards: &'a Guards,
    /// For the text.
    text: Chain,
    /// For what a tool takes as the answer.
    answer: Chain,
}

/// Guardrails one behind the other: what the first one tells, the second one sees.
#[derive(Default)]
struct Chain {
    guardrails: Vec<Box<dyn ChunkGuardrail>>,
    seen: String,
    told: String,
}

/// A part of an answer that is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::service) enum Part {
    Text,
    /// What a tool takes as the answer.
    Answer,
}

impl<'a> Chunks<'a> {
    /// New guardrails for a new answer.
    pub(in crate::service) fn new(guards: &'a Guards) -> Self {
        let chain = || Chain {
            guardrails: guards.chunk.iter().map(|make| make()).collect(),
            ..Chain::default()
        };
        Self { guards, text: chain(), answer: chain() }
    }

    /// What is told of a piece.
    ///
    /// # Errors
    ///
    /// If a guardrail blocks it.
    pub(in crate::service) fn check(&mut self, part: Part, text: String) -> Result<String> {
        let chain = self.chain(part);
        match chain.guardrails.is_empty() {
            true => Ok(text),
            false => {
                chain.seen.push_str(&text);
                chain.tell(text, 0)
            }
        }
    }

    /// What is told at the end of a part.
    ///
    /// # Errors
    ///
    /// If a guardrail blocks it.
    pub(in crate::service) fn finish(&mut self, part: Part) -> Result<String> {
        self.chain(part).finish()
    }

    /// The answer as it was told. One that is not what its pieces were is checked as a whole, because
    /// nobody has seen it yet.
    ///
    /// # Errors
    ///
    /// If a guardrail blocks it then.
    pub(in crate::service) fn applied_to(
        self,
        mut response: ChatResponse,
        answer_tool: Option<&str>,
    ) -> Result<ChatResponse> {
        let message = &response.message;
        let own = message.tool_calls().iter().find(|call| Some(call.name()) == answer_tool);
        let own = own.map(ToolCall::arguments);
        if !self.text.has_seen(message.text()) || !self.answer.has_seen(own) {
            return self.guards.pass_whole(response, answer_tool);
        }
        let text = self.text.into_change(message.text());
        let answer = self.answer.into_change(own);
        if let Some(text) = text {
            response.message = response.message.with_text(text);
        }
        if let Some(arguments) = answer {
            let mut calls = response.message.tool_calls().to_vec();
            if let Some(own) = calls.iter_mut().find(|call| Some(call.name()) == answer_tool) {
                *own = ToolCall::new(own.id(), own.name(), arguments);
            }
            response.message = response.message.with_tool_calls(calls);
        }
        Ok(response)
    }

    fn chain(&mut self, part: Part) -> &mut Chain {
        match part {
            Part::Text => &mut self.text,
            Part::Answer => &mut self.answer,
        }
    }
}

impl Chain {
    /// Hands a piece to the guardrails from this one on.
    fn tell(&mut self, mut text: String, from: usize) -> Result<String> {
        for guardrail in self.guardrails.iter_mut().skip(from) {
            if text.is_empty() {
                break;
            }
            match guardrail.check(&text) {
                ChunkVerdict::Pass => {}
                ChunkVerdict::Rewrite(instead) => text = instead,
                ChunkVerdict::Block(reason) => return Err(blocked(guardrail.name(), reason)),
            }
        }
        self.told.push_str(&text);
        Ok(text)
    }

    /// Whether the pieces together are this.
    fn has_seen(&self, whole: Option<&str>) -> bool {
        self.guardrails.is_empty() || self.seen == whole.unwrap_or_default()
    }

    /// What was told, if that is something else.
    fn into_change(self, original: Option<&str>) -> Option<String> {
        let is_other = !self.guardrails.is_empty() && self.told != original.unwrap_or_default();
        is_other.then_some(self.told)
    }

    /// What each guardrail kept back goes through those behind it.
    fn finish(&mut self) -> Result<String> {
        let mut rest = String::new();
        for index in 0..self.guardrails.len() {
            let Some(guardrail) = self.guardrails.get_mut(index) else { break };
            match guardrail.finish() {
                ChunkVerdict::Pass => {}
                ChunkVerdict::Rewrite(text) => {
                    rest.push_str(&self.tell(text, index + 1)?);
                }
                ChunkVerdict::Block(reason) => return Err(blocked(guardrail.name(), reason)),
            }
        }
        Ok(rest)
    }
}

impl Guards {
    /// A whole answer as the chunk guardrails tell it: each part is one piece.
    ///
    /// # Errors
    ///
    /// If one of them blocks it. The error knows what the answer cost.
    pub(in crate::service) fn pass_whole(
        &self,
        response: ChatResponse,
        answer_tool: Option<&str>,
    ) -> Result<ChatResponse> {
        if self.chunk.is_empty() {
            return Ok(response);
        }
        let mut chunks = Chunks::new(self);
        let text = response.message.text();
        let answer = response.message.tool_calls().iter();
        let answer =
            answer.filter(|call| Some(call.name()) == answer_tool).map(ToolCall::arguments);
        let parts = [(Part::Text, text), (Part::Answer, answer.take(1).next())];
        let usage = response.usage;
        for (part, text) in parts {
            let told = chunks.check(part, text.unwrap_or_default().to_owned());
            told.and_then(|_| chunks.finish(part)).map_err(|error| error.with_usage(usage))?;
        }
        chunks.applied_to(response, answer_tool)
    }
}

fn blocked(guardrail: &str, reason: Box<str>) -> Error {
    let objections = vec![Objection::new(guardrail, reason)];
    Rejection::new(GuardrailStage::Output, objections).into_error()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::message::AiMessage;

    /// Tells whole words only, and hides one.
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

    /// Blocks what the one before it should have hidden.
    struct Blocks;

    impl ChunkGuardrail for Blocks {
        fn check(&mut self, text: &str) -> ChunkVerdict {
            match text.contains("secret") {
                true => ChunkVerdict::Block("a secret".into()),
                false => ChunkVerdict::Pass,
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

    fn told(guards: &Guards, pieces: &[&str]) -> Result<Vec<String>> {
        let mut chunks = Chunks::new(guards);
        let mut told = Vec::new();
        for piece in pieces {
            told.push(chunks.check(Part::Text, (*piece).to_owned())?);
        }
        told.push(chunks.finish(Part::Text)?);
        Ok(told)
    }

    #[test]
    fn what_was_kept_back_is_told_later() {
        let told = told(&guards(true), &["a sec", "ret b", " c"]).unwrap();
        assert_eq!(told, ["a ", "*** ", "b ", "c"]);
    }

    #[test]
    fn later_guardrails_see_what_earlier_ones_tell() {
        assert!(told(&guards(true), &["secret"]).is_ok());
        let error = told(&guards(false), &["secret"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Guardrail);
        assert_eq!(error.detail::<Rejection>().unwrap().objections[0].guardrail.as_ref(), "blocks");
    }

    #[test]
    fn answer_is_what_was_told() {
        let calls = [ToolCall::new("1", "other", "secret"), ToolCall::new("2", "final", "secret")];
        let message = AiMessage::builder().text("the secret").tool_calls(calls).build();
        let mut guards = Guards::default();
        guards.add_chunk(Hides::default);
        let response = guards.pass_whole(ChatResponse::new(message), Some("final")).unwrap();
        assert_eq!(response.message.text(), Some("the ***"));
        let arguments = response.message.tool_calls().iter().map(ToolCall::arguments);
        assert_eq!(arguments.collect::<Vec<_>>(), ["secret", "***"]);
    }

    #[test]
    fn blocked_answer_tells_what_it_cost() {
        let usage = crate::model::TokenUsage::new(1, 2);
        let response = ChatResponse::new(AiMessage::new("secret")).with_usage(usage);
        let error = guards(false).pass_whole(response, None).unwrap_err();
        assert_eq!(error.usage(), Some(&usage));
    }
}

//! What comes before and after the model: retrieval and guardrails.

use super::AiServiceBuilder;
use crate::guardrail::{ChunkGuardrail, InputGuardrail, OutputGuardrail};
use crate::rag::{ContentRetriever, DefaultRetrievalAugmentor, RetrievalAugmentor};
use crate::service::opening::Remembered;
use std::sync::Arc;

impl<S, Model, Memory, Moderation> AiServiceBuilder<S, Model, Memory, Moderation> {
    /// Sets where something is looked up for what the user said. What is found is sent behind it, and is in
    /// [`Response::sources`](crate::Response::sources).
    ///
    /// Short for a [`retrieval_augmentor`](Self::retrieval_augmentor) made [of](DefaultRetrievalAugmentor::of) this retriever; the last call of
    /// either counts.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::rag::{ContentRetriever, Query, RetrievedContent};
    /// use ai_services::testing::ScriptedChatModel;
    /// use ai_services::{Response, ai_service};
    ///
    /// /// Knows one thing.
    /// struct Terms;
    ///
    /// #[ai_services::async_trait]
    /// impl ContentRetriever for Terms {
    ///     async fn retrieve(&self, _: &Query) -> ai_services::Result<Vec<RetrievedContent>> {
    ///         Ok(vec![RetrievedContent::from("Bookings can be cancelled for 7 days.")])
    ///     }
    /// }
    ///
    /// #[ai_service]
    /// trait Support {
    ///     async fn chat(&self, message: &str) -> ai_services::Result<Response<String>>;
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> ai_services::Result<()> {
    /// let model = ScriptedChatModel::replies(["For 7 days."]);
    /// let support =
    ///     SupportService::builder().chat_model(model.clone()).content_retriever(Terms).build()?;
    /// let response = support.chat("Can I cancel?").await?;
    /// assert_eq!(response.sources.len(), 1);
    /// let sent = model.messages_of(0);
    /// assert!(sent[0].text().is_some_and(|text| text.contains("for 7 days")));
    /// # Ok(())
    /// # }
    /// ```
    pub fn content_retriever(self, retriever: impl ContentRetriever + 'static) -> Self {
        self.retrieval_augmentor(DefaultRetrievalAugmentor::of(retriever))
    }

    /// Sets who looks something up for what the user said, and puts it into the message that is sent.
    pub fn retrieval_augmentor(mut self, augmentor: impl RetrievalAugmentor + 'static) -> Self {
        self.parts.augmentor = Some(Arc::new(augmentor));
        self
    }

    /// Sets what is remembered of a message for which something was retrieved: the user's own words by
    /// default.
    pub fn remember(mut self, remembered: Remembered) -> Self {
        self.parts.remembered = remembered;
        self
    }

    /// Adds a guardrail of what users say. May be called several times.
    ///
    /// Guardrails run in order: those of the builder, those of the trait's `#[input_guardrails(…)]`, those
    /// of the method's. They see the message without what was looked up for it, and beside it what was
    /// found. What a guardrail says instead is what the next one sees, what is moderated, sent and
    /// remembered. A message that is rejected is not sent to the model, and not remembered.
    ///
    /// Something is looked up before, for the message as it was written, so whoever is asked for that sees
    /// what a guardrail takes out: an embedding model, a search engine, the model of a query transformer.
    ///
    /// # Differences from LangChain4j
    ///
    /// There the guardrails of the builder replace those of the method, and those of the method replace
    /// those of the interface. Here all of them run, so that none is bypassed by adding another.
    pub fn input_guardrail(mut self, guardrail: impl InputGuardrail + 'static) -> Self {
        self.parts.guards.add_input(guardrail);
        self
    }

    /// Adds a guardrail of what models answer. May be called several times.
    ///
    /// Guardrails run in order: those of the builder, those of the trait's `#[output_guardrails(…)]`, those
    /// of the method's. They see the answer that ends a turn, also if results of tools are the answer, but
    /// not what a model says beside calls of tools. They see it before it is read as a value. Once one wants
    /// the model to be asked again, the whole chain runs for its next answer. Rejected answers are in
    /// [`Response::rejected_answers`](crate::Response::rejected_answers) and not in the memory; what they
    /// cost is counted.
    ///
    /// Who wants the same to be asked again behind a [cache](crate::combinators) gets the same answer: such a
    /// guardrail had better reprompt.
    ///
    /// Of a stream, nothing that belongs to an answer is told before the answer was accepted: its text, what
    /// the model thought before it, results of tools that are the answer. If this takes too long, use
    /// [`chunk_guardrail`](Self::chunk_guardrail). What the model thought is told with an answer that is
    /// accepted as it is, and dropped from one that is rewritten. Whoever minds what is in it looks at the
    /// [thinking](crate::message::AiMessage::thinking) of the message as well.
    ///
    /// # Differences from LangChain4j
    ///
    /// All guardrails run, as with [`input_guardrail`](Self::input_guardrail). The accepted answer is
    /// remembered, not the first one. A guardrail may want another answer after an earlier one rewrote it:
    /// the rewritten text is dropped. One that lets the call fail does so even if a later one would ask
    /// again. Answers that tools gave are checked as well.
    pub fn output_guardrail(mut self, guardrail: impl OutputGuardrail + 'static) -> Self {
        self.parts.guards.add_output(guardrail);
        self
    }

    /// Adds a guardrail that sees the text of answers piece by piece; `make` makes one for each answer of
    /// the model. May be called several times: each sees what the one before it tells.
    ///
    /// Of an answer with calls of tools, the text beside them is checked as well; results of tools are not,
    /// even if they are the answer. A text that the pieces do not amount to is checked as a whole.
    pub fn chunk_guardrail<G: ChunkGuardrail + 'static>(
        mut self,
        make: impl Fn() -> G + Send + Sync + 'static,
    ) -> Self {
        self.parts.guards.add_chunk(make);
        self
    }

    /// Sets how often a model is asked again because of output guardrails: twice by default, so that it
    /// is asked three times in all. `#[output_guardrails(…, max_retries = N)]` wins.
    ///
    /// Answers that cannot be read have a number of their own: [`output_retries`](Self::output_retries).
    ///
    /// # Differences from LangChain4j
    ///
    /// There the number is that of all calls of the model.
    #[doc(alias = "maxRetries")]
    pub fn max_guardrail_retries(mut self, retries: usize) -> Self {
        self.parts.guards.set_max_retries(retries);
        self
    }
}

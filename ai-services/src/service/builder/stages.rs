//! The builder of services: retrieval and guardrails.

use super::service_builder::AiServiceBuilder;
use crate::guardrail::{ChunkGuardrail, InputGuardrail, OutputGuardrail};
use crate::rag::{DefaultRetrievalAugmentor, RetrievalAugmentor, Route};
use crate::service::remembered::Remembered;
use std::sync::Arc;

impl<S, Model, Memory, Moderation> AiServiceBuilder<S, Model, Memory, Moderation> {
    /// Sets the retriever of content for user messages. The content is sent after the message, and is
    /// in [`Response::sources`](crate::Response::sources).
    ///
    /// Shorthand for a [`retrieval_augmentor`](Self::retrieval_augmentor)
    /// [from](DefaultRetrievalAugmentor::from_retriever) this retriever. The last call of either method wins.
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
    ///
    /// By default, the retriever times out after 30 seconds, and its failure fails the call. A
    /// [`Route`](crate::rag::Route) sets another time limit or failure policy:
    ///
    /// ```
    /// use ai_services::rag::{FailurePolicy, Query, RetrievedContent, Route};
    /// # use ai_services::ai_service;
    /// # use ai_services::testing::ScriptedChatModel;
    /// #
    /// # #[ai_service]
    /// # trait Support {
    /// #     async fn chat(&self, message: &str) -> ai_services::Result<String>;
    /// # }
    /// # fn main() -> ai_services::Result<()> {
    /// # let terms = |_: Query| async { Ok(vec![RetrievedContent::from("7 days.")]) };
    /// # let model = ScriptedChatModel::replies(["For 7 days."]);
    /// let support = SupportService::builder()
    ///     .chat_model(model)
    ///     .content_retriever(Route::new(terms).on_failure(FailurePolicy::Skip))
    ///     .build()?;
    /// # let _ = support;
    /// # Ok(())
    /// # }
    /// ```
    pub fn content_retriever(self, retriever: impl Into<Route>) -> Self {
        self.retrieval_augmentor(DefaultRetrievalAugmentor::from_retriever(retriever))
    }

    /// Sets the augmentor, which retrieves content for user messages and adds it to the prompt.
    pub fn retrieval_augmentor(mut self, augmentor: impl RetrievalAugmentor + 'static) -> Self {
        self.parts.settings.augmentor = Some(Arc::new(augmentor));
        self
    }

    /// Sets the form of the user message that is remembered when content was retrieved for it.
    /// Default: [`Remembered::UserMessage`].
    pub fn remembered(mut self, remembered: Remembered) -> Self {
        self.parts.settings.remembered = remembered;
        self
    }

    /// Adds an input guardrail, which checks user messages. May be called several times.
    ///
    /// Guardrails run in order: the builder's, then those of the trait's `#[input_guardrails(…)]`,
    /// then those of the method's. They receive the message without the retrieved content, and the
    /// content next to it. A rewritten message is passed to the next guardrail, and is moderated, sent
    /// and remembered. A rejected message is neither sent to the model nor remembered.
    ///
    /// Retrieval runs before the guardrails, with the original message. Text that a guardrail removes
    /// is therefore sent to the embedding model, the search engine or the model of a query
    /// transformer.
    ///
    /// # Differences from LangChain4j
    ///
    /// In LangChain4j, guardrails of the builder replace those of the method, which replace those of
    /// the interface. Here all of them run, so that adding one bypasses none.
    pub fn input_guardrail(mut self, guardrail: impl InputGuardrail + 'static) -> Self {
        self.parts.guards.add_input(guardrail);
        self
    }

    /// Adds an output guardrail, which checks answers. May be called several times.
    ///
    /// Guardrails run in order: the builder's, then those of the trait's `#[output_guardrails(…)]`,
    /// then those of the method's. They receive the answer that ends a turn before it is parsed, also
    /// if the results of tools are the answer. Text next to tool calls is not checked. If a guardrail
    /// requests another answer, all guardrails run again for the next answer. Rejected answers are in
    /// [`Response::rejected_answers`](crate::Response::rejected_answers). They are not remembered, but
    /// their usage counts.
    ///
    /// Behind a [cache](crate::combinators), `Retry` returns the cached answer; use `Reprompt`.
    ///
    /// A stream delivers no part of an answer before the answer was accepted: neither its text, nor
    /// the thinking before it, nor the results of tools that are the answer. If this takes too long,
    /// use [`chunk_guardrail`](Self::chunk_guardrail). The thinking is delivered with an answer that
    /// is accepted unchanged, and dropped from a rewritten answer. A guardrail that must check the
    /// thinking reads it from the [message](crate::message::AiMessage::thinking).
    ///
    /// # Differences from LangChain4j
    ///
    /// All guardrails run, as with [`input_guardrail`](Self::input_guardrail). The accepted answer is
    /// remembered, not the first one. If a guardrail requests another answer after an earlier one
    /// rewrote the text, the rewritten text is dropped. A guardrail that fails the call takes
    /// precedence over a later one that requests another answer. Answers of tools are checked as well.
    pub fn output_guardrail(mut self, guardrail: impl OutputGuardrail + 'static) -> Self {
        self.parts.guards.add_output(guardrail);
        self
    }

    /// Adds a chunk guardrail, which checks the text of answers piece by piece. `create` returns a new
    /// guardrail for each response of the model. May be called several times: each guardrail receives
    /// the output of the one before it.
    ///
    /// Text next to tool calls is checked as well. Results of tools are not checked, even if they are
    /// the answer. If the pieces do not add up to the text of the response, the text is checked as a
    /// whole.
    pub fn chunk_guardrail<G: ChunkGuardrail + 'static>(
        mut self,
        create: impl Fn() -> G + Send + Sync + 'static,
    ) -> Self {
        self.parts.guards.add_chunk(create);
        self
    }

    /// Sets the largest number of retries because of output guardrails. Default: 2, which makes at
    /// most 3 calls of the model. `#[output_guardrails(…, max_retries = N)]` takes precedence.
    ///
    /// Answers that cannot be parsed have a limit of their own:
    /// [`output_retries`](Self::output_retries).
    ///
    /// # Differences from LangChain4j
    ///
    /// In LangChain4j, the limit counts all calls of the model.
    #[doc(alias = "maxRetries")]
    pub fn max_guardrail_retries(mut self, retries: usize) -> Self {
        self.parts.guards.set_max_retries(retries);
        self
    }
}

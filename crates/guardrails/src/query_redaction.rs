//! Queries without what is sensitive.

use crate::Redaction;
use ai_services_core::Result;
use ai_services_core::rag::{Query, QueryTransformer};
use async_trait::async_trait;
use std::borrow::Cow;

/// Searches without what is sensitive: the query has placeholders, and so has the user's message in the
/// [turn](Query::turn) that routers, retrievers and aggregators see.
///
/// Input guardrails come after retrieval, so that they see what was found. What must not reach a search
/// engine or the provider of an embedding model has to be taken out here; put it behind a transformer that
/// looks at the conversation, which may bring back what was said before. What the model is told, and what
/// is remembered, is not changed: for that make the redaction an
/// [input guardrail](ai_services_core::guardrail::InputGuardrail) as well.
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::Redaction;
/// use ai_services::rag::{DefaultRetrievalAugmentor, Query, RetrievedContent};
/// use ai_services::testing::ScriptedChatModel;
/// use ai_services::{Response, ai_service};
///
/// #[ai_service]
/// trait Support {
///     async fn chat(&self, message: &str) -> ai_services::Result<Response<String>>;
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let web = |query: Query| async move { Ok(vec![RetrievedContent::from(query.text())]) };
/// let augmentor = DefaultRetrievalAugmentor::builder()
///     .query_transformer(Redaction::all())
///     .content_retriever(web)
///     .build()?;
/// let support = SupportService::builder()
///     .chat_model(ScriptedChatModel::replies(["Yes."]))
///     .retrieval_augmentor(augmentor)
///     .build()?;
/// let response = support.chat("Did ann@example.org order a banana?").await?;
/// assert_eq!(response.sources[0].segment.text(), "Did [EMAIL] order a banana?");
/// # Ok(())
/// # }
/// ```
#[async_trait]
impl QueryTransformer for Redaction {
    async fn transform(&self, query: &Query) -> Result<Vec<Query>> {
        let turn = match self.redact_message(query.turn().user_message()) {
            Cow::Borrowed(_) => query.turn().clone(),
            Cow::Owned(message) => query.turn().with_user_message(message),
        };
        Ok(vec![Query::new(self.redact(query.text()), turn)])
    }
}

//! Redaction of retrieval queries.

use crate::Redaction;
use ai_services_core::Result;
use ai_services_core::rag::{Query, QueryTransformer};
use async_trait::async_trait;
use std::borrow::Cow;

/// Replaces sensitive data in queries by placeholders, and also in the user message of the
/// [turn](Query::turn) that routers, retrievers and aggregators receive.
///
/// Input guardrails run after retrieval, so that they can check the retrieved texts. Use this transformer if
/// sensitive data must not reach a search engine or the provider of an embedding model. Put it after
/// transformers that read the conversation, because they may add earlier messages to the query. The message
/// that is sent to the model and stored in the memory is not changed. To change it, also use the redaction as
/// an [input guardrail](ai_services_core::guardrail::InputGuardrail).
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

//! Rewriting a follow-up question into a standalone query.

use crate::error::{Error, Result};
use crate::invocation::TurnContext;
use crate::message::ChatMessage;
use crate::model::ChatModel;
use crate::prompt::{PromptTemplate, PromptVariables};
use crate::rag::metering::prompt_model;
use crate::rag::prompt::{Prompt, hanging_indent};
use crate::rag::{Query, QueryTransformer};
use async_trait::async_trait;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A transformer that lets a model rewrite the question, so that it can be understood without the
/// conversation.
///
/// "And his brother?" becomes "brother of Vincent van Gogh". The prompt contains the earlier messages of user
/// and assistant, each after the name of its speaker and with further lines indented. System messages, tool
/// calls and tool results are left out. The first message of a conversation is used unchanged. If its answer
/// is blank, the question is used unchanged.
///
/// # Errors
///
/// Returns the errors of the model.
///
/// # Examples
///
/// ```
/// use ai_services::TurnContext;
/// use ai_services::message::{ChatMessage, UserMessage};
/// use ai_services::rag::{CompressingQueryTransformer, Query, QueryTransformer};
/// use ai_services::testing::ScriptedChatModel;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let model = ScriptedChatModel::replies(["brother of Vincent van Gogh"]);
/// let transformer = CompressingQueryTransformer::new(model);
/// let turn = TurnContext::builder(UserMessage::new("And his brother?"))
///     .history([ChatMessage::user("Who was Vincent van Gogh?"), ChatMessage::ai("A painter.")])
///     .build();
/// let queries = transformer.transform(&Query::new("And his brother?", turn)).await?;
/// assert_eq!(queries[0].text(), "brother of Vincent van Gogh");
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// The prompt is worded differently, and the conversation is limited to its last messages.
#[derive(Clone)]
pub struct CompressingQueryTransformer {
    model: Arc<dyn ChatModel>,
    prompt: Prompt,
    max_messages: usize,
}

/// Name of the prompt in errors.
const PROMPT_NAME: &str = "prompt of the compressing query transformer";

impl CompressingQueryTransformer {
    /// The built-in prompt, with the variables `conversation` and `query`.
    pub const DEFAULT_PROMPT: &str = "\
Below are a conversation and what its user says next. Write what the user is looking for as one search query \
that can be understood without the conversation.

Replace words such as \"it\", \"he\" or \"that one\" by what they stand for. Keep names, numbers and technical \
terms as they are. Leave out whatever is not searched for. Do not answer the query.

The conversation, oldest first; indented lines continue the one above:
{{conversation}}

The user says next:
{{query}}

Reply with the search query and nothing else.";

    /// Default number of earlier messages in the prompt: 20.
    pub const DEFAULT_MAX_MESSAGES: usize = 20;

    /// Creates a transformer with the built-in prompt.
    #[must_use]
    pub fn new(model: impl ChatModel + 'static) -> Self {
        Self {
            model: Arc::new(model),
            prompt: Prompt::BuiltIn(Self::DEFAULT_PROMPT),
            max_messages: Self::DEFAULT_MAX_MESSAGES,
        }
    }

    /// Starts building a transformer.
    pub fn builder(model: impl ChatModel + 'static) -> CompressingQueryTransformerBuilder {
        CompressingQueryTransformerBuilder(Self::new(model))
    }
}

#[async_trait]
impl QueryTransformer for CompressingQueryTransformer {
    async fn transform(&self, query: &Query) -> Result<Vec<Query>> {
        let Some(conversation) = conversation(query.turn(), self.max_messages) else {
            return Ok(vec![query.clone()]);
        };
        let values =
            PromptVariables::new().with("conversation", conversation).with("query", query.text());
        let compressed =
            prompt_model(&*self.model, self.prompt.render(&values)?, query.turn()).await?;
        Ok(vec![if compressed.is_empty() { query.clone() } else { query.with_text(compressed) }])
    }
}

/// Returns the last messages of user and assistant, one paragraph each, or `None` if there are none.
fn conversation(turn: &TurnContext, max_messages: usize) -> Option<String> {
    let paragraphs = turn.history().rev().filter_map(|message| {
        let (speaker, text) = match message {
            ChatMessage::User(user) => ("User", user.joined_text()?),
            ChatMessage::Ai(ai) => ("Assistant", Cow::Borrowed(ai.text()?)),
            _ => return None,
        };
        let text = text.trim();
        (!text.is_empty()).then(|| format!("{speaker}: {}", hanging_indent(text)))
    });
    let mut paragraphs: Vec<String> = paragraphs.take(max_messages).collect();
    paragraphs.reverse();
    (!paragraphs.is_empty()).then(|| paragraphs.join("\n"))
}

impl fmt::Debug for CompressingQueryTransformer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompressingQueryTransformer")
            .field("model", &self.model.name())
            .field("max_messages", &self.max_messages)
            .finish_non_exhaustive()
    }
}

/// Builds a [`CompressingQueryTransformer`].
#[derive(Clone, Debug)]
#[must_use]
pub struct CompressingQueryTransformerBuilder(CompressingQueryTransformer);

impl CompressingQueryTransformerBuilder {
    /// Sets the prompt. It must contain `{{query}}` and `{{conversation}}`.
    pub fn prompt_template(mut self, template: PromptTemplate) -> Self {
        self.0.prompt = Prompt::Custom(template);
        self
    }

    /// Sets how many of the last messages of user and assistant the prompt contains. Default: 20.
    pub fn max_messages(mut self, max: usize) -> Self {
        self.0.max_messages = max;
        self
    }

    /// Builds the transformer.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if the prompt lacks a variable
    /// or has an unknown one, or if the maximum number of messages is 0.
    pub fn build(self) -> Result<CompressingQueryTransformer> {
        self.0.prompt.check(PROMPT_NAME, &["query", "conversation"], &[])?;
        if self.0.max_messages == 0 {
            return Err(Error::configuration(
                "`max_messages` of the compressing query transformer must be at least 1",
            ));
        }
        Ok(self.0)
    }
}

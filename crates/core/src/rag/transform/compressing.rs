//! One query that stands for itself out of a question that refers to what was said before.

use crate::error::{Error, Result};
use crate::invocation::TurnContext;
use crate::message::ChatMessage;
use crate::model::ChatModel;
use crate::prompt::{PromptTemplate, PromptVariables};
use crate::rag::prompt::{Prompt, hanging};
use crate::rag::spending::ask;
use crate::rag::{Query, QueryTransformer};
use async_trait::async_trait;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Has a model rewrite the question so that it can be understood without the conversation.
///
/// "And his brother?" becomes "brother of Vincent van Gogh". The model is shown what user and assistant said
/// before, each message behind its speaker and with further lines indented; system messages, tool calls and
/// results are left out. If nothing was said before, the model is not asked. If it answers nothing, the
/// question stays as it is.
///
/// # Errors
///
/// Those of the model.
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
/// The prompt has other words, and the conversation is limited to its last messages.
#[derive(Clone)]
pub struct CompressingQueryTransformer {
    model: Arc<dyn ChatModel>,
    prompt: Prompt,
    max_messages: usize,
}

/// Whose prompt it is, in errors.
const PROMPT: &str = "prompt of the compressing query transformer";

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

    /// How much of the conversation the model is shown by default, in messages.
    pub const DEFAULT_MAX_MESSAGES: usize = 20;

    /// A transformer with the built-in prompt.
    #[must_use]
    pub fn new(model: impl ChatModel + 'static) -> Self {
        Self {
            model: Arc::new(model),
            prompt: Prompt::BuiltIn(Self::DEFAULT_PROMPT),
            max_messages: Self::DEFAULT_MAX_MESSAGES,
        }
    }

    /// Starts a transformer.
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
        let compressed = ask(&*self.model, self.prompt.render(&values)?, query.turn()).await?;
        Ok(vec![match compressed.is_empty() {
            true => query.clone(),
            false => query.with_text(compressed),
        }])
    }
}

/// What user and assistant said last, one paragraph a message; `None` if they said nothing.
fn conversation(turn: &TurnContext, max_messages: usize) -> Option<String> {
    let said = turn.history().rev().filter_map(|message| {
        let (speaker, text) = match message {
            ChatMessage::User(user) => ("User", user.joined_text()?),
            ChatMessage::Ai(ai) => ("Assistant", Cow::Borrowed(ai.text()?)),
            _ => return None,
        };
        let text = text.trim();
        (!text.is_empty()).then(|| format!("{speaker}: {}", hanging(text)))
    });
    let mut said: Vec<String> = said.take(max_messages).collect();
    said.reverse();
    (!said.is_empty()).then(|| said.join("\n"))
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
    /// Sets the prompt. It must have `{{query}}` and `{{conversation}}` in it.
    pub fn prompt_template(mut self, template: PromptTemplate) -> Self {
        self.0.prompt = Prompt::Given(template);
        self
    }

    /// Sets how many messages of user and assistant the model is shown, the last ones; 20 by default.
    pub fn max_messages(mut self, max: usize) -> Self {
        self.0.max_messages = max;
        self
    }

    /// The transformer.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if the prompt lacks a variable or has
    /// another one, and if the model would be shown no message.
    pub fn build(self) -> Result<CompressingQueryTransformer> {
        self.0.prompt.check(PROMPT, &["query", "conversation"], &[])?;
        if self.0.max_messages == 0 {
            return Err(Error::configuration(
                "the compressing query transformer needs at least one message of the conversation",
            ));
        }
        Ok(self.0)
    }
}

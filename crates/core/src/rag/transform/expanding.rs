//! Several queries out of one.

use crate::error::{Error, Result};
use crate::model::ChatModel;
use crate::prompt::{PromptTemplate, PromptVariables};
use crate::rag::prompt::Prompt;
use crate::rag::spending::ask;
use crate::rag::{Query, QueryTransformer};
use async_trait::async_trait;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// Has a model word the query in several ways, so that texts are found that use other words.
///
/// The model answers one query a line. Numbers and bullets before them are dropped, and so are repetitions, lines of
/// signs alone, the fence of a block, and lines beyond the number that was asked for. If it answers nothing, the query
/// stays as it is.
///
/// # Errors
///
/// Those of the model.
///
/// # Examples
///
/// ```
/// use ai_services::TurnContext;
/// use ai_services::message::UserMessage;
/// use ai_services::rag::{ExpandingQueryTransformer, OriginalQuery, Query, QueryTransformer};
/// use ai_services::testing::ScriptedChatModel;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let model = ScriptedChatModel::replies(["1. end a lease early\n2. terminate a rental contract"]);
/// let transformer = ExpandingQueryTransformer::builder(model)
///     .max_queries(2)
///     .original_query(OriginalQuery::First)
///     .build()?;
/// let turn = TurnContext::builder(UserMessage::new("cancel flat")).build();
/// let queries = transformer.transform(&Query::new("cancel flat", turn)).await?;
/// let texts: Vec<_> = queries.iter().map(Query::text).collect();
/// assert_eq!(texts, ["cancel flat", "end a lease early", "terminate a rental contract"]);
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// The prompt has other words, numbers and bullets are dropped, and the original query can be kept.
#[derive(Clone)]
pub struct ExpandingQueryTransformer {
    model: Arc<dyn ChatModel>,
    prompt: Prompt,
    max_queries: usize,
    original: OriginalQuery,
}

/// What becomes of the query that others were made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OriginalQuery {
    /// The others are searched for in its place.
    #[default]
    Replaced,
    /// It is searched for as well, before the others.
    First,
}

/// Whose prompt it is, in errors.
const PROMPT: &str = "prompt of the expanding query transformer";

impl ExpandingQueryTransformer {
    /// The built-in prompt, with the variables `n` and `query`.
    pub const DEFAULT_PROMPT: &str = "\
A search finds texts that are worded like the query. Word the query below in {{n}} different ways, so that \
texts are found that say the same in other words. Keep its meaning, its names and its numbers. Do not answer it.

The query:
{{query}}

Reply with one query on each line: no numbers, no bullets, nothing before or after them.";

    /// How many queries the model makes by default.
    pub const DEFAULT_MAX_QUERIES: usize = 3;

    /// A transformer with the built-in prompt.
    #[must_use]
    pub fn new(model: impl ChatModel + 'static) -> Self {
        Self {
            model: Arc::new(model),
            prompt: Prompt::BuiltIn(Self::DEFAULT_PROMPT),
            max_queries: Self::DEFAULT_MAX_QUERIES,
            original: OriginalQuery::default(),
        }
    }

    /// Starts a transformer.
    pub fn builder(model: impl ChatModel + 'static) -> ExpandingQueryTransformerBuilder {
        ExpandingQueryTransformerBuilder(Self::new(model))
    }
}

#[async_trait]
impl QueryTransformer for ExpandingQueryTransformer {
    async fn transform(&self, query: &Query) -> Result<Vec<Query>> {
        let values = PromptVariables::new().with("n", self.max_queries).with("query", query.text());
        let answer = ask(&*self.model, self.prompt.render(&values)?, query.turn()).await?;
        let (mut queries, mut known) = (Vec::new(), HashSet::new());
        if self.original == OriginalQuery::First {
            queries.push(query.clone());
            known.insert(query.text());
        }
        let texts = answer.lines().map(without_mark).filter(|line| !is_frame(line));
        let texts = texts.filter(|line| known.insert(line)).take(self.max_queries);
        queries.extend(texts.map(|text| query.with_text(text)));
        if queries.is_empty() {
            queries.push(query.clone());
        }
        Ok(queries)
    }
}

/// Whether a line only sets off what is above it from what is below.
fn is_frame(line: &str) -> bool {
    line.starts_with("```") || line.chars().all(|c| c.is_ascii_punctuation())
}

/// A line without the number or the bullet of a list before it.
fn without_mark(line: &str) -> &str {
    let line = line.trim();
    let unnumbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = match line.len() - unnumbered.len() {
        0 => line.strip_prefix(['-', '*', '+', '•', '–', '—']),
        // More digits are a year or another number that belongs to the query.
        1 | 2 => unnumbered.strip_prefix(['.', ')', ':']),
        _ => None,
    };
    match rest {
        Some("") => "",
        Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim_start(),
        _ => line,
    }
}

impl fmt::Debug for ExpandingQueryTransformer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpandingQueryTransformer")
            .field("model", &self.model.name())
            .field("max_queries", &self.max_queries)
            .field("original", &self.original)
            .finish_non_exhaustive()
    }
}

/// Builds an [`ExpandingQueryTransformer`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ExpandingQueryTransformerBuilder(ExpandingQueryTransformer);

impl ExpandingQueryTransformerBuilder {
    /// Sets the prompt. It must have `{{query}}` in it, and can have `{{n}}`.
    pub fn prompt_template(mut self, template: PromptTemplate) -> Self {
        self.0.prompt = Prompt::Given(template);
        self
    }

    /// Sets how many queries the model makes, the original one not counted; 3 by default.
    #[doc(alias = "n")]
    pub fn max_queries(mut self, max: usize) -> Self {
        self.0.max_queries = max;
        self
    }

    /// Sets what becomes of the query that others are made of.
    pub fn original_query(mut self, original: OriginalQuery) -> Self {
        self.0.original = original;
        self
    }

    /// The transformer.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if the prompt lacks a variable or has
    /// another one, and if no query is to be made.
    pub fn build(self) -> Result<ExpandingQueryTransformer> {
        self.0.prompt.check(PROMPT, &["query"], &["n"])?;
        if self.0.max_queries == 0 {
            return Err(Error::configuration(
                "the expanding query transformer has to make at least one query",
            ));
        }
        Ok(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_lists_are_dropped() {
        for line in ["q", " q ", "1. q", "12) q", "3: q", "- q", "* q", "• q", "+\tq"] {
            assert_eq!(without_mark(line), "q", "{line}");
        }
        assert_eq!((without_mark("-"), without_mark("2."), without_mark(" ")), ("", "", ""));
    }

    #[test]
    fn numbers_of_queries_stay() {
        let lines =
            ["3 ways to cook", "3.5 litres", "1984: a novel", "-5 degrees", "2 + 2", "*.rs files"];
        for line in lines {
            assert_eq!(without_mark(line), line);
        }
    }
}

//! Expanding a query into several.

use crate::error::{Error, Result};
use crate::model::ChatModel;
use crate::prompt::{PromptTemplate, PromptVariables};
use crate::rag::metering::prompt_model;
use crate::rag::prompt::Prompt;
use crate::rag::{Query, QueryTransformer};
use async_trait::async_trait;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// A transformer that lets a model phrase the query in several ways, to find texts that use other words.
///
/// The model answers with one query per line. Numbers and bullets before the queries are removed. Duplicates,
/// lines of punctuation, code fences, and lines beyond the requested number are dropped. If no query is left,
/// the original query is used.
///
/// # Errors
///
/// Returns the errors of the model.
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
/// The prompt is worded differently, numbers and bullets are removed, and the original query can be kept.
#[derive(Clone)]
pub struct ExpandingQueryTransformer {
    model: Arc<dyn ChatModel>,
    prompt: Prompt,
    max_queries: usize,
    original: OriginalQuery,
}

/// Use of the query that the others were made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OriginalQuery {
    /// Searches only for the new queries.
    #[default]
    Replaced,
    /// Searches for the original query as well, before the new ones.
    First,
}

/// Name of the prompt in errors.
const PROMPT_NAME: &str = "prompt of the expanding query transformer";

impl ExpandingQueryTransformer {
    /// The built-in prompt, with the variables `n` and `query`.
    pub const DEFAULT_PROMPT: &str = "\
A search finds texts that are worded like the query. Word the query below in {{n}} different ways, so that \
texts are found that say the same in other words. Keep its meaning, its names and its numbers. Do not answer it.

The query:
{{query}}

Reply with one query on each line: no numbers, no bullets, nothing before or after them.";

    /// Default number of queries that the model makes: 3.
    pub const DEFAULT_MAX_QUERIES: usize = 3;

    /// Creates a transformer with the built-in prompt.
    #[must_use]
    pub fn new(model: impl ChatModel + 'static) -> Self {
        Self {
            model: Arc::new(model),
            prompt: Prompt::BuiltIn(Self::DEFAULT_PROMPT),
            max_queries: Self::DEFAULT_MAX_QUERIES,
            original: OriginalQuery::default(),
        }
    }

    /// Starts building a transformer.
    pub fn builder(model: impl ChatModel + 'static) -> ExpandingQueryTransformerBuilder {
        ExpandingQueryTransformerBuilder(Self::new(model))
    }
}

#[async_trait]
impl QueryTransformer for ExpandingQueryTransformer {
    async fn transform(&self, query: &Query) -> Result<Vec<Query>> {
        let values = PromptVariables::new().with("n", self.max_queries).with("query", query.text());
        let answer = prompt_model(&*self.model, self.prompt.render(&values)?, query.turn()).await?;
        let (mut queries, mut known) = (Vec::new(), HashSet::new());
        if self.original == OriginalQuery::First {
            queries.push(query.clone());
            known.insert(query.text());
        }
        let texts = answer.lines().map(without_list_marker).filter(|line| !is_separator_line(line));
        let texts = texts.filter(|line| known.insert(line)).take(self.max_queries);
        queries.extend(texts.map(|text| query.with_text(text)));
        if queries.is_empty() {
            queries.push(query.clone());
        }
        Ok(queries)
    }
}

/// Returns whether a line is a code fence or contains only punctuation.
fn is_separator_line(line: &str) -> bool {
    line.starts_with("```") || line.chars().all(|c| c.is_ascii_punctuation())
}

/// Removes the number or bullet of a list item.
fn without_list_marker(line: &str) -> &str {
    let line = line.trim();
    let unnumbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = match line.len() - unnumbered.len() {
        0 => line.strip_prefix(['-', '*', '+', '•', '–', '—']),
        // A longer number is a year or another number that belongs to the query.
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
    /// Sets the prompt. It must contain `{{query}}`, and may contain `{{n}}`.
    pub fn prompt_template(mut self, template: PromptTemplate) -> Self {
        self.0.prompt = Prompt::Custom(template);
        self
    }

    /// Sets how many queries the model makes, not counting the original one. Default: 3.
    #[doc(alias = "n")]
    pub fn max_queries(mut self, max: usize) -> Self {
        self.0.max_queries = max;
        self
    }

    /// Sets whether the original query is searched for as well. Default: [`OriginalQuery::Replaced`].
    pub fn original_query(mut self, original: OriginalQuery) -> Self {
        self.0.original = original;
        self
    }

    /// Builds the transformer.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if the prompt lacks a variable
    /// or has an unknown one, or if the maximum number of queries is 0.
    pub fn build(self) -> Result<ExpandingQueryTransformer> {
        self.0.prompt.check(PROMPT_NAME, &["query"], &["n"])?;
        if self.0.max_queries == 0 {
            return Err(Error::configuration(
                "`max_queries` of the expanding query transformer must be at least 1",
            ));
        }
        Ok(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_markers_are_removed() {
        for line in ["q", " q ", "1. q", "12) q", "3: q", "- q", "* q", "• q", "+\tq"] {
            assert_eq!(without_list_marker(line), "q", "{line}");
        }
        assert_eq!(
            (without_list_marker("-"), without_list_marker("2."), without_list_marker(" ")),
            ("", "", "")
        );
    }

    #[test]
    fn numbers_in_queries_are_kept() {
        let lines =
            ["3 ways to cook", "3.5 litres", "1984: a novel", "-5 degrees", "2 + 2", "*.rs files"];
        for line in lines {
            assert_eq!(without_list_marker(line), line);
        }
    }
}

//! The labelled questions.

use ai_services::document::{TextSegment, key};
use ai_services::embedding::{EmbeddingModel, EmbeddingStore, VectorSearch};
use ai_services::rag::RetrievedContent;
use anyhow::{Context, bail};

const QUESTIONS: &str = include_str!("../../retrieval/questions.tsv");

/// A question, and where its answers are.
pub(crate) struct Question {
    pub(crate) text: &'static str,
    /// Whether it has the words of the answer.
    pub(crate) kind: &'static str,
    pub(crate) labels: Vec<Label>,
}

/// Words of a passage, with the spaces put together.
pub(crate) struct Label {
    source: &'static str,
    words: String,
}

/// How many of the labels each passage has that had not come before.
pub(crate) fn gains(list: &[RetrievedContent], labels: &[Label]) -> Vec<usize> {
    let mut open: Vec<&Label> = labels.iter().collect();
    let gain = |found: &RetrievedContent| {
        let before = open.len();
        open.retain(|label| !label.is_in(&found.segment));
        before - open.len()
    };
    list.iter().map(gain).collect()
}

impl Label {
    fn is_in(&self, segment: &TextSegment) -> bool {
        let source = segment.metadata().get(key::SOURCE).and_then(|source| source.as_text());
        source == Some(self.source) && one_line(segment.text()).contains(&self.words)
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn questions() -> anyhow::Result<Vec<Question>> {
    let lines = QUESTIONS.lines().filter(|line| !line.starts_with('#'));
    let read = |line: &'static str| {
        let mut columns = line.split('\t');
        let (text, kind) = (columns.next()?, columns.next()?);
        let label = |label: &'static str| {
            let (source, words) = label.split_once(": ")?;
            Some(Label { source, words: one_line(words) })
        };
        let labels: Vec<_> = columns.map(label).collect::<Option<_>>()?;
        (!labels.is_empty()).then_some(Question { text, kind, labels })
    };
    lines.map(|line| read(line).with_context(|| format!("`{line}` is no question"))).collect()
}

/// Every label has to be in a passage: else nothing could find it.
pub(crate) async fn check(
    questions: &[Question],
    store: &dyn EmbeddingStore,
    model: &dyn EmbeddingModel,
) -> anyhow::Result<()> {
    // Whatever the vector, all passages are near enough.
    let any = model.embed_query("passage").await?;
    let all = store.search(&VectorSearch::new(&any).max_results(10_000)).await?;
    for question in questions {
        for label in &question.labels {
            if !all.iter().any(|found| label.is_in(&found.segment)) {
                bail!("no passage of `{}` has `{}`", label.source, label.words);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services::document::Metadata;
    use std::collections::BTreeSet;

    #[test]
    fn questions_are_different_and_of_known_kinds() {
        let questions = questions().unwrap();
        let texts: BTreeSet<_> = questions.iter().map(|question| question.text).collect();
        assert_eq!(texts.len(), questions.len());
        assert!(questions.len() > 80);
        assert!(questions.iter().all(|question| ["meaning", "term"].contains(&question.kind)));
    }

    #[test]
    fn passage_counts_for_what_had_not_come_before() {
        let found = |source: &str, text: &str| {
            let segment = TextSegment::new(text);
            RetrievedContent::new(segment.with_metadata(Metadata::new().with(key::SOURCE, source)))
        };
        let label = |words: &str| Label { source: "a.md", words: words.to_owned() };
        let list = [
            found("b.md", "one fish"),
            found("a.md", "one\nfish"),
            found("a.md", "one fish again"),
            found("a.md", "two fish, red fish"),
        ];
        let labels = [label("one fish"), label("two fish"), label("red fish")];
        assert_eq!(gains(&list, &labels), [0, 1, 0, 2]);
    }
}

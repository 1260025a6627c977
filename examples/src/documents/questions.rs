//! Labelled questions.

use ai_services::document::{TextSegment, key};
use ai_services::embedding::{EmbeddingModel, EmbeddingStore, VectorSearch};
use ai_services::rag::RetrievedContent;
use anyhow::{Context, bail};

const QUESTIONS: &str = include_str!("../../retrieval/questions.tsv");

/// A question with labels for the passages that answer it.
pub(crate) struct Question {
    pub(crate) text: &'static str,
    /// `term` if the question contains a rare word of the answer, else `meaning`.
    pub(crate) kind: &'static str,
    pub(crate) labels: Vec<Label>,
}

/// Text of a relevant passage, with normalized white space.
pub(crate) struct Label {
    source: &'static str,
    words: String,
}

/// Counts the labels that each passage adds to the passages before it.
pub(crate) fn gains(list: &[RetrievedContent], labels: &[Label]) -> Vec<usize> {
    let mut remaining: Vec<&Label> = labels.iter().collect();
    let gain = |found: &RetrievedContent| {
        let before = remaining.len();
        remaining.retain(|label| !label.is_in(&found.segment));
        before - remaining.len()
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
    lines.map(|line| read(line).with_context(|| format!("invalid question `{line}`"))).collect()
}

/// Fails if a label is not contained in a passage, because no search could find it then.
pub(crate) async fn check(
    questions: &[Question],
    store: &dyn EmbeddingStore,
    model: &dyn EmbeddingModel,
) -> anyhow::Result<()> {
    // Any vector finds all passages, because there is no minimum score.
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
    fn questions_are_unique_and_of_known_kinds() {
        let questions = questions().unwrap();
        let texts: BTreeSet<_> = questions.iter().map(|question| question.text).collect();
        assert_eq!(texts.len(), questions.len());
        assert!(questions.len() > 80);
        assert!(questions.iter().all(|question| ["meaning", "term"].contains(&question.kind)));
    }

    #[test]
    fn passage_counts_only_new_labels() {
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

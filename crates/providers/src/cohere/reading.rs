//! Scores and tokens, in all the forms in which servers write them.

use crate::http::Answer;
use crate::protocol::tolerant::{Text, count};
use ai_services_core::model::{Scores, TokenUsage};
use ai_services_core::{Error, ErrorKind, Result};
use futures_util::stream::{self, StreamExt};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::future::Future;

/// How many batches are asked at once.
const CONCURRENT: usize = 4;

/// One score for each document, in order: `ask` is called for each batch, a few at a time.
///
/// # Errors
///
/// That of the first batch that failed, with the tokens of those before it; what is on its way is
/// cancelled.
pub(super) async fn in_batches<'a, F>(
    documents: &'a [&'a str],
    max: Option<usize>,
    ask: impl Fn(&'a [&'a str]) -> F,
) -> Result<Scores>
where
    F: Future<Output = Result<Scores>>,
{
    let batches = documents.chunks(max.unwrap_or(usize::MAX).max(1));
    // The futures are made here and polled in order, so that the closure is not kept.
    let asked: Vec<F> = batches.map(ask).collect();
    let mut answers = stream::iter(asked).buffered(CONCURRENT);
    let mut whole = Scores::default();
    whole.scores.reserve_exact(documents.len());
    while let Some(answer) = answers.next().await {
        let answer = answer.map_err(|error| {
            let own = error.usage().copied().unwrap_or_default();
            error.with_usage(whole.usage + own)
        })?;
        whole.usage += answer.usage;
        whole.scores.extend(answer.scores);
        whole.model = whole.model.or(answer.model);
    }
    Ok(whole)
}

/// A re-ranker's answer: a list, or an object that has one.
#[derive(Default, Deserialize)]
struct Reply<'a> {
    #[serde(default)]
    results: Option<Vec<Scored>>,
    /// Voyage's name for it.
    #[serde(default)]
    data: Option<Vec<Scored>>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(default)]
    meta: Option<Meta>,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Scored {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    relevance_score: Option<f64>,
    /// The same at Text Embeddings Inference.
    #[serde(default)]
    score: Option<f64>,
}

/// What Cohere says about an answer.
#[derive(Default, Deserialize)]
pub(super) struct Meta {
    #[serde(default)]
    tokens: Option<Tokens>,
    #[serde(default)]
    billed_units: Option<Tokens>,
}

#[derive(Default, Deserialize)]
struct Tokens {
    #[serde(default, deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    output_tokens: Option<u64>,
    /// The same at servers that imitate OpenAI.
    #[serde(default, deserialize_with = "count")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    total_tokens: Option<u64>,
}

impl Tokens {
    fn usage(&self) -> TokenUsage {
        let mut usage = TokenUsage::default().with_total(self.total_tokens);
        usage.input = self.input_tokens.or(self.prompt_tokens);
        usage.output = self.output_tokens;
        usage
    }
}

impl Meta {
    /// The tokens that were read; where only those that are billed are known, these.
    pub(super) fn usage(&self) -> TokenUsage {
        let known = [&self.tokens, &self.billed_units].into_iter().flatten().map(Tokens::usage);
        known.into_iter().find(|usage| !usage.is_empty()).unwrap_or_default()
    }
}

/// Reads the scores of this many documents.
///
/// # Errors
///
/// The error that the answer reports, and [`ErrorKind::InvalidResponse`] for everything that is not
/// exactly one finite score for each document.
pub(super) fn scores(answer: &Answer, documents: usize) -> Result<Scores> {
    let reply = match answer.body.trim_ascii_start().first() {
        Some(b'[') => serde_json::from_slice(&answer.body)
            .map(|results| Reply { results: Some(results), ..Reply::default() }),
        _ => serde_json::from_slice(&answer.body),
    };
    let reply: Reply<'_> = reply.map_err(|error| answer.unreadable(error))?;
    if reply.error.is_some() {
        return Err(answer.reported());
    }
    let usage = match (&reply.meta, &reply.usage) {
        (Some(meta), _) => meta.usage(),
        (None, Some(tokens)) => tokens.usage(),
        (None, None) => TokenUsage::default(),
    };
    let model = reply.model.into_some().map(Into::into);
    match in_order(reply.results.or(reply.data), documents) {
        Ok(scores) => Ok(Scores::new(scores).with_usage(usage).with_model(model)),
        Err(why) => {
            let error = Error::new(ErrorKind::InvalidResponse, why);
            Err(answer.annotate(error.with_usage(usage)))
        }
    }
}

/// The scores by the documents' numbers.
fn in_order(results: Option<Vec<Scored>>, documents: usize) -> Result<Vec<f64>, String> {
    let results = results.ok_or("the answer has no scores")?;
    let mut scores = vec![None; documents];
    for Scored { index, relevance_score, score } in results {
        let index = index.and_then(|index| usize::try_from(index).ok());
        let index = index.ok_or("the answer has a score without the number of a document")?;
        let place = scores.get_mut(index).ok_or_else(|| {
            format!("the answer scores document {index}, but there were only {documents}")
        })?;
        let score = relevance_score.or(score).filter(|score| score.is_finite());
        let score = score.ok_or_else(|| format!("the score of document {index} is no number"))?;
        if place.replace(score).is_some() {
            return Err(format!("the answer scores document {index} twice"));
        }
    }
    let all = scores.into_iter().enumerate();
    all.map(|(index, score)| score.ok_or_else(|| format!("the answer leaves document {index} out")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str, documents: usize) -> Result<Vec<f64>, String> {
        in_order(serde_json::from_str(json).unwrap(), documents)
    }

    #[test]
    fn scores_are_put_into_the_order_of_the_documents() {
        let sorted = r#"[{"index":2,"relevance_score":0.9},{"index":0,"score":1},
            {"index":1,"relevance_score":-7.5,"document":{"text":"b"}}]"#;
        assert_eq!(read(sorted, 3).unwrap(), [1.0, -7.5, 0.9]);
        assert!(read("[]", 0).unwrap().is_empty());
    }

    #[test]
    fn anything_but_one_score_for_each_document_is_refused() {
        for (json, text) in [
            ("null", "no scores"),
            (r#"[{"index":0,"score":1}]"#, "leaves document 1 out"),
            (r#"[{"index":0,"score":1},{"index":0,"score":1}]"#, "document 0 twice"),
            (r#"[{"index":2,"score":1}]"#, "only 2"),
            (r#"[{"index":18446744073709551615,"score":1}]"#, "only 2"),
            (r#"[{"index":1,"score":null}]"#, "document 1 is no number"),
            (r#"[{"score":1}]"#, "without the number"),
        ] {
            let error = read(json, 2).unwrap_err();
            assert!(error.contains(text), "{error}");
        }
    }

    #[test]
    fn tokens_that_were_read_count_more_than_those_that_are_billed() {
        let usage = |json: &str| serde_json::from_str::<Meta>(json).unwrap().usage();
        let both = r#"{"billed_units":{"input_tokens":5,"search_units":1},
            "tokens":{"input_tokens":607.0,"output_tokens":13}}"#;
        assert_eq!(usage(both), TokenUsage::new(607, 13));
        assert_eq!(usage(r#"{"billed_units":{"input_tokens":5}}"#).input, Some(5));
        assert!(usage(r#"{"billed_units":{"search_units":1}}"#).is_empty());
    }
}

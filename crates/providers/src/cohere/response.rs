//! Parsing of scores and token usage in all known forms.

use crate::http::Answer;
use crate::protocol::tolerant::{Text, count};
use ai_services_core::model::{Scores, TokenUsage};
use ai_services_core::{Error, ErrorKind, Result};
use futures_util::stream::{self, StreamExt};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::future::Future;

/// The maximum number of concurrent batches.
const CONCURRENT: usize = 4;

/// Returns one score for each document, in the order of the documents. Calls `send` for each batch, at
/// most four at a time.
///
/// # Errors
///
/// The error of the first batch that failed, with the usage of the batches before it. The other requests
/// are cancelled.
pub(super) async fn in_batches<'a, F>(
    documents: &'a [&'a str],
    max: Option<usize>,
    send: impl Fn(&'a [&'a str]) -> F,
) -> Result<Scores>
where
    F: Future<Output = Result<Scores>>,
{
    let batches = documents.chunks(max.unwrap_or(usize::MAX).max(1));
    // The futures are created first, so that the stream does not borrow the closure.
    let requests: Vec<F> = batches.map(send).collect();
    let mut answers = stream::iter(requests).buffered(CONCURRENT);
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

/// The answer of a server: a list of results, or an object with such a list.
#[derive(Default, Deserialize)]
struct RerankResponse<'a> {
    #[serde(default)]
    results: Option<Vec<RerankResult>>,
    /// Voyage's name of `results`.
    #[serde(default)]
    data: Option<Vec<RerankResult>>,
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
struct RerankResult {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    relevance_score: Option<f64>,
    /// The name of `relevance_score` in Text Embeddings Inference.
    #[serde(default)]
    score: Option<f64>,
}

/// Cohere's metadata of an answer.
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
    /// The name of `input_tokens` at servers like OpenAI's.
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
    /// Returns the tokens that were read, or else the billed tokens.
    pub(super) fn usage(&self) -> TokenUsage {
        let known = [&self.tokens, &self.billed_units].into_iter().flatten().map(Tokens::usage);
        known.into_iter().find(|usage| !usage.is_empty()).unwrap_or_default()
    }
}

/// Parses the scores of `documents` documents.
///
/// # Errors
///
/// The error that the answer reports, and [`ErrorKind::InvalidResponse`] unless the answer has exactly
/// one finite score for each document.
pub(super) fn scores(answer: &Answer, documents: usize) -> Result<Scores> {
    let response = match answer.body.trim_ascii_start().first() {
        Some(b'[') => serde_json::from_slice(&answer.body)
            .map(|results| RerankResponse { results: Some(results), ..Default::default() }),
        _ => serde_json::from_slice(&answer.body),
    };
    let response: RerankResponse<'_> = response.map_err(|error| answer.unreadable(error))?;
    if response.error.is_some() {
        return Err(answer.reported());
    }
    let usage = match (&response.meta, &response.usage) {
        (Some(meta), _) => meta.usage(),
        (None, Some(tokens)) => tokens.usage(),
        (None, None) => TokenUsage::default(),
    };
    let model = response.model.into_some().map(Into::into);
    match in_order(response.results.or(response.data), documents) {
        Ok(scores) => Ok(Scores::new(scores).with_usage(usage).with_model(model)),
        Err(message) => {
            let error = Error::new(ErrorKind::InvalidResponse, message);
            Err(answer.annotate(error.with_usage(usage)))
        }
    }
}

/// Returns the scores in the order of the documents.
fn in_order(results: Option<Vec<RerankResult>>, documents: usize) -> Result<Vec<f64>, String> {
    let results = results.ok_or("the answer has no scores")?;
    let mut scores = vec![None; documents];
    for RerankResult { index, relevance_score, score } in results {
        let index = index.and_then(|index| usize::try_from(index).ok());
        let index = index.ok_or("the answer has a score without a document index")?;
        let place = scores.get_mut(index).ok_or_else(|| {
            format!("the answer scores document {index}, but only {documents} were sent")
        })?;
        let score = relevance_score.or(score).filter(|score| score.is_finite());
        let score =
            score.ok_or_else(|| format!("the score of document {index} is not a finite number"))?;
        if place.replace(score).is_some() {
            return Err(format!("the answer scores document {index} twice"));
        }
    }
    let all = scores.into_iter().enumerate();
    all.map(|(index, score)| {
        score.ok_or_else(|| format!("the answer has no score for document {index}"))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str, documents: usize) -> Result<Vec<f64>, String> {
        in_order(serde_json::from_str(json).unwrap(), documents)
    }

    #[test]
    fn scores_have_the_order_of_the_documents() {
        let sorted = r#"[{"index":2,"relevance_score":0.9},{"index":0,"score":1},
            {"index":1,"relevance_score":-7.5,"document":{"text":"b"}}]"#;
        assert_eq!(read(sorted, 3).unwrap(), [1.0, -7.5, 0.9]);
        assert!(read("[]", 0).unwrap().is_empty());
    }

    #[test]
    fn answer_without_one_score_per_document_is_an_error() {
        for (json, text) in [
            ("null", "no scores"),
            (r#"[{"index":0,"score":1}]"#, "no score for document 1"),
            (r#"[{"index":0,"score":1},{"index":0,"score":1}]"#, "document 0 twice"),
            (r#"[{"index":2,"score":1}]"#, "only 2"),
            (r#"[{"index":18446744073709551615,"score":1}]"#, "only 2"),
            (r#"[{"index":1,"score":null}]"#, "document 1 is not a finite number"),
            (r#"[{"score":1}]"#, "without a document index"),
        ] {
            let error = read(json, 2).unwrap_err();
            assert!(error.contains(text), "{error}");
        }
    }

    #[test]
    fn read_tokens_win_over_billed_tokens() {
        let usage = |json: &str| serde_json::from_str::<Meta>(json).unwrap().usage();
        let both = r#"{"billed_units":{"input_tokens":5,"search_units":1},
            "tokens":{"input_tokens":607.0,"output_tokens":13}}"#;
        assert_eq!(usage(both), TokenUsage::new(607, 13));
        assert_eq!(usage(r#"{"billed_units":{"input_tokens":5}}"#).input, Some(5));
        assert!(usage(r#"{"billed_units":{"search_units":1}}"#).is_empty());
    }
}

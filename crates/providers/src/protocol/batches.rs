//! Batches of texts for embedding models.

use ai_services_core::model::{Embeddings, TokenUsage};
use ai_services_core::{Error, ErrorKind, Result};
use futures_util::stream::{self, StreamExt};
use std::future::Future;

/// Number of concurrent requests.
const CONCURRENT: usize = 4;

/// The maximum size of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchLimits {
    /// Maximum number of texts. Zero counts as one.
    pub(crate) texts: usize,
    /// Maximum size of the texts in bytes, as a bound on tokens. A larger text is a batch of its own.
    pub(crate) bytes: usize,
}

/// Returns one vector per text, in order. `request` is called for each batch; at most 4 batches are sent
/// concurrently.
///
/// # Errors
///
/// The error of the first batch that failed, with the usage of the batches before it; concurrent
/// requests are cancelled. [`ErrorKind::InvalidResponse`] if a batch does not have one vector per text,
/// or if vectors differ in length.
pub(crate) async fn embed<'a, F>(
    texts: &'a [&'a str],
    limits: BatchLimits,
    request: impl Fn(&'a [&'a str]) -> F,
) -> Result<Embeddings>
where
    F: Future<Output = Result<Embeddings>>,
{
    let batches = split(texts, limits);
    // The futures are created here and started in order, so that the closure is not stored.
    let requests: Vec<F> = batches.iter().map(|batch| request(batch)).collect();
    let mut answers = stream::iter(requests).buffered(CONCURRENT);
    let mut whole = Embeddings::default();
    whole.vectors.reserve_exact(texts.len());
    for batch in batches {
        let Some(answer) = answers.next().await else { break };
        let answer = answer.map_err(|error| add_usage(error, whole.usage))?;
        whole.usage += answer.usage;
        if answer.vectors.len() != batch.len() {
            let (texts, vectors) = (batch.len(), answer.vectors.len());
            let message = format!("the answer has {vectors} vectors for {texts} texts");
            return Err(invalid(message, whole.usage));
        }
        whole.vectors.extend(answer.vectors);
        whole.model = whole.model.or(answer.model);
    }
    match whole.vectors.split_first() {
        Some((first, rest)) if rest.iter().any(|vector| vector.len() != first.len()) => {
            Err(invalid("the vectors of the answer differ in length".to_owned(), whole.usage))
        }
        _ => Ok(whole),
    }
}

/// Returns the error of an answer with wrong vectors.
fn invalid(message: String, usage: TokenUsage) -> Error {
    Error::new(ErrorKind::InvalidResponse, message).with_usage(usage)
}

/// Adds the usage of earlier batches to an error.
fn add_usage(error: Error, before: TokenUsage) -> Error {
    let own = error.usage().copied().unwrap_or_default();
    error.with_usage(before + own)
}

/// Splits texts into batches within the limits.
fn split<'a>(texts: &'a [&'a str], limits: BatchLimits) -> Vec<&'a [&'a str]> {
    let mut batches = Vec::new();
    let mut rest = texts;
    while !rest.is_empty() {
        let mut bytes = 0_usize;
        let fits = rest.iter().take(limits.texts.max(1)).take_while(|text| {
            bytes = bytes.saturating_add(text.len());
            bytes <= limits.bytes
        });
        let (batch, after) = rest.split_at(fits.count().max(1));
        batches.push(batch);
        rest = after;
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::cell::RefCell;
    use std::future::ready;

    const LIMITS: BatchLimits = BatchLimits { texts: 2, bytes: 5 };

    /// Returns a vector with the length of each text.
    fn lengths(texts: &[&str]) -> Embeddings {
        Embeddings::new(texts.iter().map(|text| vec![text.len() as f32]))
            .with_usage(TokenUsage::new(texts.len() as u64, 0))
    }

    #[test]
    fn batches_are_bounded_in_texts_and_bytes() {
        let texts = ["1", "22", "333", "666666", "1", "4444", "22"];
        let expected: [&[&str]; 5] = [&["1", "22"], &["333"], &["666666"], &["1", "4444"], &["22"]];
        assert_eq!(split(&texts, LIMITS), expected);
        assert_eq!(split(&["a", "b"], BatchLimits { texts: 0, bytes: 0 }).len(), 2);
        assert!(split(&[], LIMITS).is_empty());
    }

    #[tokio::test]
    async fn vectors_have_the_order_of_the_texts() {
        let texts = ["1", "22", "333", "666666"];
        let request = |batch: &'_ [&'_ str]| {
            let answer = lengths(batch);
            async move {
                // The first batches are the slowest.
                for _ in 0..8 - answer.vectors.len() {
                    tokio::task::yield_now().await;
                }
                Ok(answer)
            }
        };
        let whole = embed(&texts, LIMITS, request).await.unwrap();
        assert_eq!(whole.vectors, [[1.0], [2.0], [3.0], [6.0]]);
        assert_eq!(whole.usage.input, Some(4));
    }

    #[test]
    fn error_of_a_batch_has_the_usage_of_earlier_batches() {
        let texts = ["1", "22", "333", "666666"];
        let request = |batch: &[&str]| match batch {
            ["333"] => ready(Err(Error::new(ErrorKind::Unavailable, "down"))),
            batch => ready(Ok(lengths(batch))),
        };
        let error = embed(&texts, LIMITS, request).now_or_never().unwrap().unwrap_err();
        assert_eq!((error.kind(), error.usage().unwrap().input), (ErrorKind::Unavailable, Some(2)));
    }

    #[test]
    fn vectors_of_another_number_or_length_are_rejected() {
        for vectors in [vec![vec![1.0]], vec![vec![1.0], vec![1.0, 2.0]]] {
            let answer = Embeddings::new(vectors).with_usage(TokenUsage::new(3, 0));
            let request = |_: &[&str]| ready(Ok(answer.clone()));
            let error = embed(&["a", "b"], LIMITS, request).now_or_never().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidResponse);
            assert_eq!(error.usage().unwrap().input, Some(3));
        }
    }

    #[test]
    fn no_texts_need_no_request() {
        let calls = RefCell::new(0);
        let request = |_: &[&str]| {
            *calls.borrow_mut() += 1;
            ready(Ok(Embeddings::default()))
        };
        let whole = embed(&[], LIMITS, request).now_or_never().unwrap().unwrap();
        assert_eq!((whole, calls.into_inner()), (Embeddings::default(), 0));
    }
}

//! The `token_count` operation.

use super::estimator::Description;
use super::message::message;
use super::{Case, Malformed, Outcome, compare, outcome, read};
use ai_services::memory::TokenCountEstimator;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Input {
    estimator: Description,
    messages: Vec<Value>,
}

#[derive(Deserialize)]
struct Expected {
    per_message: Vec<Value>,
    total: Option<u64>,
}

pub(super) fn run(case: &Case) -> Result<Outcome, Malformed> {
    let input: Input = read(&case.input)?;
    let expected: Expected = read(&case.expected)?;
    let messages = input.messages.iter().map(message).collect::<Result<Vec<_>, _>>()?;
    let estimator = input.estimator.estimator();

    // An error is `None`.
    let count = |message| estimator.count_message(message).ok().map(|count| count as u64);
    let got: Vec<Option<u64>> = messages.iter().map(count).collect();
    let expected_counts: Vec<Option<u64>> =
        expected.per_message.iter().map(Value::as_u64).collect();
    let total = estimator.count_messages(&messages).ok().map(|total| total as u64);
    Ok(outcome(
        compare("per_message", &expected_counts, &got)
            .and_then(|()| compare("total", &expected.total, &total)),
    ))
}

//! Sources and guardrails.

use ai_services::guardrail::{
    InputGuardrail, InputGuardrailRequest, InputVerdict, OutputGuardrail, OutputGuardrailRequest,
    OutputVerdict,
};
use ai_services::message::UserMessage;
use ai_services::rag::{Query, RetrievedContent};
use ai_services::{Result, async_trait};

/// Returns two passages of a guide, for every question.
pub(crate) async fn care_guide(_question: Query) -> Result<Vec<RetrievedContent>> {
    let passages = [
        ("guide-7", 0.912, "Clean the blade of a pruning saw with a dry cloth after each use."),
        ("guide-9", 0.507, "Oil the hinge of a pruning saw once a year."),
    ];
    let content = |(id, score, text): (&str, f64, &str)| {
        RetrievedContent::from(text).with_id(id).with_score(score)
    };
    Ok(passages.map(content).into())
}

/// Replaces card numbers.
pub(crate) struct CardNumbers;

#[async_trait]
impl InputGuardrail for CardNumbers {
    async fn check(&self, request: InputGuardrailRequest<'_>) -> Result<InputVerdict> {
        let text = request.text();
        let is_number = |word: &str| word.len() == 16 && word.bytes().all(|b| b.is_ascii_digit());
        let words = text.split(' ').map(|word| if is_number(word) { "[card]" } else { word });
        let replaced = words.collect::<Vec<_>>().join(" ");
        Ok(match replaced == text {
            true => InputVerdict::Success,
            false => InputVerdict::Rewrite(UserMessage::new(replaced)),
        })
    }

    fn name(&self) -> &str {
        "card_numbers"
    }
}

/// Asks for another answer if the model promises a discount.
pub(crate) struct Discounts;

#[async_trait]
impl OutputGuardrail for Discounts {
    async fn check(&self, request: OutputGuardrailRequest<'_>) -> Result<OutputVerdict> {
        Ok(match request.text().contains("discount") {
            false => OutputVerdict::Success,
            true => OutputVerdict::Reprompt {
                reason: "the shop has no discounts".into(),
                prompt: "Answer without a promise about the price.".into(),
            },
        })
    }

    fn name(&self) -> &str {
        "discounts"
    }
}

//! Combined models: a fallback, a cache, and the cost of the calls.
//!
//! Runs offline with scripted models.
#![allow(clippy::print_stdout, reason = "examples print their results")]

use ai_services::combinators::{CachedModel, FallbackModel, InMemoryResponseCache};
use ai_services::model::{Price, PriceTable, TokenUsage};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{ErrorKind, Response, ai_service};

/// A translator.
#[ai_service]
trait Translator {
    /// Translates a text into Norwegian.
    #[user_message("Translate into Norwegian: {{it}}")]
    async fn norwegian(&self, text: &str) -> ai_services::Result<Response<String>>;
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ai_services::Result<()> {
    // The first provider is unavailable, the second one answers.
    let down = ScriptedAnswer::error(ErrorKind::Unavailable, "the provider is not available");
    let first = ScriptedChatModel::new([down]);
    let answer = ScriptedAnswer::text("God morgen").with_usage(TokenUsage::new(12, 4));
    let second = ScriptedChatModel::new([answer]);
    let either = FallbackModel::builder().model(first).model(second.clone()).build()?;
    let model = CachedModel::new(either, InMemoryResponseCache::new());

    // Prices per million tokens of input and output. The crate has no built-in prices.
    let prices = PriceTable::new().price("*", Price::per_million(0.15, 0.60));
    let translator = TranslatorService::builder().chat_model(model).price_table(prices).build()?;

    let answer = translator.norwegian("Good morning").await?;
    println!("{} for {}", answer.value, answer.cost.unwrap_or_default());
    let again = translator.norwegian("Good morning").await?;
    println!("{} for {}", again.value, again.cost.unwrap_or_default());

    // The second answer came from the cache, without cost.
    assert_eq!(again.value, answer.value);
    assert_eq!(second.requests().len(), 1);
    Ok(())
}

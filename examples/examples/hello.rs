//! The smallest AI service: a trait with one method.
//!
//! Runs offline with a scripted model. For a real model, use `OpenAiChatModel::from_env()?` instead.
#![allow(clippy::print_stdout, reason = "examples print their results")]

use ai_services::ai_service;
use ai_services::message::ChatMessage;
use ai_services::testing::ScriptedChatModel;

/// An assistant that greets people.
#[ai_service]
trait Greeter {
    /// Greets a person.
    #[user_message("Say hello to {{name}} in one sentence.")]
    async fn greet(&self, name: &str) -> ai_services::Result<String>;
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ai_services::Result<()> {
    let model = ScriptedChatModel::replies(["Hello Ada, good to see you!"]);
    let greeter = GreeterService::builder().chat_model(model.clone()).build()?;

    let greeting = greeter.greet("Ada").await?;

    assert_eq!(greeting, "Hello Ada, good to see you!");
    let sent = [ChatMessage::user("Say hello to Ada in one sentence.")];
    assert_eq!(model.messages_of(0), sent);
    println!("{greeting}");
    Ok(())
}

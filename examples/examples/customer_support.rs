//! The support agent of a car rental: a tool cancels bookings and enforces the rules.
#![allow(clippy::print_stdout, reason = "examples print their results")]

use ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ai_services::message::{ChatMessage, ToolCall};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Result, ai_service, tools};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[ai_service]
#[system_message(
    "You are a polite customer support agent of Miles of Smiles. Today is {{current_date}}.",
    "Before you look up or cancel a booking, ask for its number and the customer's full name."
)]
trait SupportAgent {
    async fn chat(&self, #[memory_id] id: u64, #[user_message] text: &str) -> Result<String>;
}

#[derive(Clone, Deserialize, JsonSchema)]
struct Customer {
    /// The first name.
    name: String,
    surname: String,
}

/// The bookings: 123-456 for two days and 123-457 for a week, both by Klaus Heisler.
struct Bookings;

#[tools]
impl Bookings {
    /// Returns the length of a booking in days.
    #[tool]
    fn get_booking_details(&self, number: &str, customer: &Customer) -> Result<u32, String> {
        match (number, &*customer.name, &*customer.surname) {
            ("123-456", "Klaus", "Heisler") => Ok(2),
            ("123-457", "Klaus", "Heisler") => Ok(7),
            // Also the error for a wrong name, so that booking numbers cannot be guessed.
            _ => Err(format!("this customer has no booking {number}")),
        }
    }

    /// Cancels a booking.
    #[tool(sequential)]
    async fn cancel_booking(&self, number: &str, customer: &Customer) -> Result<String, String> {
        match self.get_booking_details(number, customer)? {
            0..3 => Err("policy: less than 3 days cannot be cancelled".to_owned()),
            _ => Ok(format!("{number} is cancelled")),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    // A model that calls the tool for `NAME cancels NUMBER`, and then repeats the tool's result.
    let model = ScriptedChatModel::from_fn(|_, request| {
        let last = request.messages().last().and_then(ChatMessage::text).unwrap_or_default();
        let Some((name, number)) = last.split_once(" cancels ") else {
            return ScriptedAnswer::text(last);
        };
        let customer = json!({ "name": name, "surname": "Heisler" });
        let arguments = json!({ "number": number, "customer": customer }).to_string();
        ScriptedAnswer::tool_calls([ToolCall::new("", "cancel_booking", arguments)])
    });
    let memory = |id: &MemoryId| MessageWindowChatMemory::builder().id(id).max_messages(20).build();
    let agent = SupportAgentService::builder().chat_model(model).tools(Bookings);
    let agent = agent.chat_memory_provider(memory).build()?;
    for (customer, text, expected) in [
        (1, "Klaus cancels 123-456", "policy: less than 3 days cannot be cancelled"),
        (1, "Klaus cancels 123-457", "123-457 is cancelled"),
        (2, "Karl cancels 123-457", "this customer has no booking 123-457"),
    ] {
        let answer = agent.chat(customer, text).await?;
        println!("{text}: {answer}");
        assert_eq!(answer, expected);
    }
    assert_eq!(agent.chat_memory(&2)?.messages().await?.len(), 4, "one turn with one tool call");
    Ok(())
}

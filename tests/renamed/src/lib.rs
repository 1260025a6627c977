//! Generated code does not depend on names in scope, and passes all lints.
//!
//! `tests/tests/it/hygiene.rs` does the same in edition 2024, with the crate under its own name.

#![no_implicit_prelude]
#![deny(missing_docs, warnings)]

/// Names that shadow the standard library.
#[allow(dead_code)]
mod shadows {
    pub(crate) struct Result;
    pub(crate) struct Option;
    pub(crate) struct String;
    pub(crate) struct Vec;
    pub(crate) struct Box;
    pub(crate) struct Some;
    pub(crate) struct None;
    pub(crate) struct Ok;
    pub(crate) struct Err;
    pub(crate) struct Error;
    pub(crate) trait Send {}
    pub(crate) trait Into {}
}

#[allow(unused_imports)]
use shadows::{Box, Err, Error, Into, None, Ok, Option, Result, Send, Some, String, Vec};

/// The only path to the runtime crate.
mod facade {
    pub(crate) use ::mine as ai;
}

use ::mine::memory::MemoryId;
use ::mine::{ai_service, tool, tools};
use ::std::string::String as Text;

/// A service.
#[ai_service(crate = facade::ai)]
#[system_message("You work for {{company}}. Today is {{current_date}}.")]
pub trait Support: ::core::marker::Send + ::core::marker::Sync {
    /// Sends a message.
    async fn chat(
        &self,
        #[memory_id] customer: &str,
        #[v] company: &str,
        #[user_message] message: &str,
    ) -> ::mine::Result<Text>;

    /// Streams the answer.
    fn stream(&self, #[v] company: &str, #[user_message] message: &str) -> ::mine::AnswerStream;

    /// Returns a number.
    async fn count(&self, #[v] company: &str, #[user_message] message: &str)
        -> ::mine::Result<u32>;

    /// A method with a body, which the macro does not implement.
    async fn twice(&self, text: Text) -> ::mine::Result<Text> {
        self.chat("ann", "us", &text).await?;
        self.chat("ann", "us", &text).await
    }
}

/// Tools.
#[derive(::core::fmt::Debug)]
pub struct Bookings;

#[tools(crate = facade::ai)]
impl Bookings {
    /// Cancels a booking.
    #[tool(timeout = "2s")]
    pub async fn cancel(
        &self,
        #[memory_id] customer: &MemoryId,
        /// The number.
        number: &str,
        #[p(default = "none")] reason: Text,
        #[p(default = 2)] times: u8,
    ) -> ::core::result::Result<Text, ::std::io::Error> {
        ::core::result::Result::Ok(::std::format!("{customer} {number} {reason} {times}"))
    }

    /// Lists the bookings.
    #[facade::ai::tool]
    pub fn list(&self) -> u8 {
        0
    }
}

/// Adds two numbers.
#[tool(crate = facade::ai)]
pub async fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[cfg(test)]
mod tests {
    use super::{add, Bookings, MemoryId, Support, SupportService};
    use ::mine::memory::MessageWindowChatMemory;
    use ::mine::testing::ScriptedChatModel;

    #[::core::prelude::v1::test]
    fn generated_code_runs() {
        let service = SupportService::builder()
            .chat_model(ScriptedChatModel::replies(["first", "second"]))
            .chat_memory_provider(|id: &MemoryId| {
                MessageWindowChatMemory::builder().id(id).max_messages(10).build()
            })
            .tools(Bookings)
            .tools(add::tool())
            .build()
            .expect("the service is complete");
        let shared: ::std::sync::Arc<dyn Support> = ::std::sync::Arc::new(service);
        let question = ::core::convert::From::from("What?");
        let answer =
            ::tokio::runtime::Runtime::new().expect("a runtime").block_on(shared.twice(question));
        ::std::assert_eq!(answer.expect("an answer"), "second");
    }
}

//! Generated code does not depend on names in scope, and passes all lints.
//!
//! `tests/renamed` does the same in edition 2021, with the crate under another name.

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
    pub(crate) use ::ai_services as ai;
}

use ::ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ::ai_services::testing::ScriptedChatModel;
use ::ai_services::{ai_service, tool, tools};
use ::std::assert_eq;
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
    ) -> ::ai_services::Result<Text>;

    /// Streams the answer.
    fn stream(
        &self,
        #[v] company: &str,
        #[user_message] message: &str,
    ) -> ::ai_services::AnswerStream;

    /// Returns a number.
    #[input_guardrails(Lenient)]
    #[output_guardrails(Lenient, max_retries = 1)]
    async fn count(
        &self,
        #[v] company: &str,
        #[user_message] message: &str,
    ) -> ::ai_services::Result<u32>;

    /// Describes images.
    async fn look(
        &self,
        #[v] company: &str,
        #[user_message] message: &str,
        #[user_message] images: &[::ai_services::message::ImageContent],
    ) -> ::ai_services::Result<Text>;

    /// A method with a body, which the macro does not implement.
    async fn twice(&self, text: Text) -> ::ai_services::Result<Text> {
        self.chat("ann", "us", &text).await?;
        self.chat("ann", "us", &text).await
    }
}

/// A guardrail that accepts everything.
#[derive(::core::fmt::Debug)]
pub struct Lenient;

/// The future of a guardrail.
type CheckFuture<'a, T> = ::core::pin::Pin<
    ::std::boxed::Box<
        dyn ::core::future::Future<Output = ::ai_services::Result<T>> + ::core::marker::Send + 'a,
    >,
>;

impl ::ai_services::guardrail::InputGuardrail for Lenient {
    fn check<'a, 'b, 'z>(
        &'a self,
        _: ::ai_services::guardrail::InputGuardrailRequest<'b>,
    ) -> CheckFuture<'z, ::ai_services::guardrail::InputVerdict>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        let verdict = ::ai_services::guardrail::InputVerdict::Success;
        ::std::boxed::Box::pin(::core::future::ready(::core::result::Result::Ok(verdict)))
    }

    fn name(&self) -> &str {
        "lenient"
    }
}

impl ::ai_services::guardrail::OutputGuardrail for Lenient {
    fn check<'a, 'b, 'z>(
        &'a self,
        _: ::ai_services::guardrail::OutputGuardrailRequest<'b>,
    ) -> CheckFuture<'z, ::ai_services::guardrail::OutputVerdict>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        let verdict = ::ai_services::guardrail::OutputVerdict::Success;
        ::std::boxed::Box::pin(::core::future::ready(::core::result::Result::Ok(verdict)))
    }

    fn name(&self) -> &str {
        "lenient"
    }
}

/// Tools.
#[derive(::core::fmt::Debug)]
pub struct Bookings;

#[tools(crate = facade::ai)]
impl Bookings {
    /// Cancels a booking.
    #[tool(timeout = "2s", verify = find, key = "{{number}}")]
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

    async fn find(
        &self,
        _: ::ai_services::tool::ToolInput,
    ) -> ::core::result::Result<::ai_services::tool::CallState, ::std::io::Error> {
        ::core::result::Result::Ok(::ai_services::tool::CallState::Unknown)
    }
}

/// Takes a photo.
#[tool(crate = facade::ai, read_only)]
pub fn photo() -> ::core::option::Option<::ai_services::message::ImageContent> {
    ::core::option::Option::None
}

/// Adds two numbers.
#[tool(crate = facade::ai)]
pub async fn add(a: i64, b: i64) -> i64 {
    a + b
}

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
    assert_eq!(answer.expect("an answer"), "second");
}

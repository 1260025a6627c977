//! All attributes in all forms.

use ai_services::guardrail::{
    InputGuardrail, InputGuardrailRequest, InputVerdict, OutputGuardrail, OutputGuardrailRequest,
    OutputVerdict,
};
use ai_services::memory::MemoryId;
use ai_services::message::{Content, ImageContent};
use ai_services::model::ChatRequestParameters;
use ai_services::tool::{CallState, ToolInput};
use ai_services::{InvocationContext, Response, Result, AnswerStream, ai_service, tool, tools};

#[ai_service(name = "Desk", crate = ai_services)]
#[system_message("You work for {{company}}.", "Today is {{ current_date }}.", delimiter = " ")]
#[moderate]
#[input_guardrails(Nothing)]
#[output_guardrails(Nothing)]
pub trait Support: Send + Sync {
    #[moderate(message, answer)]
    #[input_guardrails(Nothing, Any::of(3), AnyWith { number: 4 })]
    #[output_guardrails(Nothing, Nothing, max_retries = 0)]
    async fn chat(
        &self,
        #[memory_id] customer: &str,
        #[v] company: &str,
        #[user_message] message: &str,
        #[user_name] name: &str,
        #[parameters] parameters: ChatRequestParameters,
        #[context] context: &InvocationContext,
    ) -> Result<Response<String>>;

    #[tools("add", "cancel-booking", choice = required)]
    #[retrieval(none)]
    #[system_message(file = "prompt.txt")]
    #[user_message("{{it}}, {{{{it}}}}, {{number}}")]
    async fn template(&self, text: &str, #[v("number")] n: Option<u32>) -> Result<String>;

    #[system_message("You look.")]
    #[user_message("Compare {{what}}.")]
    async fn look(
        &self,
        #[v("what", json)] things: &[&str],
        #[user_message] image: ImageContent,
        #[user_message] others: &[Content],
    ) -> Result<String>;

    /// Translates a text.
    #[tool(name = "translate", timeout = "2m", sequential, requires_approval, read_only)]
    #[system_message("Translate to {{language}}.")]
    #[user_message("{{text}}")]
    async fn by_name(&self, #[p("The text")] text: String, #[p("The language", default = "English")] language: String) -> Result<String>;

    #[tool("Assists.")]
    #[system_message("You are the assistant of {{id}}.")]
    async fn by_role(&self, #[memory_id] #[v(json)] id: u64, r#type: &str) -> Result<String>;

    fn stream(&self, #[memory_id] customer: &str, #[v] company: &str, #[user_message] text: &str) -> AnswerStream;

    #[tools(none)]
    #[system_message("You count.")]
    fn count(&self, text: &str) -> AnswerStream<u32>;

    /// A method with a body, which the macro does not implement.
    async fn twice(&self, mut text: String, (a, b): (u8, u8)) -> Result<String> {
        if a > b {
            return self.by_name(text, String::new()).await;
        }
        text.push('!');
        let first = self.by_name(text.clone(), String::new()).await?;
        Ok(first + &text)
    }

    fn name(&self) -> &'static str {
        "support"
    }
}

struct Nothing;

struct AnyWith {
    number: u8,
}

struct Any;

impl Any {
    const fn of(number: u8) -> AnyWith {
        AnyWith { number }
    }
}

#[ai_services::async_trait]
impl InputGuardrail for AnyWith {
    async fn check(&self, _: InputGuardrailRequest<'_>) -> Result<InputVerdict> {
        let _ = self.number;
        Ok(InputVerdict::Success)
    }

    fn name(&self) -> &str {
        "any"
    }
}

#[ai_services::async_trait]
impl InputGuardrail for Nothing {
    async fn check(&self, _: InputGuardrailRequest<'_>) -> Result<InputVerdict> {
        Ok(InputVerdict::Success)
    }

    fn name(&self) -> &str {
        "nothing"
    }
}

#[ai_services::async_trait]
impl OutputGuardrail for Nothing {
    async fn check(&self, _: OutputGuardrailRequest<'_>) -> Result<OutputVerdict> {
        Ok(OutputVerdict::Success)
    }

    fn name(&self) -> &str {
        "nothing"
    }
}

struct Bookings<T>(T);

#[tools(crate = ai_services)]
impl<T: Into<f64> + Copy> Bookings<T> {
    /// Cancels a booking.
    #[tool(name = "cancel-booking", timeout = "500ms", sequential, return_immediately, requires_approval, verify = find, key = "{{number}}")]
    async fn cancel(
        &self,
        #[memory_id] customer: &MemoryId,
        #[context] context: &InvocationContext,
        /// The number.
        number: &str,
        #[p("Why.", default = "none")] reason: String,
        #[p(default = vec![1])] days: Vec<u8>,
        nights: Option<i32>,
    ) -> std::result::Result<String, std::io::Error> {
        let _ = (customer, context, number, days, nights);
        Ok(reason)
    }

    async fn find(&self, call: ToolInput) -> std::result::Result<CallState, String> {
        let _ = (self.not_a_tool(), call);
        Ok(CallState::Unknown)
    }

    #[tool(description = "Synchronous, without a result.")]
    fn nothing(&self) {}

    #[tool("Borrows its arguments and its result.")]
    fn borrowed(
        &self,
        _path: &std::path::Path,
        _numbers: &[u8],
        _names: Vec<&str>,
        _list: Option<&[String]>,
        name: Option<&str>,
    ) -> &str {
        let _ = name;
        "text"
    }

    /// Without a receiver.
    #[ai_services::tool]
    async fn free() -> Vec<u8> {
        Vec::new()
    }

    const LIMITS: [fn(f64) -> f64; 2] = [|x| x, |x| { x }];

    fn not_a_tool(&self) -> f64 {
        self.0.into()
    }

    fn generic<const N: usize, const M: usize>(&self, _: [u8; N]) -> [u8; M]
    where
        [u8; { 1 }]: Sized,
    {
        [0; M]
    }
}

/// Adds two numbers.
#[tool(crate = ai_services)]
async fn add(a: i64, #[p(default = -1)] b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = add::tool();
    let bookings = Bookings(1.0_f32);
    let _ = bookings.not_a_tool();
    let _: [u8; 2] = bookings.generic([0; 3]);
    let _ = Bookings::<f32>::LIMITS;
    let _: Option<Box<dyn Support>> = None;
    fn service<T: Support + Clone + std::fmt::Debug + Send + Sync + 'static>() {}
    service::<Desk>();
}

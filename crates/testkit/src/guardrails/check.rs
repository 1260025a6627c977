//! Asking a guardrail.

use super::{CheckedInput, CheckedOutput};
use ai_services_core::document::TextSegment;
use ai_services_core::guardrail::{
    InputGuardrail, InputGuardrailRequest, OutputGuardrail, OutputGuardrailRequest,
};
use ai_services_core::memory::MemoryId;
use ai_services_core::message::{AiMessage, ChatMessage, SystemMessage, UserMessage};
use ai_services_core::model::{ChatResponse, UsageMeter};
use ai_services_core::{InvocationContext, TurnContext, TurnContextBuilder};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::fmt;
use std::future::IntoFuture;

/// Asks an input guardrail about a text, once it is awaited.
///
/// For examples see the [module](super).
pub fn check_input(guardrail: &dyn InputGuardrail, message: impl Into<Box<str>>) -> CheckInput<'_> {
    CheckInput { guardrail, message: UserMessage::new(message), around: Around::default() }
}

/// Asks an output guardrail about a text, once it is awaited.
///
/// For examples see the [module](super).
pub fn check_output(
    guardrail: &dyn OutputGuardrail,
    answer: impl Into<Box<str>>,
) -> CheckOutput<'_> {
    CheckOutput {
        guardrail,
        response: ChatResponse::new(AiMessage::new(answer)),
        question: UserMessage::new(""),
        rejected: 0,
        around: Around::default(),
    }
}

/// What a guardrail is told beside the text.
#[derive(Default)]
struct Around {
    contents: Vec<TextSegment>,
    history: Vec<ChatMessage>,
    system: Option<SystemMessage>,
    memory_id: Option<MemoryId>,
    invocation: InvocationContext,
    meter: UsageMeter,
}

impl Around {
    fn turn(&mut self, message: UserMessage) -> TurnContext {
        let history = std::mem::take(&mut self.history);
        let invocation = std::mem::take(&mut self.invocation);
        let builder = TurnContext::builder(message)
            .history(history)
            .invocation(invocation)
            .meter(self.meter.clone());
        let builder = set(builder, self.system.take(), TurnContextBuilder::system_message);
        set(builder, self.memory_id.take(), TurnContextBuilder::memory_id).build()
    }
}

fn set<B, T>(builder: B, value: Option<T>, with: impl FnOnce(B, T) -> B) -> B {
    match value {
        Some(value) => with(builder, value),
        None => builder,
    }
}

/// The setters that both kinds of checks have.
macro_rules! around {
    () => {
        /// Sets what was retrieved.
        pub fn contents(mut self, contents: impl IntoIterator<Item = TextSegment>) -> Self {
            self.around.contents = contents.into_iter().collect();
            self
        }

        /// Sets what was said before, oldest first.
        pub fn history(mut self, messages: impl IntoIterator<Item = ChatMessage>) -> Self {
            self.around.history = messages.into_iter().collect();
            self
        }

        /// Sets the system message.
        pub fn system_message(mut self, text: impl Into<Box<str>>) -> Self {
            self.around.system = Some(SystemMessage::new(text));
            self
        }

        /// Sets whose conversation it is.
        pub fn memory_id(mut self, id: impl Into<MemoryId>) -> Self {
            self.around.memory_id = Some(id.into());
            self
        }

        /// Sets the application's data.
        pub fn invocation(mut self, context: InvocationContext) -> Self {
            self.around.invocation = context;
            self
        }

        /// Sets where the guardrail counts the tokens of models that it asks.
        pub fn meter(mut self, meter: UsageMeter) -> Self {
            self.around.meter = meter;
            self
        }
    };
}

/// A question to an input guardrail; see [`check_input`].
#[must_use = "the guardrail is not asked until this is awaited"]
pub struct CheckInput<'a> {
    guardrail: &'a dyn InputGuardrail,
    message: UserMessage,
    around: Around,
}

impl CheckInput<'_> {
    /// Asks about this message instead, which may have several parts.
    pub fn message(mut self, message: UserMessage) -> Self {
        self.message = message;
        self
    }

    around!();
}

impl<'a> IntoFuture for CheckInput<'a> {
    type Output = CheckedInput;
    type IntoFuture = BoxFuture<'a, CheckedInput>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { guardrail, message, mut around } = self;
        async move {
            let turn = around.turn(message.clone());
            let request =
                InputGuardrailRequest::new(&message, &turn).with_contents(&around.contents);
            let verdict = guardrail.check(request).await;
            CheckedInput::new(guardrail.name(), verdict)
        }
        .boxed()
    }
}

impl fmt::Debug for CheckInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CheckInput").field(&self.guardrail.name()).finish()
    }
}

/// A question to an output guardrail; see [`check_output`].
#[must_use = "the guardrail is not asked until this is awaited"]
pub struct CheckOutput<'a> {
    guardrail: &'a dyn OutputGuardrail,
    response: ChatResponse,
    question: UserMessage,
    rejected: u32,
    around: Around,
}

impl CheckOutput<'_> {
    /// Asks about this answer instead.
    pub fn response(mut self, response: ChatResponse) -> Self {
        self.response = response;
        self
    }

    /// Sets what the user said; nothing, unless told.
    pub fn question(mut self, question: impl Into<Box<str>>) -> Self {
        self.question = UserMessage::new(question);
        self
    }

    /// Sets how many answers of the turn were rejected before.
    pub fn rejected(mut self, rejected: u32) -> Self {
        self.rejected = rejected;
        self
    }

    around!();
}

impl<'a> IntoFuture for CheckOutput<'a> {
    type Output = CheckedOutput;
    type IntoFuture = BoxFuture<'a, CheckedOutput>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { guardrail, response, question, rejected, mut around } = self;
        async move {
            let turn = around.turn(question);
            let request = OutputGuardrailRequest::new(&response, &turn)
                .with_contents(&around.contents)
                .with_rejected(rejected);
            let verdict = guardrail.check(request).await;
            CheckedOutput::new(guardrail.name(), verdict)
        }
        .boxed()
    }
}

impl fmt::Debug for CheckOutput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CheckOutput").field(&self.guardrail.name()).finish()
    }
}

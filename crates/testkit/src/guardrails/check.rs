//! Calling a guardrail in a test.

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

/// Checks a text with an input guardrail. The guardrail is called when the returned value is awaited.
///
/// The [module](super) has examples.
pub fn check_input(guardrail: &dyn InputGuardrail, message: impl Into<Box<str>>) -> CheckInput<'_> {
    CheckInput { guardrail, message: UserMessage::new(message), context: RequestContext::default() }
}

/// Checks a text with an output guardrail. The guardrail is called when the returned value is awaited.
///
/// The [module](super) has examples.
pub fn check_output(
    guardrail: &dyn OutputGuardrail,
    answer: impl Into<Box<str>>,
) -> CheckOutput<'_> {
    CheckOutput {
        guardrail,
        response: ChatResponse::new(AiMessage::new(answer)),
        question: UserMessage::new(""),
        rejected: 0,
        context: RequestContext::default(),
    }
}

/// The context of the request to a guardrail.
#[derive(Default)]
struct RequestContext {
    contents: Vec<TextSegment>,
    history: Vec<ChatMessage>,
    system: Option<SystemMessage>,
    memory_id: Option<MemoryId>,
    invocation: InvocationContext,
    meter: UsageMeter,
}

impl RequestContext {
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

/// Defines the setters that both kinds of checks have.
macro_rules! context_setters {
    () => {
        /// Sets the retrieved contents.
        pub fn contents(mut self, contents: impl IntoIterator<Item = TextSegment>) -> Self {
            self.context.contents = contents.into_iter().collect();
            self
        }

        /// Sets the earlier messages of the conversation, oldest first.
        pub fn history(mut self, messages: impl IntoIterator<Item = ChatMessage>) -> Self {
            self.context.history = messages.into_iter().collect();
            self
        }

        /// Sets the system message.
        pub fn system_message(mut self, text: impl Into<Box<str>>) -> Self {
            self.context.system = Some(SystemMessage::new(text));
            self
        }

        /// Sets the memory id of the conversation.
        pub fn memory_id(mut self, id: impl Into<MemoryId>) -> Self {
            self.context.memory_id = Some(id.into());
            self
        }

        /// Sets the application's data.
        pub fn invocation(mut self, context: InvocationContext) -> Self {
            self.context.invocation = context;
            self
        }

        /// Sets the meter in which the guardrail counts the tokens of its model calls.
        pub fn meter(mut self, meter: UsageMeter) -> Self {
            self.context.meter = meter;
            self
        }
    };
}

/// A call of an input guardrail; see [`check_input`].
#[must_use = "the guardrail is not called until this value is awaited"]
pub struct CheckInput<'a> {
    guardrail: &'a dyn InputGuardrail,
    message: UserMessage,
    context: RequestContext,
}

impl CheckInput<'_> {
    /// Sets the message, for a message with several parts. Replaces the text.
    pub fn message(mut self, message: UserMessage) -> Self {
        self.message = message;
        self
    }

    context_setters!();
}

impl<'a> IntoFuture for CheckInput<'a> {
    type Output = CheckedInput;
    type IntoFuture = BoxFuture<'a, CheckedInput>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { guardrail, message, mut context } = self;
        async move {
            let turn = context.turn(message.clone());
            let request =
                InputGuardrailRequest::new(&message, &turn).with_contents(&context.contents);
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

/// A call of an output guardrail; see [`check_output`].
#[must_use = "the guardrail is not called until this value is awaited"]
pub struct CheckOutput<'a> {
    guardrail: &'a dyn OutputGuardrail,
    response: ChatResponse,
    question: UserMessage,
    rejected: u32,
    context: RequestContext,
}

impl CheckOutput<'_> {
    /// Sets the whole response of the model. Replaces the text.
    pub fn response(mut self, response: ChatResponse) -> Self {
        self.response = response;
        self
    }

    /// Sets the message of the user. Default: empty.
    pub fn question(mut self, question: impl Into<Box<str>>) -> Self {
        self.question = UserMessage::new(question);
        self
    }

    /// Sets the number of answers of the turn that were already rejected. Default: 0.
    pub fn rejected(mut self, rejected: u32) -> Self {
        self.rejected = rejected;
        self
    }

    context_setters!();
}

impl<'a> IntoFuture for CheckOutput<'a> {
    type Output = CheckedOutput;
    type IntoFuture = BoxFuture<'a, CheckedOutput>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { guardrail, response, question, rejected, mut context } = self;
        async move {
            let turn = context.turn(question);
            let request = OutputGuardrailRequest::new(&response, &turn)
                .with_contents(&context.contents)
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

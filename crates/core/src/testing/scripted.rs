//! A chat model with scripted answers.

use super::answer::ScriptedAnswer;
use crate::error::{Error, ErrorKind, Result};
use crate::message::ChatMessage;
use crate::model::{
    Capabilities, Capability, ChatModel, ChatRequest, ChatResponse, ModelEndpoint, ModelStreamEvent,
};
use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A chat model that returns prepared answers in order and records every request.
///
/// Clones share the script and the recorded requests. Keep a clone to inspect the requests after
/// the test.
///
/// # Examples
///
/// ```
/// use ai_services::ai_service;
/// use ai_services::message::{ChatMessage, ToolCall};
/// use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
///
/// #[ai_service]
/// trait Assistant {
///     #[system_message("Be brief.")]
///     async fn chat(&self, message: &str) -> ai_services::Result<String>;
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let model = ScriptedChatModel::new([
///     ScriptedAnswer::tool_calls([ToolCall::new("1", "clock", "{}")]),
///     ScriptedAnswer::text("I have no clock."),
/// ]);
/// let assistant = AssistantService::builder().chat_model(model.clone()).build()?;
/// assert_eq!(assistant.chat("What time is it?").await?, "I have no clock.");
///
/// let first = model.messages_of(0);
/// assert_eq!(first, [ChatMessage::system("Be brief."), ChatMessage::user("What time is it?")]);
/// model.check_finished()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ScriptedChatModel {
    state: Arc<State>,
    capabilities: Capabilities,
}

struct State {
    script: Script,
    requests: Mutex<Vec<ChatRequest>>,
}

enum Script {
    Answers(Mutex<VecDeque<ScriptedAnswer>>),
    Function(Box<Function>),
}

type Function = dyn Fn(usize, &ChatRequest) -> ScriptedAnswer + Send + Sync;

impl ScriptedChatModel {
    /// Creates a model that returns these answers in order. Further calls fail.
    pub fn new(answers: impl IntoIterator<Item = ScriptedAnswer>) -> Self {
        Self::with(Script::Answers(Mutex::new(answers.into_iter().collect())))
    }

    /// Creates a model that answers with these texts in order.
    pub fn replies<T: Into<Box<str>>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::new(texts.into_iter().map(ScriptedAnswer::text))
    }

    /// Creates a model that calls a function for each answer, with the number of the request (0, 1,
    /// …) and the request.
    pub fn from_fn(
        answer: impl Fn(usize, &ChatRequest) -> ScriptedAnswer + Send + Sync + 'static,
    ) -> Self {
        Self::with(Script::Function(Box::new(answer)))
    }

    fn with(script: Script) -> Self {
        let capabilities = Capabilities::of([
            Capability::Tools,
            Capability::JsonSchema,
            Capability::JsonSchemaWithTools,
            Capability::JsonObject,
            Capability::Streaming,
            Capability::Images,
            Capability::Audio,
            Capability::Videos,
            Capability::Pdfs,
            Capability::ToolChoice,
        ]);
        Self { state: Arc::new(State { script, requests: Mutex::default() }), capabilities }
    }

    /// Sets the capabilities of the model. Default: all.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Returns all requests so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<ChatRequest> {
        lock(&self.state.requests).clone()
    }

    /// Returns the messages of a request, counted from 0. Empty if the request was never made.
    #[must_use]
    pub fn messages_of(&self, request: usize) -> Vec<ChatMessage> {
        let requests = lock(&self.state.requests);
        requests.get(request).into_iter().flat_map(ChatRequest::messages).cloned().collect()
    }

    /// Returns the number of answers that are left in the script.
    #[must_use]
    pub fn unused_answers(&self) -> usize {
        match &self.state.script {
            Script::Answers(answers) => lock(answers).len(),
            Script::Function(_) => 0,
        }
    }

    /// Checks that all answers were used.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Configuration`] if answers are left; the message contains their
    /// number.
    pub fn check_finished(&self) -> Result<()> {
        match self.unused_answers() {
            0 => Ok(()),
            left => {
                let calls = lock(&self.state.requests).len();
                Err(Error::configuration(format!(
                    "{left} answers of the script were not used; the model was called {calls} times"
                )))
            }
        }
    }

    fn next_answer(&self, request: &ChatRequest) -> ScriptedAnswer {
        let number = {
            let mut requests = lock(&self.state.requests);
            requests.push(request.clone());
            requests.len() - 1
        };
        match &self.state.script {
            Script::Function(answer) => answer(number, request),
            Script::Answers(answers) => lock(answers).pop_front().unwrap_or_else(|| {
                ScriptedAnswer::error(
                    ErrorKind::Configuration,
                    format!("the script has no answer for request {number}"),
                )
            }),
        }
    }
}

#[async_trait]
impl ChatModel for ScriptedChatModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let answer = self.next_answer(request);
        answer.wait().await;
        answer.outcome
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        let events = async move {
            let answer = self.next_answer(request);
            answer.wait().await;
            answer.into_events()
        };
        stream::once(events).flatten().boxed()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn name(&self) -> &str {
        "scripted"
    }

    fn endpoint(&self) -> ModelEndpoint<'_> {
        ModelEndpoint::new("scripted")
    }
}

impl fmt::Debug for ScriptedChatModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedChatModel")
            .field("requests", &lock(&self.state.requests).len())
            .field("unused_answers", &self.unused_answers())
            .finish()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

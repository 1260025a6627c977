//! The handle of a service, and the entry of every generated method.

use super::components::Components;
use super::description::{Arguments, Method};
use super::invocation::{Invocation, Said};
use super::invoke;
use super::response::{MethodReturn, Response, Returned};
use super::stream::{AnswerStream, Outlet, StreamReturn};
use crate::error::{Error, Result};
use crate::invocation::{MemoryId, ToMemoryId};
use crate::memory::ChatMemory;
use crate::model::ChatResponse;
use crate::output::Output;
use futures_util::future::FutureExt;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use tracing::{Instrument, Span, field};

/// The engine behind a generated service; every `{Trait}Service` dereferences to it.
///
/// Cheap to clone; clones share models, tools, queues and memories.
///
/// # Examples
///
/// ```
/// use ai_services::ai_service;
/// use ai_services::memory::{MemoryId, MessageWindowChatMemory};
/// use ai_services::testing::ScriptedChatModel;
///
/// #[ai_service]
/// trait Assistant {
///     async fn chat(&self, #[memory_id] user: &str, #[user_message] text: &str)
///         -> ai_services::Result<String>;
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let assistant = AssistantService::builder()
///     .chat_model(ScriptedChatModel::replies(["Hello, Ann."]))
///     .chat_memory_provider(|id: &MemoryId| {
///         MessageWindowChatMemory::builder().id(id).max_messages(20).build()
///     })
///     .build()?;
/// assistant.chat("ann", "I am Ann.").await?;
///
/// let memory = assistant.chat_memory("ann")?;
/// assert_eq!(memory.messages().await?.len(), 2);
/// memory.clear().await?;
/// assert!(assistant.evict_chat_memory("ann"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AiService(Arc<Components>);

impl AiService {
    pub(super) fn new(components: Components) -> Self {
        Self(Arc::new(components))
    }

    /// The memory of an id, to read, change or clear it.
    ///
    /// A change that meets a running call makes that call start over, or fail with
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if tools have run.
    ///
    /// # Errors
    ///
    /// If the service has no chat memory provider, or the provider fails.
    pub fn chat_memory<I: ToMemoryId + ?Sized>(&self, id: &I) -> Result<Arc<dyn ChatMemory>> {
        let id = id.to_memory_id();
        let memory = &self.0.memory;
        memory.conversations.memory(&id, || memory.provide(&id))
    }

    /// Forgets the memory of an id that lives in the service itself, and says whether there was one.
    ///
    /// A memory that lives in a store is not kept by the service: there is nothing to evict, and what
    /// is stored stays. To delete that, [`clear`](ChatMemory::clear) the memory.
    pub fn evict_chat_memory<I: ToMemoryId + ?Sized>(&self, id: &I) -> bool {
        self.0.memory.conversations.evict(&id.to_memory_id())
    }

    /// The memory of the methods without a `#[memory_id]`, if there is one.
    #[must_use]
    pub fn shared_chat_memory(&self) -> Option<Arc<dyn ChatMemory>> {
        self.0.memory.shared.as_ref().map(|shared| Arc::clone(&shared.memory))
    }
}

impl fmt::Debug for AiService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AiService")
            .field("name", &self.0.name)
            .field("model", &self.0.model.name())
            .field("tools", &self.0.toolbox.names().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// Calls a method. Prompts are rendered at once; nothing else happens before the first poll.
pub(super) fn call<'a, R: MethodReturn + 'a>(
    service: &'a AiService,
    method: &'static Method,
    arguments: Arguments<'_>,
) -> impl Future<Output = R> + Send + use<'a, R> {
    let components = &*service.0;
    let span = span(components, method, &arguments);
    let said = Said::render(components, method, arguments);
    async move {
        let outcome = respond(components, method, said, None).instrument(span.clone()).await;
        record(&span, &outcome);
        R::from_result(outcome.map(<R::Value as Returned>::from_response))
    }
}

/// Calls a method whose answer is told while it grows. The stream owns all that it needs.
pub(super) fn stream<R: StreamReturn>(
    service: &AiService,
    method: &'static Method,
    arguments: Arguments<'_>,
) -> R {
    let service = service.clone();
    let span = span(&service.0, method, &arguments);
    let said = Said::render(&service.0, method, arguments);
    let shape = service.0.plans.of(method).map(|plan| plan.form.shape().clone());
    let outlet = Arc::new(Outlet::default());
    let told = Arc::clone(&outlet);
    let call = async move {
        let outcome = respond::<R::Output>(&service.0, method, said, Some(&told))
            .instrument(span.clone())
            .await;
        record(&span, &outcome);
        outcome
    };
    R::from_stream(AnswerStream::of_call(outlet, call.boxed(), shape))
}

fn span(components: &Components, method: &Method, arguments: &Arguments<'_>) -> Span {
    tracing::info_span!(
        "invoke_agent",
        otel.name = %format_args!("invoke_agent {}", components.name),
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = components.name,
        gen_ai.conversation.id = arguments.memory_id.as_ref().map(MemoryId::as_str),
        ai_services.method = method.name,
        gen_ai.usage.input_tokens = field::Empty,
        gen_ai.usage.output_tokens = field::Empty,
        error.r#type = field::Empty,
    )
}

fn record<T>(span: &Span, outcome: &Result<Response<T>>) {
    match outcome {
        Ok(response) => {
            span.record("gen_ai.usage.input_tokens", response.token_usage.input);
            span.record("gen_ai.usage.output_tokens", response.token_usage.output);
        }
        Err(error) => {
            span.record("error.type", field::debug(error.kind()));
        }
    }
}

/// The only generic part of a call.
async fn respond<T: Output>(
    components: &Components,
    method: &'static Method,
    said: Result<Said>,
    outlet: Option<&Outlet>,
) -> Result<Response<T>> {
    let plan = components.plans.of(method).ok_or_else(|| unknown_method(method))?;
    let (said, form, guards) = (&said?, &plan.form, &plan.guards);
    let invocation = Invocation { components, method, said, form, guards, outlet };
    let mut value = None;
    let mut read = |response: &ChatResponse| {
        value = Some(T::from_response(response, form.shape())?);
        Ok(())
    };
    let finished = invoke::invoke(&invocation, &mut read).await?;
    let value = value.ok_or_else(|| Error::configuration("the answer was not read"))?;
    Ok(finished.into_response(value))
}

/// Generated code lists all methods; a hand-made description may not.
fn unknown_method(method: &Method) -> Error {
    Error::configuration(format!("method `{}` is not listed in `Service::METHODS`", method.name))
}

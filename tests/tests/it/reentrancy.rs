//! Calls that a part of a service makes on the conversation of its own call.

use ai_services::event::{Call, Event};
use ai_services::guardrail::{
    InputGuardrail, InputGuardrailRequest, InputVerdict, OutputGuardrail, OutputGuardrailRequest,
    OutputVerdict,
};
use ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ai_services::message::ToolCall;
use ai_services::model::{ChatModel, ChatRequest, ChatResponse};
use ai_services::rag::Query;
use ai_services::service::Missing;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::{Tool, ToolProvider, ToolRequest};
use ai_services::{
    AiServiceBuilder, AnswerStream, ConcurrentCalls, ErrorKind, Result, ai_service, async_trait,
    tools,
};
use futures_util::FutureExt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

#[ai_service]
trait Chat {
    async fn chat(&self, #[memory_id] id: &str, #[user_message] text: &str) -> Result<String>;

    fn stream(&self, #[memory_id] id: &str, #[user_message] text: &str) -> AnswerStream;

    async fn shared(&self, text: &str) -> Result<String>;
}

type Outcome = Result<String, ErrorKind>;

/// A part of a service that calls the service itself.
#[derive(Clone)]
struct Caller {
    service: Arc<OnceLock<ChatService>>,
    /// The conversation that it calls; `None` for the one that all callers share.
    id: Option<&'static str>,
    outcomes: Arc<Mutex<Vec<Outcome>>>,
}

impl Caller {
    fn of(id: Option<&'static str>) -> Self {
        Self { service: Arc::default(), id, outcomes: Arc::default() }
    }

    /// Calls the service, unless it is called within such a call.
    async fn call(&self, text: &str) {
        if text == "inner" {
            return;
        }
        let service = self.service.get().unwrap();
        let outcome = match self.id {
            Some(id) => service.chat(id, "inner").await,
            None => service.shared("inner").await,
        };
        if let Err(error) = &outcome {
            assert!(error.to_string().contains("within a call"), "{error}");
            assert!(!error.is_retryable());
        }
        self.outcomes.lock().unwrap().push(outcome.map_err(|error| error.kind()));
    }

    /// Builds the service that it calls.
    fn start(&self, builder: Ready) -> ChatService {
        let service = builder
            .chat_memory_provider(|id: &MemoryId| {
                MessageWindowChatMemory::builder().id(id).max_messages(10).build()
            })
            .chat_memory(MessageWindowChatMemory::builder().max_messages(10).build().unwrap())
            .build()
            .unwrap();
        assert!(self.service.set(service.clone()).is_ok());
        service
    }

    fn outcomes(&self) -> Vec<Outcome> {
        self.outcomes.lock().unwrap().clone()
    }
}

#[async_trait]
impl InputGuardrail for Caller {
    async fn check(&self, request: InputGuardrailRequest<'_>) -> Result<InputVerdict> {
        self.call(&request.text()).await;
        Ok(InputVerdict::Success)
    }

    fn name(&self) -> &str {
        "caller"
    }
}

#[async_trait]
impl OutputGuardrail for Caller {
    async fn check(&self, request: OutputGuardrailRequest<'_>) -> Result<OutputVerdict> {
        self.call(request.turn.user_message().text().unwrap()).await;
        Ok(OutputVerdict::Success)
    }

    fn name(&self) -> &str {
        "caller"
    }
}

#[async_trait]
impl ToolProvider for Caller {
    async fn tools(&self, request: &ToolRequest<'_>) -> Result<Vec<Tool>> {
        self.call(request.user_message.text().unwrap()).await;
        Ok(Vec::new())
    }
}

#[async_trait]
impl ChatModel for Caller {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let last = request.messages().last().and_then(|message| message.text());
        self.call(last.unwrap()).await;
        ScriptedChatModel::replies(["answer"]).chat(request).await
    }
}

#[tools]
impl Caller {
    /// Calls.
    #[tool]
    async fn call_service(&self) {
        self.call("").await;
    }
}

type Ready = AiServiceBuilder<ChatService, Arc<dyn ChatModel>, Missing, Missing>;

/// Each part of a service that can call it, in a builder of its own.
fn builders(caller: &Caller) -> Vec<(&'static str, Ready)> {
    let answering = || {
        ChatService::builder()
            .chat_model(ScriptedChatModel::from_fn(|_, _| ScriptedAnswer::text("answer")))
    };
    let calling = ScriptedChatModel::from_fn(|number, _| match number {
        0 => ScriptedAnswer::tool_calls([ToolCall::new("1", "call_service", "{}")]),
        _ => ScriptedAnswer::text("answer"),
    });
    let (retriever, listener) = (caller.clone(), caller.clone());
    vec![
        ("input guardrail", answering().input_guardrail(caller.clone())),
        ("output guardrail", answering().output_guardrail(caller.clone())),
        ("tool provider", answering().tool_provider(caller.clone())),
        ("model", ChatService::builder().chat_model(caller.clone())),
        ("tool", ChatService::builder().chat_model(calling).tools(caller.clone())),
        (
            "retriever",
            answering().content_retriever(move |query: Query| {
                let caller = retriever.clone();
                async move {
                    caller.call(query.text()).await;
                    Ok(Vec::new())
                }
            }),
        ),
        (
            "listener",
            answering().listener(move |_: &Call<'_>, event: &Event<'_>| {
                if let Event::RequestIssued { request } = event {
                    let last = request.messages().last().and_then(|message| message.text());
                    let call = listener.call(last.unwrap());
                    call.now_or_never().expect("the call waits for itself");
                }
            }),
        ),
    ]
}

/// Makes an outer call, which fails the test if it waits for itself.
async fn outer(service: &ChatService, id: Option<&str>) -> String {
    let call = async {
        match id {
            Some(id) => service.chat(id, "outer").await,
            None => service.shared("outer").await,
        }
    };
    let outcome = tokio::time::timeout(Duration::from_secs(3_600), call).await;
    outcome.expect("the call waits for itself").unwrap()
}

#[tokio::test(start_paused = true)]
async fn call_on_the_id_of_its_own_call_is_an_error() {
    for id in [Some("ann"), None] {
        let parts = builders(&Caller::of(id)).len();
        for part in 0..parts {
            let caller = Caller::of(id);
            let (name, builder) = builders(&caller).swap_remove(part);
            let service = caller.start(builder);
            assert_eq!(outer(&service, id).await, "answer", "{name}");
            assert_eq!(caller.outcomes(), [Err(ErrorKind::Configuration)], "{name}");
            assert_eq!(outer(&service, id).await, "answer", "{name}: the next call");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn call_on_another_id_is_allowed() {
    let parts = builders(&Caller::of(Some("bob"))).len();
    for part in 0..parts {
        let caller = Caller::of(Some("bob"));
        let (name, builder) = builders(&caller).swap_remove(part);
        let service = caller.start(builder);
        assert_eq!(outer(&service, Some("ann")).await, "answer", "{name}");
        assert_eq!(caller.outcomes(), [Ok("answer".to_owned())], "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn call_on_an_outer_id_through_another_id_is_an_error() {
    let caller = Caller::of(Some("ann"));
    let middle = caller.clone();
    let between = move |query: Query| {
        let middle = middle.clone();
        async move {
            // ann → bob → ann
            match query.text() {
                "outer" => drop(middle.service.get().unwrap().chat("bob", "middle").await.unwrap()),
                text => middle.call(text).await,
            }
            Ok(Vec::new())
        }
    };
    let model = ScriptedChatModel::from_fn(|_, _| ScriptedAnswer::text("answer"));
    let builder = ChatService::builder().chat_model(model).content_retriever(between);
    let service = caller.start(builder);
    assert_eq!(outer(&service, Some("ann")).await, "answer");
    assert_eq!(caller.outcomes(), [Err(ErrorKind::Configuration)]);
}

#[tokio::test(start_paused = true)]
async fn stream_within_its_own_call_is_an_error() {
    let caller = Caller::of(Some("ann"));
    let service =
        caller.start(builders(&caller).swap_remove(0).1.concurrent_calls(ConcurrentCalls::Reject));
    let stream = service.stream("ann", "outer").collect();
    let outcome = tokio::time::timeout(Duration::from_secs(3_600), stream).await;
    assert_eq!(outcome.unwrap().unwrap().value, "answer");
    assert_eq!(caller.outcomes(), [Err(ErrorKind::Configuration)]);
}

#[tokio::test]
#[allow(clippy::disallowed_methods, reason = "an application may spawn")]
async fn spawned_call_that_is_not_awaited_runs_afterwards() {
    let caller = Caller::of(Some("ann"));
    let spawned = Arc::new(Mutex::new(None));
    let (own, handle) = (caller.clone(), Arc::clone(&spawned));
    let spawning = move |query: Query| {
        if query.text() == "outer" {
            let service = own.service.get().unwrap().clone();
            let call = tokio::spawn(async move { service.chat("ann", "inner").await });
            *handle.lock().unwrap() = Some(call);
        }
        async { Ok(Vec::new()) }
    };
    let model = ScriptedChatModel::from_fn(|_, _| ScriptedAnswer::text("answer"));
    let service =
        caller.start(ChatService::builder().chat_model(model).content_retriever(spawning));
    service.chat("ann", "outer").await.unwrap();
    let spawned = spawned.lock().unwrap().take().unwrap();
    assert_eq!(spawned.await.unwrap().unwrap(), "answer");
    assert_eq!(service.chat_memory("ann").unwrap().messages().await.unwrap().len(), 4);
}

#[tokio::test]
async fn call_within_a_dropped_call_leaves_no_trace() {
    let slow = ScriptedAnswer::text("never").after(Duration::from_secs(60));
    let answers = Mutex::new(vec![ScriptedAnswer::text("answer"), slow]);
    let model = ScriptedChatModel::from_fn(move |_, _| answers.lock().unwrap().pop().unwrap());
    let caller = Caller::of(None);
    let service = caller.start(ChatService::builder().chat_model(model));
    assert!(service.chat("ann", "outer").now_or_never().is_none());
    assert_eq!(service.chat("ann", "again").await.unwrap(), "answer");
}

//! Invariants for arbitrary models, tools and users.

use ai_services::guardrail::{
    InputGuardrail, InputGuardrailRequest, InputVerdict, OutputGuardrail, OutputGuardrailRequest,
    OutputVerdict,
};
use ai_services::memory::{
    ApproximateCounter, ChatMemory, MemoryId, MessageWindowChatMemory, TokenWindowChatMemory,
};
use ai_services::message::{ChatMessage, ToolCall, UserMessage};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{
    AnswerStream, Budget, Error, ErrorKind, OutputStrategy, Response, StreamEvent, ai_service,
    async_trait, tools,
};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

#[ai_service]
#[system_message("Be brief.")]
trait Agent {
    async fn chat(
        &self,
        #[memory_id] user: u8,
        #[user_message] text: &str,
    ) -> ai_services::Result<Response<String>>;

    fn stream(&self, #[memory_id] user: u8, #[user_message] text: &str) -> AnswerStream;

    async fn count(
        &self,
        #[memory_id] user: u8,
        #[user_message] text: &str,
    ) -> ai_services::Result<Response<u32>>;

    fn stream_count(&self, #[memory_id] user: u8, #[user_message] text: &str) -> AnswerStream<u32>;

    #[system_message("{{a}}|{{b}}")]
    #[user_message("<{{b}}{{a}}>")]
    async fn fill(&self, #[v] a: &str, #[v] b: &str) -> ai_services::Result<String>;
}

struct Desk;

#[tools]
impl Desk {
    /// Looks up a number.
    #[tool]
    fn look_up(&self, n: u32) -> Result<u32, String> {
        if n < 5 { Ok(n) } else { Err(format!("{n} is too large")) }
    }
}

/// Action of a model for one request.
#[derive(Clone, Debug)]
enum Reply {
    Text(String),
    Calls(Vec<(String, String, String)>),
    Fail,
    Refuse,
}

fn reply() -> impl Strategy<Value = Reply> {
    let id = prop_oneof![Just(String::new()), Just("a".to_owned()), "[a-c]{1,2}"];
    let name = prop_oneof![4 => Just("look_up"), 2 => Just("final_answer"), 1 => Just("nope")];
    let name = name.prop_map(str::to_owned);
    let arguments = prop_oneof![
        4 => (0..9_u32).prop_map(|n| format!(r#"{{"n":{n},"value":{n}}}"#)),
        1 => Just("{}".to_owned()),
        1 => Just("{broken".to_owned()),
    ];
    prop_oneof![
        3 => ".{0,12}".prop_map(Reply::Text),
        3 => (0..9_u32).prop_map(|n| Reply::Text(n.to_string())),
        4 => prop::collection::vec((id, name, arguments), 1..5).prop_map(Reply::Calls),
        1 => Just(Reply::Fail),
        1 => Just(Reply::Refuse),
    ]
}

/// Verdicts of the guardrails, repeated. Empty: no guardrails.
#[derive(Clone, Debug, Default)]
struct Opinions {
    of_input: Vec<bool>,
    of_output: Vec<u8>,
}

fn opinions() -> impl Strategy<Value = Opinions> {
    let of_input = prop::collection::vec(prop::bool::weighted(0.8), 0..4);
    let of_output = prop::collection::vec(0..8_u8, 0..6);
    (of_input, of_output).prop_map(|(of_input, of_output)| Opinions { of_input, of_output })
}

/// Returns its verdicts in turn.
struct Moody<T>(Vec<T>, Mutex<usize>);

impl<T: Copy> Moody<T> {
    fn new(opinions: &[T]) -> Self {
        Self(opinions.to_vec(), Mutex::new(0))
    }

    fn next(&self) -> T {
        let mut asked = self.1.lock().unwrap();
        *asked += 1;
        self.0[(*asked - 1) % self.0.len()]
    }
}

#[async_trait]
impl InputGuardrail for Moody<bool> {
    async fn check(&self, request: InputGuardrailRequest<'_>) -> ai_services::Result<InputVerdict> {
        let text = request.user_message.text().unwrap();
        Ok(match self.next() {
            true => InputVerdict::Rewrite(UserMessage::new(rewritten(text))),
            false => InputVerdict::Fatal("no".into()),
        })
    }

    fn name(&self) -> &str {
        "moody"
    }
}

#[async_trait]
impl OutputGuardrail for Moody<u8> {
    async fn check(&self, _: OutputGuardrailRequest<'_>) -> ai_services::Result<OutputVerdict> {
        Ok(match self.next() {
            0 => OutputVerdict::Rewrite("7".into()),
            1 => OutputVerdict::Retry("again".into()),
            2 => OutputVerdict::Reprompt { reason: "again".into(), prompt: "Again.".into() },
            3 => OutputVerdict::Failure("wrong".into()),
            4 => OutputVerdict::Fatal("no".into()),
            _ => OutputVerdict::Success,
        })
    }

    fn name(&self) -> &str {
        "moody"
    }
}

/// Returns the verdict of a moody guardrail on a message.
fn rewritten(text: &str) -> String {
    format!("<{text}>")
}

fn answer(reply: &Reply) -> ScriptedAnswer {
    match reply {
        Reply::Text(text) => ScriptedAnswer::text(text.as_str()).chunked(3),
        Reply::Calls(calls) => {
            ScriptedAnswer::tool_calls(calls.iter().map(|(id, name, arguments)| {
                ToolCall::new(id.as_str(), name.as_str(), arguments.as_str())
            }))
        }
        Reply::Fail => ScriptedAnswer::error(ErrorKind::Unavailable, "down"),
        Reply::Refuse => {
            let message = ai_services::message::AiMessage::builder().refusal("no").build();
            ai_services::model::ChatResponse::new(message).into()
        }
    }
}

/// The grammar of a request, implemented a second time: `system (user (calls results)* answer)*`, the
/// last turn without its answer.
fn check_request(messages: &[ChatMessage]) {
    let [system, rest @ ..] = messages else { panic!("empty request") };
    assert!(system.is_system(), "{messages:?}");
    let mut rest = rest;
    while let [user, after @ ..] = rest {
        assert!(user.is_user(), "a turn starts with {user:?}");
        rest = after;
        while let [ChatMessage::Ai(ai), after @ ..] = rest {
            rest = after;
            if ai.tool_calls().is_empty() {
                break;
            }
            for call in ai.tool_calls() {
                let [ChatMessage::ToolResult(result), after @ ..] = rest else {
                    panic!("no result for {call:?}")
                };
                assert_eq!((result.id(), result.tool_name()), (call.id(), call.name()));
                assert!(!call.id().is_empty());
                rest = after;
            }
        }
    }
    let last = messages.last().unwrap();
    assert!(last.is_user() || last.is_tool_result(), "a request ends with {last:?}");
}

#[derive(Clone, Copy, Debug)]
enum Window {
    Messages(usize),
    Tokens(usize),
}

/// The form of a request.
#[derive(Clone, Copy, Debug)]
enum Way {
    Whole,
    Streamed,
    Typed,
    TypedStream,
    /// A stream that is dropped after this number of items.
    Dropped(usize),
}

fn way() -> impl Strategy<Value = Way> {
    prop_oneof![
        Just(Way::Whole),
        Just(Way::Streamed),
        Just(Way::Typed),
        Just(Way::TypedStream),
        (0..8_usize).prop_map(Way::Dropped),
    ]
}

/// The stored messages of a successful turn.
struct Told {
    answer: Option<String>,
    answers_with_calls: usize,
    tools: usize,
}

impl<T> From<Response<T>> for Told {
    fn from(response: Response<T>) -> Self {
        Self {
            answer: response.final_response.message.text().map(str::to_owned),
            answers_with_calls: response.intermediate_responses.len(),
            tools: response.tool_executions.len(),
        }
    }
}

async fn ask(agent: &AgentService, way: Way, user: u8, text: &str) -> ai_services::Result<Told> {
    match way {
        Way::Whole => {
            let response = agent.chat(user, text).await?;
            assert_eq!(response.final_response.message.text(), Some(&*response.value));
            Ok(response.into())
        }
        Way::Streamed => agent.stream(user, text).collect().await.map(Told::from),
        Way::Typed => agent.count(user, text).await.map(Told::from),
        Way::TypedStream => agent.stream_count(user, text).collect().await.map(Told::from),
        Way::Dropped(items) => {
            let mut stream = agent.stream_count(user, text);
            for _ in 0..items {
                match stream.next().await.transpose()? {
                    Some(StreamEvent::Completed(response)) => return Ok((*response).into()),
                    Some(_) => {}
                    None => break,
                }
            }
            Err(Error::new(ErrorKind::Busy, "dropped"))
        }
    }
}

fn service(
    model: &ScriptedChatModel,
    window: Window,
    (strategy, opinions): (OutputStrategy, &Opinions),
) -> AgentService {
    let provider = move |id: &MemoryId| -> ai_services::Result<Arc<dyn ChatMemory>> {
        Ok(match window {
            Window::Messages(max) => {
                Arc::new(MessageWindowChatMemory::builder().id(id).max_messages(max).build()?)
            }
            Window::Tokens(max) => {
                let counter = ApproximateCounter;
                Arc::new(TokenWindowChatMemory::builder().id(id).max_tokens(max, counter).build()?)
            }
        })
    };
    let mut builder = AgentService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(provider)
        .tools(Desk)
        .budget(Budget::new().tool_rounds(4))
        .output_strategy(strategy);
    if !opinions.of_input.is_empty() {
        builder = builder.input_guardrail(Moody::new(&opinions.of_input));
    }
    if !opinions.of_output.is_empty() {
        builder = builder.output_guardrail(Moody::new(&opinions.of_output));
    }
    builder.build().unwrap()
}

async fn check_calls(
    (window, strategy, opinions): (Window, OutputStrategy, Opinions),
    calls: Vec<(u8, String, Way)>,
    script: Vec<Reply>,
) {
    let script = Mutex::new(Replies(script, 0));
    let model =
        ScriptedChatModel::from_fn(move |_, _| answer(&script.lock().unwrap().next_reply()));
    let agent = service(&model, window, (strategy, &opinions));
    for (user, text, way) in calls {
        let memory = agent.chat_memory(&user).unwrap();
        let before = memory.messages().await.unwrap();
        let outcome = ask(&agent, way, user, &text).await;
        let after = memory.messages().await.unwrap();
        match outcome {
            // 2. A failed or dropped call changes nothing.
            Err(_) => assert_eq!(before, after),
            // 3. The last message in memory is the answer.
            Ok(told) => {
                assert_eq!(after.last().unwrap().text(), told.answer.as_deref());
                let turn = 2 + told.answers_with_calls + told.tools;
                let kept = &after[..after.len() - turn];
                assert_eq!(kept, &before[before.len() - kept.len()..]);
                let said = if opinions.of_input.is_empty() { text } else { rewritten(&text) };
                assert_eq!(after[kept.len()], ChatMessage::user(said));
                if let Window::Messages(max) = window {
                    assert!(after.len() < max);
                }
            }
        }
    }
    // 1. Every request is well formed, and no larger than the window.
    for request in model.requests() {
        let messages: Vec<_> = request.messages().cloned().collect();
        check_request(&messages);
        if let Window::Messages(max) = window {
            assert!(messages.len() <= max);
        }
    }
}

/// Repeats its replies.
struct Replies(Vec<Reply>, usize);

impl Replies {
    fn next_reply(&mut self) -> Reply {
        self.1 += 1;
        self.0[(self.1 - 1) % self.0.len()].clone()
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

proptest! {
    #[test]
    fn requests_are_well_formed_and_memory_has_successful_turns_only(
        window in prop_oneof![(2..14_usize).prop_map(Window::Messages), (20..200_usize).prop_map(Window::Tokens)],
        strategy in prop_oneof![Just(OutputStrategy::JsonSchema), Just(OutputStrategy::Tool), Just(OutputStrategy::Prompt)],
        opinions in opinions(),
        calls in prop::collection::vec((0..2_u8, ".{0,8}", way()), 1..12),
        script in prop::collection::vec(reply(), 1..16),
    ) {
        block_on(check_calls((window, strategy, opinions), calls, script));
    }

    #[test]
    fn template_value_is_unchanged(a in any::<String>(), b in any::<String>()) {
        let model = ScriptedChatModel::replies(["ok"]);
        let as_usual = (OutputStrategy::Auto, &Opinions::default());
        let service = service(&model, Window::Messages(9), as_usual);
        block_on(service.fill(&a, &b)).unwrap();
        prop_assert_eq!(
            model.messages_of(0),
            [ChatMessage::system(format!("{a}|{b}")), ChatMessage::user(format!("<{b}{a}>"))]
        );
    }
}

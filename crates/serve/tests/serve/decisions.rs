//! Decisions of clients about turns that wait.

use crate::client::{Answer, request, send};
use crate::fixture::{Assistant, AssistantService, principal};
use ai_services::memory::{InMemoryChatMemoryStore, MessageWindowChatMemory, ToMemoryId};
use ai_services::message::ToolCall;
use ai_services::model::ToolSpecification;
use ai_services::schemars::json_schema;
use ai_services::serve::{ChatServer, ClientDecisions};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::{Tool, ToolError, ToolInput, ToolOutput};
use ai_services::{AiService, DurableTurns};
use ai_services_core::approval::{Awaited, Elicitation, ElicitationKind, NextAttempt, Suspension};
use http::StatusCode;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// The arguments of the refund that the model writes.
const ORDER: &str = r#"{"order":"A7"}"#;

/// The things that outlive a server.
#[derive(Clone, Default)]
struct Shop {
    store: InMemoryChatMemoryStore,
    /// The arguments of the refunds that were made.
    refunds: Arc<Mutex<Vec<String>>>,
}

impl Shop {
    fn refunds(&self) -> Vec<String> {
        self.refunds.lock().unwrap().clone()
    }

    /// Starts a server whose clients decide.
    fn server(&self, model: &ScriptedChatModel) -> ChatServer {
        self.server_with(model, |decisions| decisions)
    }

    fn server_with(
        &self,
        model: &ScriptedChatModel,
        configure: impl FnOnce(ClientDecisions) -> ClientDecisions,
    ) -> ChatServer {
        let service = self.service(model);
        let decisions = ClientDecisions::new(AiService::clone(&service), self.store.clone());
        ChatServer::builder()
            .authenticate(principal)
            .service("shop", move |turn| service.chat(turn.memory_id(), turn.contents()))
            .decisions("shop", configure(decisions))
            .build()
            .unwrap()
    }

    fn service(&self, model: &ScriptedChatModel) -> AssistantService {
        let store = self.store.clone();
        AssistantService::builder()
            .chat_model(model.clone())
            .tools(self.refund())
            .tools(sizes())
            .chat_memory_provider(move |id| {
                let window = MessageWindowChatMemory::builder().id(id).max_messages(50);
                window.store(store.clone()).build()
            })
            .durable_turns(DurableTurns::new())
            .build()
            .unwrap()
    }

    fn refund(&self) -> Tool {
        let parameters = json_schema!({
            "type": "object",
            "properties": { "order": { "type": "string" } },
        });
        let specification =
            ToolSpecification::new("refund", "Refunds an order.").with_parameters(parameters);
        let refunds = Arc::clone(&self.refunds);
        let run = move |input: ToolInput| {
            refunds.lock().unwrap().push(input.call().arguments().to_owned());
            async { Ok(ToolOutput::text("refunded")) }
        };
        Tool::from_fn(specification, run).requiring_approval()
    }
}

/// A tool that asks the user for a size.
fn sizes() -> Tool {
    let run = |input: ToolInput| async move {
        match input.continuation() {
            Some(continued) => {
                let answers = serde_json::to_string(&continued.answers).unwrap();
                Ok(ToolOutput::text(answers))
            }
            None => Err(ToolError::suspended(Suspension::Awaits(Awaited {
                elicitations: vec![Elicitation::new(
                    "shop",
                    "Which size?",
                    ElicitationKind::Form { schema: size_schema() },
                )],
                state: Value::Null,
                next: NextAttempt::Acts,
                not_before: 0,
            }))),
        }
    };
    Tool::from_fn(ToolSpecification::new("size", "Asks for a size."), run).suspending()
}

fn size_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "size": { "type": "integer", "minimum": 1 } },
        "required": ["size"],
    })
}

/// A model that calls tools, and then answers.
fn calling<const N: usize>(calls: [(&str, &str); N]) -> ScriptedChatModel {
    let calls = calls.map(|(name, arguments)| ToolCall::new("call_0", name, arguments));
    ScriptedChatModel::new([ScriptedAnswer::tool_calls(calls), ScriptedAnswer::text("Done.")])
}

fn refunding() -> ScriptedChatModel {
    calling([("refund", ORDER)])
}

/// The model of a server that starts after the tool was called.
fn answering() -> ScriptedChatModel {
    ScriptedChatModel::replies(["Done."])
}

/// The input of a run with the replies to interrupts.
fn run(replies: Value) -> Value {
    json!({
        "threadId": "t1",
        "runId": "r1",
        "messages": [{ "id": "m1", "role": "user", "content": "Help me." }],
        "resume": replies,
    })
}

async fn ag_ui(server: &ChatServer, principal: &str, replies: Value) -> Answer {
    send(server, request("/ag-ui/shop", principal, &run(replies))).await
}

/// Begins a turn of `ann`, and returns its interrupts and the id of its first tool call.
async fn interrupted(server: &ChatServer) -> (Vec<Value>, Value) {
    let events = ag_ui(server, "ann", json!([])).await.events();
    let outcome = &events.last().unwrap()["outcome"];
    assert_eq!(outcome["type"], "interrupt");
    let started = events.iter().find(|event| event["type"] == "TOOL_CALL_START").unwrap();
    (outcome["interrupts"].as_array().unwrap().clone(), started["toolCallId"].clone())
}

fn resolved(interrupt: &Value, payload: Value) -> Value {
    json!({ "interruptId": interrupt["id"], "status": "resolved", "payload": payload })
}

fn approved(interrupt: &Value) -> Value {
    resolved(interrupt, json!({ "approved": true }))
}

/// Returns the result of the only tool call of a stream of AG-UI, which has the text `Done.`.
fn finished(answer: &Answer, call_id: &Value) -> String {
    assert_eq!(answer.status, StatusCode::OK, "{:?}", answer.body);
    let events = answer.events();
    assert_eq!(events.last().unwrap()["outcome"]["type"], "success", "{events:?}");
    let of = |kind: &str| {
        events.iter().filter(move |event| event["type"] == *kind).cloned().collect::<Vec<_>>()
    };
    assert_eq!(of("TOOL_CALL_START"), Vec::<Value>::new(), "the client has the call already");
    let texts = of("TEXT_MESSAGE_CONTENT");
    let text: String = texts.iter().map(|event| event["delta"].as_str().unwrap()).collect();
    assert_eq!(text, "Done.");
    let results = of("TOOL_CALL_RESULT");
    assert_eq!(results.len(), 1);
    assert_eq!(&results[0]["toolCallId"], call_id);
    results[0]["content"].as_str().unwrap().to_owned()
}

fn refused(answer: &Answer) -> (StatusCode, String) {
    (answer.status, answer.code())
}

#[tokio::test]
async fn approved_call_runs_and_the_run_goes_on() {
    let shop = Shop::default();
    let server = shop.server(&refunding());
    let (interrupts, call) = interrupted(&server).await;
    assert_eq!(interrupts.len(), 1);
    assert_eq!(
        (&interrupts[0]["reason"], &interrupts[0]["toolCallId"]),
        (&"tool_call".into(), &call)
    );
    assert!(shop.refunds().is_empty());
    let answer = ag_ui(&server, "ann", json!([approved(&interrupts[0])])).await;
    assert_eq!(finished(&answer, &call), "refunded");
    assert_eq!(shop.refunds(), [ORDER]);
}

#[tokio::test]
async fn reason_of_a_denial_reaches_the_model() {
    let (shop, model) = (Shop::default(), refunding());
    let server = shop.server(&model);
    let (interrupts, call) = interrupted(&server).await;
    let denied = resolved(&interrupts[0], json!({ "approved": false, "reason": "too old" }));
    let answer = ag_ui(&server, "ann", json!([denied])).await;
    let result = finished(&answer, &call);
    assert!(result.contains("too old"), "{result}");
    assert!(format!("{:?}", model.requests()[1]).contains("too old"));
    assert!(shop.refunds().is_empty());
}

#[tokio::test]
async fn second_decision_is_a_conflict_and_nothing_runs_twice() {
    let shop = Shop::default();
    let server = shop.server(&refunding());
    let (interrupts, call) = interrupted(&server).await;
    let replies = json!([approved(&interrupts[0])]);
    let (first, second) = tokio::join!(
        ag_ui(&server, "ann", replies.clone()),
        ag_ui(&server, "ann", replies.clone())
    );
    let (first, second) =
        if first.status == StatusCode::OK { (first, second) } else { (second, first) };
    finished(&first, &call);
    let conflict = (StatusCode::CONFLICT, "conflict".to_owned());
    assert_eq!(refused(&second), conflict);
    assert_eq!(refused(&ag_ui(&server, "ann", replies).await), conflict);
    assert_eq!(shop.refunds(), [ORDER]);
}

#[tokio::test]
async fn other_principal_learns_nothing() {
    let shop = Shop::default();
    let server = shop.server(&refunding());
    let (interrupts, call) = interrupted(&server).await;
    let replies = json!([approved(&interrupts[0])]);
    let waiting = ag_ui(&server, "ben", replies.clone()).await;
    assert_eq!(refused(&waiting), (StatusCode::NOT_FOUND, "decision_not_found".to_owned()));
    assert!(shop.refunds().is_empty());
    finished(&ag_ui(&server, "ann", replies.clone()).await, &call);
    let decided = ag_ui(&server, "ben", replies).await;
    assert_eq!((decided.status, &decided.body), (waiting.status, &waiting.body));
}

#[tokio::test]
async fn rule_for_memory_ids_decides_who_decides() {
    let shop = Shop::default();
    let service = shop.service(&refunding());
    let decisions = ClientDecisions::new(AiService::clone(&service), shop.store.clone());
    let server = ChatServer::builder()
        .authenticate(principal)
        .service("shop", move |turn| service.chat(turn.memory_id(), turn.contents()))
        .decisions("shop", decisions)
        // The first letter stands in for a team.
        .memory_id(|principal, name| (&principal.id()[..1], name).to_memory_id())
        .build()
        .unwrap();
    let (interrupts, call) = interrupted(&server).await;
    let replies = json!([approved(&interrupts[0])]);
    let other_team = ag_ui(&server, "ben", replies.clone()).await;
    assert_eq!(refused(&other_team), (StatusCode::NOT_FOUND, "decision_not_found".to_owned()));
    assert!(shop.refunds().is_empty());
    finished(&ag_ui(&server, "alex", replies).await, &call);
    assert_eq!(shop.refunds(), [ORDER]);
}

#[tokio::test]
async fn another_server_goes_on_with_the_turn() {
    let shop = Shop::default();
    let (interrupts, call) = interrupted(&shop.server(&refunding())).await;
    let server = shop.server(&answering());
    let answer = ag_ui(&server, "ann", json!([approved(&interrupts[0])])).await;
    assert_eq!(finished(&answer, &call), "refunded");
    assert_eq!(shop.refunds(), [ORDER]);
}

#[tokio::test]
async fn answers_of_a_form_reach_the_tool() {
    let shop = Shop::default();
    let server = shop.server(&calling([("size", "{}")]));
    let (interrupts, call) = interrupted(&server).await;
    assert_eq!(interrupts[0]["reason"], "input_required");
    assert_eq!(interrupts[0]["responseSchema"], size_schema());
    // An answer that does not fit the form decides nothing.
    let invalid = json!([resolved(&interrupts[0], json!({ "size": 0 }))]);
    let invalid = ag_ui(&server, "ann", invalid).await;
    assert_eq!(refused(&invalid), (StatusCode::BAD_REQUEST, "invalid_decision".to_owned()));
    let answers = json!([resolved(&interrupts[0], json!({ "size": 42 }))]);
    let answer = ag_ui(&server, "ann", answers).await;
    assert_eq!(finished(&answer, &call), r#"[{"accept":{"size":42}}]"#);
}

#[tokio::test]
async fn arguments_are_edited_only_if_the_server_accepts_it() {
    let shop = Shop::default();
    let (interrupts, call) = interrupted(&shop.server(&refunding())).await;
    let payload = json!({ "approved": true, "editedArgs": { "order": "B8" } });
    let replies = json!([resolved(&interrupts[0], payload)]);
    let answer = ag_ui(&shop.server(&answering()), "ann", replies.clone()).await;
    assert_eq!(refused(&answer), (StatusCode::FORBIDDEN, "edit_not_allowed".to_owned()));
    assert!(shop.refunds().is_empty());
    let server = shop.server_with(&answering(), ClientDecisions::accept_edits);
    finished(&ag_ui(&server, "ann", replies).await, &call);
    assert_eq!(shop.refunds(), [r#"{"order":"B8"}"#]);
}

#[tokio::test]
async fn all_calls_are_decided_in_one_request() {
    let shop = Shop::default();
    let server = shop.server(&calling([("refund", ORDER), ("refund", r#"{"order":"B8"}"#)]));
    let (interrupts, _) = interrupted(&server).await;
    assert_eq!(interrupts.len(), 2);
    let one = ag_ui(&server, "ann", json!([approved(&interrupts[1])])).await;
    assert_eq!(refused(&one), (StatusCode::BAD_REQUEST, "incomplete_decisions".to_owned()));
    assert!(shop.refunds().is_empty());
    let denied = resolved(&interrupts[0], json!({ "approved": false }));
    let answer = ag_ui(&server, "ann", json!([denied, approved(&interrupts[1])])).await;
    assert_eq!(answer.events().last().unwrap()["outcome"]["type"], "success");
    assert_eq!(shop.refunds(), [r#"{"order":"B8"}"#]);
}

#[tokio::test]
async fn message_is_refused_while_the_turn_waits() {
    let shop = Shop::default();
    let server = shop.server(&refunding());
    let (interrupts, call) = interrupted(&server).await;
    let failed = ag_ui(&server, "ann", json!([])).await.events().pop().unwrap();
    assert_eq!((&failed["type"], &failed["code"]), (&"RUN_ERROR".into(), &"suspended".into()));
    finished(&ag_ui(&server, "ann", json!([approved(&interrupts[0])])).await, &call);
}

/// The request of a page that sends its last message.
fn page(message: Value) -> Value {
    json!({ "id": "c1", "trigger": "submit-message", "messages": [message] })
}

async fn ui(server: &ChatServer, message: Value) -> Answer {
    send(server, request("/ui/shop", "ann", &page(message))).await
}

fn question() -> Value {
    json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "Help me." }] })
}

/// Returns the event of this type of a stream, which has one.
fn event(answer: &Answer, kind: &str) -> Value {
    let mut events = answer.events();
    events.retain(|event| event["type"] == kind);
    assert_eq!(events.len(), 1, "{kind}");
    events.remove(0)
}

/// Returns the last message of a page whose user has decided.
fn decided(requested: &Value, approved: bool) -> Value {
    json!({
        "id": "m2",
        "role": "assistant",
        "parts": [
            { "type": "step-start" },
            {
                "type": "dynamic-tool",
                "toolName": "refund",
                "toolCallId": requested["toolCallId"],
                "state": "approval-responded",
                "input": { "order": "A7" },
                "approval": { "id": requested["approvalId"], "approved": approved },
            },
        ],
    })
}

#[tokio::test]
async fn approval_of_a_page_goes_on_with_its_message() {
    let shop = Shop::default();
    let server = shop.server(&refunding());
    let requested = event(&ui(&server, question()).await, "tool-approval-request");
    let answer = ui(&server, decided(&requested, true)).await;
    assert_eq!(answer.events()[0], json!({ "type": "start" }), "the page's message goes on");
    let output = event(&answer, "tool-output-available");
    assert_eq!(
        (&output["toolCallId"], &output["output"]),
        (&requested["toolCallId"], &"refunded".into())
    );
    assert_eq!(event(&answer, "text-delta")["delta"], "Done.");
    assert!(!answer.types().contains(&"tool-input-start".to_owned()));
    assert!(answer.is_done());
    assert_eq!(shop.refunds(), [ORDER]);
    let again = ui(&server, decided(&requested, true)).await;
    assert_eq!(refused(&again), (StatusCode::CONFLICT, "conflict".to_owned()));
    assert_eq!(shop.refunds(), [ORDER]);
}

#[tokio::test]
async fn denial_of_a_page_is_shown_as_such() {
    let shop = Shop::default();
    let server = shop.server(&refunding());
    let requested = event(&ui(&server, question()).await, "tool-approval-request");
    let answer = ui(&server, decided(&requested, false)).await;
    assert_eq!(event(&answer, "tool-output-denied")["toolCallId"], requested["toolCallId"]);
    assert!(shop.refunds().is_empty());
}

#[tokio::test]
async fn page_answers_questions_in_its_body() {
    let shop = Shop::default();
    let server = shop.server(&calling([("size", "{}")]));
    let asked = event(&ui(&server, question()).await, "data-tool-questions")["data"].clone();
    assert_eq!(asked["questions"][0]["message"], "Which size?");
    let mut body = page(json!({ "id": "m2", "role": "assistant", "parts": [] }));
    body["toolAnswers"] = json!([{ "id": asked["id"], "answers": [{ "accept": { "size": 42 } }] }]);
    let answer = send(&server, request("/ui/shop", "ann", &body)).await;
    let output = event(&answer, "tool-output-available");
    assert_eq!(output["toolCallId"], asked["toolCallId"]);
    assert!(output["output"].to_string().contains("42"), "{output}");
}

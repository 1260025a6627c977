//! Questions of servers that suspend the turn.

use crate::durable::{Booking, World, seat};
use crate::mortal_store::Life;
use crate::scripted_server::{Scripted, complete, modern, tool};
use ai_services::ErrorKind;
use ai_services::approval::{Decision, ElicitationAnswer, ElicitationKind, PendingTurn, WaitsFor};
use ai_services::mcp::{Era, McpTools};
use ai_services::memory::JournalPosition;
use serde_json::{Value, json};

fn form() -> Value {
    json!({"type": "object", "properties": {"seat": {"type": "string", "maxLength": 3}}, "required": ["seat"]})
}

/// Returns an answer that asks for a seat.
fn asking(state: &str) -> Value {
    let params = json!({"mode": "form", "message": "Which seat?", "requestedSchema": form()});
    let question = json!({"method": "elicitation/create", "params": params});
    json!({"result": {
        "resultType": "input_required", "inputRequests": {"q1": question}, "requestState": state,
    }})
}

async fn booking(first: Value, answered: Value) -> (Scripted, McpTools) {
    let mut script = modern(json!([tool("book")]));
    script["tools/call book"] = first;
    script["tools/call book answered"] = answered;
    connected(script).await
}

async fn connected(script: Value) -> (Scripted, McpTools) {
    let server = Scripted::new(script);
    let remote = server.server("s").era(Era::Modern);
    let tools = McpTools::builder().server(remote).build().await.unwrap();
    (server, tools)
}

#[tokio::test]
async fn question_suspends_the_turn_and_its_answer_goes_on() {
    let (server, tools) = booking(asking("opaque"), complete("booked")).await;
    for world in [World::in_memory(&tools, "s__book"), World::on_sqlite(&tools, "s__book").await] {
        server.forget();
        let pending = world.suspended().await;
        let [call] = &pending.calls[..] else { panic!("{pending:?}") };
        let WaitsFor::Answers(questions) = &call.waits_for else { panic!("{call:?}") };
        assert_eq!((&*call.tool, &*questions[0].server), ("s__book", "s"));
        assert_eq!(questions[0].message, "Which seat?");
        let ElicitationKind::Form { schema } = &questions[0].kind else { panic!("{questions:?}") };
        assert_eq!(schema["properties"]["seat"]["maxLength"], 3);
        // Other processes see the same, and do not send the call.
        let service = world.start(&Life::of(usize::MAX));
        assert_eq!(service.pending_turn("ann").await.unwrap(), Some(pending.clone()));
        let recovery = service.recover(&*world.store, 10).await.unwrap();
        assert_eq!(recovery.waiting, std::slice::from_ref(&pending));

        // A web page changes the order of members, and sends the turn back.
        let text = serde_json::to_string(&pending).unwrap();
        let pending: PendingTurn = serde_json::from_str(&text).unwrap();
        pending.decide(&*world.store, [seat("7A")]).await.unwrap();
        let again = pending.decide(&*world.store, [seat("7B")]).await.unwrap_err();
        assert_eq!(again.kind(), ErrorKind::Conflict);
        assert_eq!(world.resumed().await.unwrap().text(), Some("booked"));
        let calls = server.received("tools/call");
        assert_eq!(calls.len(), 2);
        assert_ne!(calls[0]["id"], calls[1]["id"]);
        let capabilities = "io.modelcontextprotocol/clientCapabilities";
        assert!(calls[0]["params"]["_meta"][capabilities]["elicitation"]["form"].is_object());
        let again = &calls[1]["params"];
        assert_eq!((&again["name"], &again["requestState"]), (&json!("book"), &json!("opaque")));
        let answer = json!({"action": "accept", "content": {"seat": "7A"}});
        assert_eq!(again["inputResponses"], json!({"q1": answer}));
    }
}

#[tokio::test]
async fn answer_that_does_not_fit_is_refused_and_nothing_is_lost() {
    let (_server, tools) = booking(asking("opaque"), complete("booked")).await;
    let world = World::in_memory(&tools, "s__book");
    let pending = world.suspended().await;
    let accept = |content| Decision::Respond(vec![ElicitationAnswer::Accept(content)]);
    for (decision, expected) in [
        (accept(json!({})), "the field `seat` is missing"),
        (accept(json!({"seat": 7})), "the field `seat` must be a text"),
        (accept(json!({"seat": "window"})), "at most 3 characters"),
        (accept(json!({"seat": "7A", "meal": "none"})), "no field `meal`"),
        (Decision::Respond(Vec::new()), "0 answers were given to 1 questions"),
        (Decision::Approve, "use `Decision::Respond`"),
    ] {
        let error = pending.decide(&*world.store, [decision]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.to_string().contains(expected), "{error}");
    }
    // A forged question does not change the check.
    let mut forged = pending.clone();
    let WaitsFor::Answers(questions) = &mut forged.calls[0].waits_for else { panic!("{forged:?}") };
    questions[0].kind = ElicitationKind::Form { schema: json!({"properties": {"admin": {}}}) };
    let error = forged.decide(&*world.store, [accept(json!({"admin": true}))]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    pending.decide(&*world.store, [seat("7A")]).await.unwrap();
    assert_eq!(world.resumed().await.unwrap().text(), Some("booked"));
}

#[tokio::test]
async fn declined_and_canceled_questions_are_sent_back() {
    let (server, tools) = booking(asking("opaque"), complete("no seat")).await;
    for (answer, action) in
        [(ElicitationAnswer::Decline, "decline"), (ElicitationAnswer::Cancel, "cancel")]
    {
        let world = World::in_memory(&tools, "s__book");
        let pending = world.suspended().await;
        pending.decide(&*world.store, [Decision::Respond(vec![answer])]).await.unwrap();
        assert_eq!(world.resumed().await.unwrap().text(), Some("no seat"));
        let call = server.received("tools/call").pop().unwrap();
        assert_eq!(call["params"]["inputResponses"]["q1"], json!({"action": action}));
    }
}

#[tokio::test]
async fn questions_of_two_calls_are_decided_at_once() {
    let (server, tools) = booking(asking("opaque"), complete("booked")).await;
    let mut world = World::in_memory(&tools, "s__book");
    world.calls = 2;
    let pending = world.suspended().await;
    assert_eq!(pending.calls.len(), 2);
    let error = pending.decide(&*world.store, [seat("7A")]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    pending.decide(&*world.store, [seat("7A"), seat("7B")]).await.unwrap();
    assert_eq!(world.resumed().await.unwrap().text(), Some("booked"));
    let calls = server.received("tools/call");
    let seat = |call: &Value| call["params"]["inputResponses"]["q1"]["content"]["seat"].clone();
    let mut seats: Vec<Value> = calls.iter().map(seat).filter(|seat| !seat.is_null()).collect();
    seats.sort_by_key(Value::to_string);
    assert_eq!((calls.len(), seats), (4, vec![json!("7A"), json!("7B")]));
}

#[tokio::test]
async fn call_with_edited_arguments_is_sent_with_them_after_a_question() {
    let mut script = modern(json!([tool("book")]));
    script["tools/call book"] = asking("opaque");
    script["tools/call book answered"] = complete("booked");
    let server = Scripted::new(script);
    let remote = server.server("s").era(Era::Modern).requires_approval(["*"]);
    let tools = McpTools::builder().server(remote).build().await.unwrap();
    let world = World::in_memory(&tools, "s__book");
    let approval = world.suspended().await;
    assert_eq!(approval.calls[0].waits_for, WaitsFor::Approval);
    let error = approval.decide(&*world.store, [seat("7A")]).await.unwrap_err();
    assert!(error.to_string().contains("asked no question"), "{error}");
    let edited = Decision::Edit(r#"{"class":2}"#.to_owned());
    approval.decide(&*world.store, [edited]).await.unwrap();
    world.resumed().await.unwrap_err();
    // As another process reads it.
    let service = world.start(&Life::of(usize::MAX));
    let question = service.pending_turn("ann").await.unwrap().unwrap();
    question.decide(&*world.store, [seat("7A")]).await.unwrap();
    let result = world.resumed().await.unwrap();
    assert!(
        result.text().unwrap().starts_with("booked\n\nThe call was approved with"),
        "{result:?}"
    );
    let calls = server.received("tools/call");
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|call| call["params"]["arguments"] == json!({"class": 2})));
}

#[tokio::test]
async fn question_that_expired_counts_as_canceled() {
    let (server, tools) = booking(asking("opaque"), complete("no seat")).await;
    let world = World::in_memory(&tools, "s__book");
    let pending = world.suspended().await;
    let (journals, id) = (world.store.journals().unwrap(), "ann".into());
    let journal = journals.journal(&id).await.unwrap().unwrap();
    let mut records = journal.records.clone();
    let mut waiting: Value = serde_json::from_str(records.last().unwrap()).unwrap();
    waiting["expires"] = json!(1);
    *records.last_mut().unwrap() = waiting.to_string();
    journals.discard(&id, journal.position()).await.unwrap();
    journals.append(&id, JournalPosition::start(journal.turn), &records, None).await.unwrap();
    let error = pending.decide(&*world.store, [seat("7A")]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(world.resumed().await.unwrap().text(), Some("no seat"));
    let call = server.received("tools/call").pop().unwrap();
    assert_eq!(call["params"]["inputResponses"]["q1"], json!({"action": "cancel"}));
}

#[tokio::test]
async fn rounds_of_questions_are_limited() {
    let (server, tools) = booking(asking("first"), asking("again")).await;
    let world = World::in_memory(&tools, "s__book");
    let mut pending = world.suspended().await;
    let result = loop {
        pending.decide(&*world.store, [seat("7A")]).await.unwrap();
        match world.resumed().await {
            Ok(result) => break result,
            Err(next) => pending = next,
        }
    };
    assert!(result.text().unwrap().contains("asked for input more than 10 times"), "{result:?}");
    let calls = server.received("tools/call");
    assert_eq!(calls.len(), 10);
    assert_eq!(calls[9]["params"]["requestState"], "again");
}

#[tokio::test]
async fn hostile_states_and_questions_are_errors() {
    let large = asking(&"x".repeat(1024 * 1024 + 1));
    let mut long = asking("opaque");
    long["result"]["inputRequests"]["q1"]["params"]["message"] = json!("x".repeat(70_000));
    for (answer, expected) in [(large, "larger than 1 MiB"), (long, "larger than 64 KiB")] {
        let (_server, tools) = booking(answer, complete("booked")).await;
        let world = World::in_memory(&tools, "s__book");
        let service = world.start(&Life::of(usize::MAX));
        service.chat("ann", "Book!").await.unwrap();
        let result = world.result().await;
        assert!(result.is_error() && result.text().unwrap().contains(expected), "{result:?}");
    }
}

#[tokio::test]
async fn call_with_a_question_survives_the_end_of_the_process_at_every_write() {
    let (server, tools) = booking(asking("opaque"), complete("booked")).await;
    for on_sqlite in [false, true] {
        let mut unknown = 0;
        for points in 1.. {
            server.forget();
            let world = match on_sqlite {
                true => World::on_sqlite(&tools, "s__book").await,
                false => World::in_memory(&tools, "s__book"),
            };
            let Some(ended) = world.handle(points).await else {
                // Seven writes: call, question, wait; resumption, second call, result; commit.
                assert_eq!(points, 2 * 7 + 1);
                break;
            };
            let calls = server.received("tools/call");
            let is_answered = |call: &&Value| call["params"].get("inputResponses").is_some();
            let answered = calls.iter().filter(is_answered).count();
            assert!(answered <= 1 && calls.len() - answered <= 1, "{points}: {calls:#?}");
            let text = ended.result.text().unwrap();
            if text.starts_with("outcome unknown: ") {
                unknown += 1;
            } else {
                assert_eq!((text, answered, ended.questions), ("booked", 1, 1), "{points}");
            }
        }
        // After the start of each of the two requests, and before or after their ends were written.
        assert_eq!(unknown, 4);
    }
}

/// Returns the answer of a server that needs a visit of a web page.
fn visit() -> Value {
    let page = json!({
        "mode": "url", "elicitationId": "7", "url": "https://bank.example/login", "message": "Log in.",
    });
    json!({"error": {"code": -32042, "message": "Log in first.", "data": {"elicitations": [page]}}})
}

#[tokio::test]
async fn page_that_a_server_requires_suspends_the_turn_and_the_call_is_sent_again_once() {
    let mut script = modern(json!([tool("pay")]));
    script["tools/call pay"] = json!({"sequence": [visit(), complete("paid"), visit(), visit()]});
    let (server, tools) = connected(script).await;
    let agreed = || Decision::Respond(vec![ElicitationAnswer::Accept(Value::Null)]);
    let world = World::in_memory(&tools, "s__pay");
    let pending = world.suspended().await;
    let WaitsFor::Answers(questions) = &pending.calls[0].waits_for else { panic!("{pending:?}") };
    let ElicitationKind::Url { url } = &questions[0].kind else { panic!("{questions:?}") };
    assert_eq!(url, "https://bank.example/login");
    pending.decide(&*world.store, [agreed()]).await.unwrap();
    assert_eq!(world.resumed().await.unwrap().text(), Some("paid"));
    assert_eq!(server.received("tools/call").len(), 2);

    let world = World::in_memory(&tools, "s__pay");
    world.suspended().await.decide(&*world.store, [agreed()]).await.unwrap();
    let result = world.resumed().await.unwrap();
    assert_eq!(result.text(), Some("Log in first. (error -32042)"));
    assert_eq!(server.received("tools/call").len(), 4);
}

#[tokio::test]
async fn page_that_the_user_does_not_visit_is_a_plain_error() {
    let mut script = modern(json!([tool("pay")]));
    script["tools/call pay"] = visit();
    let (server, tools) = connected(script).await;
    let world = World::in_memory(&tools, "s__pay");
    let declined = Decision::Respond(vec![ElicitationAnswer::Decline]);
    world.suspended().await.decide(&*world.store, [declined]).await.unwrap();
    let result = world.resumed().await.unwrap();
    assert!(result.text().unwrap().starts_with("the call was not executed: "), "{result:?}");
    assert_eq!(server.received("tools/call").len(), 1);
}

//! Calls that servers answer with a task.

use crate::agent::call;
use crate::durable::{World, seat};
use crate::mortal_store::Life;
use crate::scripted_server::{Scripted, complete, modern, tool, until};
use ai_services::approval::WaitsFor;
use ai_services::mcp::{ElicitationAnswer, Era, McpTools, RemoteServer};
use serde_json::{Value, json};
use std::time::Duration;

/// Returns the state of the task.
fn task(status: &str, more: Value) -> Value {
    let mut result = json!({
        "resultType": "complete", "taskId": "t-1", "status": status, "ttlMs": 60_000,
        "createdAt": "2026-11-23T00:00:00Z", "lastUpdatedAt": "2026-11-23T00:00:00Z",
        "pollIntervalMs": 1,
    });
    for (name, value) in more.as_object().unwrap() {
        result[name] = value.clone();
    }
    json!({"result": result})
}

fn working() -> Value {
    task("working", json!({}))
}

fn completed() -> Value {
    task("completed", json!({"result": complete("done")["result"]}))
}

fn asking() -> Value {
    let schema = json!({"type": "object", "properties": {"seat": {"type": "string"}}});
    let params = json!({"mode": "form", "message": "Which seat?", "requestedSchema": schema});
    let question = json!({"method": "elicitation/create", "params": params});
    task("input_required", json!({"inputRequests": {"q1": question}}))
}

/// Returns the tools of a server that answers calls with a task, which has these states.
async fn server(
    states: Value,
    configure: impl FnOnce(RemoteServer) -> RemoteServer,
) -> (Scripted, McpTools) {
    let mut script = modern(json!([tool("act")]));
    script["tools/call act"] = working();
    script["tools/call act"]["result"]["resultType"] = json!("task");
    script["tasks/get"] = json!({"sequence": states});
    script["tasks/update"] = json!({"result": {"resultType": "complete"}});
    script["tasks/cancel"] = json!({"result": {"resultType": "complete"}});
    let server = Scripted::new(script);
    let remote = configure(server.server("s").era(Era::Modern));
    let tools = McpTools::builder().server(remote).build().await.unwrap();
    (server, tools)
}

#[tokio::test]
async fn task_is_polled_within_the_call() {
    let (server, tools) = server(json!([working(), completed()]), |server| server).await;
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
    let calls = server.received("tools/call");
    let capabilities = &calls[0]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert!(capabilities["extensions"]["io.modelcontextprotocol/tasks"].is_object());
    assert_eq!(capabilities.get("elicitation"), None);
    let polls = server.received("tasks/get");
    assert_eq!((calls.len(), polls.len()), (1, 2));
    assert_eq!(polls[0]["params"]["taskId"], "t-1");
    assert_eq!(server.received("tasks/cancel").len(), 0);
}

#[tokio::test]
async fn ends_of_tasks_are_results_of_the_call() {
    let error = json!({"code": -32603, "message": "database down"});
    let failed = task("failed", json!({"error": error}));
    let (_server, tools) = server(json!([failed]), |server| server).await;
    call(&tools, "s__act", "{}").await.is_error("database down");
    let (_server, tools) = server(json!([task("cancelled", json!({}))]), |server| server).await;
    call(&tools, "s__act", "{}").await.is_unknown("the server canceled the task");
    let lost = json!({"error": {"code": -32602, "message": "Task not found"}});
    let (_server, tools) = server(json!([lost]), |server| server).await;
    call(&tools, "s__act", "{}").await.is_unknown("no longer knows the task");
}

#[tokio::test]
async fn task_that_exceeds_the_time_limit_is_canceled() {
    let limit = |server: RemoteServer| server.total_timeout(Duration::from_millis(400));
    let (server, tools) = server(json!([working()]), limit).await;
    call(&tools, "s__act", "{}").await.is_unknown("took longer than 400ms");
    let canceled = server.wait_for("tasks/cancel").await;
    assert_eq!(canceled["params"]["taskId"], "t-1");
}

#[tokio::test]
async fn question_of_a_task_is_answered_within_the_call() {
    let answering = |server: RemoteServer| {
        server.on_elicitation(|_| async { ElicitationAnswer::Accept(json!({"seat": "7A"})) })
    };
    // The server shows the question once more after its answer.
    let states = json!([asking(), asking(), completed()]);
    let (server, tools) = server(states, answering).await;
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
    let updates = server.received("tasks/update");
    assert_eq!(updates.len(), 1);
    let answer = json!({"action": "accept", "content": {"seat": "7A"}});
    assert_eq!(updates[0]["params"]["inputResponses"], json!({"q1": answer}));
}

#[tokio::test]
async fn endless_questions_of_a_task_cancel_it() {
    let states: Vec<Value> = (0..20)
        .map(|number| {
            let mut state = asking();
            let question = state["result"]["inputRequests"]["q1"].take();
            state["result"]["inputRequests"] = json!({number.to_string(): question});
            state
        })
        .collect();
    let (server, tools) = server(json!(states), |server| server).await;
    call(&tools, "s__act", "{}").await.is_unknown("asked for input too often");
    server.wait_for("tasks/cancel").await;
    assert_eq!(server.received("tasks/update").len(), 10);
}

#[tokio::test]
async fn long_task_suspends_the_turn_and_the_resumed_turn_polls_it() {
    let wait = |server: RemoteServer| server.task_wait(Duration::from_millis(1));
    let (server, tools) = server(json!([working()]), wait).await;
    for world in [World::in_memory(&tools, "s__act"), World::on_sqlite(&tools, "s__act").await] {
        server.forget();
        let pending = world.suspended().await;
        assert_eq!(pending.calls[0].waits_for, WaitsFor::Task);
        let error = pending.decide(&*world.store, [seat("7A")]).await.unwrap_err();
        assert!(error.to_string().contains("resume the turn later"), "{error}");
        let service = world.start(&Life::of(usize::MAX));
        let waiting = service.pending_turn("ann").await.unwrap().unwrap();
        assert_eq!(waiting.calls[0].waits_for, WaitsFor::Task);
        assert_eq!(service.recover(&*world.store, 10).await.unwrap().waiting.len(), 1);
        server.replace(&replaced("tasks/get", completed()));
        assert_eq!(world.resumed().await.unwrap().text(), Some("done"));
        assert_eq!(server.received("tools/call").len(), 1);
        assert_eq!(server.received("tasks/cancel").len(), 0);
        server.replace(&replaced("tasks/get", working()));
    }
}

/// Returns the script of the server with another answer.
fn replaced(method: &str, answer: Value) -> Value {
    let mut script = modern(json!([tool("act")]));
    script["tools/call act"] = working();
    script["tools/call act"]["result"]["resultType"] = json!("task");
    script[method] = answer;
    script
}

#[tokio::test]
async fn question_of_a_task_suspends_the_turn() {
    let (server, tools) = server(json!([asking(), asking(), completed()]), |server| server).await;
    let world = World::in_memory(&tools, "s__act");
    let pending = world.suspended().await;
    let WaitsFor::Answers(questions) = &pending.calls[0].waits_for else { panic!("{pending:?}") };
    assert_eq!(questions[0].message, "Which seat?");
    pending.decide(&*world.store, [seat("7A")]).await.unwrap();
    assert_eq!(world.resumed().await.unwrap().text(), Some("done"));
    assert_eq!(server.received("tools/call").len(), 1);
    let updates = server.received("tasks/update");
    assert_eq!(updates.len(), 1);
    assert_eq!(updates[0]["params"]["inputResponses"]["q1"]["content"], json!({"seat": "7A"}));
}

#[tokio::test]
async fn task_survives_the_end_of_the_process_at_every_write() {
    let wait = |server: RemoteServer| server.task_wait(Duration::from_millis(1));
    let (server, tools) = server(json!([working()]), wait).await;
    for on_sqlite in [false, true] {
        let mut unknown = 0;
        for points in 1.. {
            server.forget();
            let world = match on_sqlite {
                true => World::on_sqlite(&tools, "s__act").await,
                false => World::in_memory(&tools, "s__act"),
            };
            server.replace(&replaced("tasks/get", working()));
            let handling = world.handle(points);
            let completing = async {
                until(|| server.received("tasks/get").pop()).await;
                server.replace(&replaced("tasks/get", completed()));
            };
            let outcome = tokio::select! {
                outcome = handling => outcome,
                outcome = async { completing.await; std::future::pending().await } => outcome,
            };
            let Some(ended) = outcome else {
                // Six writes at least: call, handle, wait; resumption, result; commit.
                assert!(points > 2 * 6, "{points}");
                break;
            };
            assert!(server.received("tools/call").len() <= 1, "{points}");
            match ended.result.text().unwrap() {
                "done" => {}
                text => {
                    assert!(text.starts_with("outcome unknown: "), "{points}: {text}");
                    unknown += 1;
                }
            }
        }
        // Between the start of the call and the record of its handle.
        assert_eq!(unknown, 2);
    }
}

#[tokio::test]
async fn task_that_is_lost_while_the_turn_waits_has_an_unknown_outcome() {
    let wait = |server: RemoteServer| server.task_wait(Duration::from_millis(1));
    let (server, tools) = server(json!([working()]), wait).await;
    let world = World::in_memory(&tools, "s__act");
    world.suspended().await;
    let lost = json!({"error": {"code": -32602, "message": "Task not found"}});
    server.replace(&replaced("tasks/get", lost));
    let result = world.resumed().await.unwrap();
    assert!(result.text().unwrap().starts_with("outcome unknown: "), "{result:?}");
    assert_eq!(server.received("tools/call").len(), 1);
}

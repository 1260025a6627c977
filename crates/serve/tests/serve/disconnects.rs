//! Clients that disconnect.

use crate::client::{open, post, send};
use crate::observed::{Observed, Stop, Work, within};
use crate::tcp_client::{self, read_until};
use ai_services::memory::{ChatMemoryStore, MemoryId, ToMemoryId};
use ai_services::message::ChatMessage;
use ai_services::serve::ChatServer;
use axum::body::Body;
use http::StatusCode;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream};

/// The only conversation.
fn conversation() -> MemoryId {
    ("ann", "c").to_memory_id()
}

/// Returns the paths of all protocols, with a request for a stream.
fn requests(text: &str) -> [(&'static str, Value); 4] {
    let message = json!({ "role": "user", "content": text });
    let parts = json!([{ "type": "text", "text": text }]);
    [
        (
            "/v1/chat/completions",
            json!({ "model": "assistant", "messages": [message], "stream": true }),
        ),
        (
            "/v1/responses",
            json!({ "model": "assistant", "input": text, "conversation": "c", "stream": true }),
        ),
        ("/ui/assistant", json!({ "id": "c", "messages": [{ "role": "user", "parts": parts }] })),
        ("/ag-ui/assistant", run(text)),
    ]
}

/// Returns the input of a run of AG-UI with a message.
fn run(text: &str) -> Value {
    let message = json!({ "id": "m", "role": "user", "content": text });
    json!({ "threadId": "c", "runId": "r", "messages": [message] })
}

async fn messages(observed: &Observed) -> Vec<ChatMessage> {
    observed.store.get_messages(&conversation()).await.unwrap()
}

async fn has_journal(observed: &Observed) -> bool {
    let journals = observed.store.journals().unwrap();
    journals.journal(&conversation()).await.unwrap().is_some()
}

/// Sends a request of `ann` about the conversation over a connection of its own.
async fn connect(address: SocketAddr, path: &str, body: &Value) -> TcpStream {
    let headers = "authorization: Bearer ann\r\nx-conversation-id: c\r\n";
    tcp_client::connect(address, path, headers, body).await
}

#[tokio::test]
async fn disconnects_cancel_requests_of_the_model_and_store_nothing() {
    let observed = Observed::new();
    let server = observed.server(&observed.service());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let clients = async {
        for round in 0..1000 {
            // The model thinks, or has written some pieces, or all of them.
            let pieces = round / 4 % 4;
            observed.stop(Stop::Answer(pieces));
            let (path, body) = &requests("Hi!")[round % 4];
            let mut client = connect(address, path, body).await;
            let begun = |work: &Work| {
                work.requests == round + 1 && work.running == 1 && work.pieces == pieces
            };
            observed.wait_for(begun).await;
            if pieces > 0 {
                within(read_until(&mut client, ["", "one ", "two ", "three"][pieces])).await;
            }
            drop(client);
            // Nothing else ends the request.
            observed.wait_for(|work| work.running == 0).await;
        }
        assert_eq!(observed.work().requests, 1000);
        assert_eq!(messages(&observed).await, []);
        assert!(!has_journal(&observed).await);
        // The conversation is not blocked.
        observed.stop(Stop::Never);
        let (path, body) = &requests("Hi!")[3];
        within(read_until(&mut connect(address, path, body).await, "RUN_FINISHED")).await;
        assert_eq!(messages(&observed).await.len(), 2);
    };
    tokio::select! {
        result = server.serve(listener, std::future::pending()) => panic!("{result:?}"),
        () = clients => {}
    }
}

/// Begins a turn whose tool waits for approval, and returns the run that approves it.
async fn approval(server: &ChatServer) -> Value {
    let waiting = send(server, post("/ag-ui/assistant", &run("refund"))).await;
    let outcome = waiting.events().pop().unwrap()["outcome"].clone();
    assert_eq!(outcome["type"], "interrupt");
    let mut approved = run("refund");
    let payload = json!({ "approved": true });
    approved["resume"] = json!([{
        "interruptId": outcome["interrupts"][0]["id"], "status": "resolved", "payload": payload,
    }]);
    approved
}

/// Reads a stream until the service has stopped, and disconnects.
async fn disconnect(observed: &Observed, mut body: Body, stop: Stop) {
    let stopped = observed.wait_for(|work| match stop {
        Stop::Never => false,
        Stop::Refund => work.refunds == 1 && work.running == 0,
        // The tool ran before the answer.
        Stop::Answer(pieces) => (work.refunds, work.running, work.pieces) == (1, 1, pieces),
    });
    let mut received = Vec::new();
    let read = async {
        while let Some(frame) = body.frame().await {
            received.extend_from_slice(&frame.unwrap().into_data().unwrap());
        }
        String::from_utf8(received).unwrap()
    };
    tokio::select! {
        text = read => panic!("the stream ended at {:?}: {text}", observed.work()),
        () = stopped => {}
    }
    drop(body);
    assert_eq!(observed.work().running, 0, "the request of the model is cancelled");
}

/// Approves a call, and disconnects while the turn goes on.
async fn disconnected(stop: Stop) -> (Observed, ChatServer) {
    let observed = Observed::new();
    let server = observed.server(&observed.service());
    let approved = approval(&server).await;
    assert_eq!(observed.work().refunds, 0);
    observed.stop(stop);
    let response = open(&server, post("/ag-ui/assistant", &approved)).await;
    assert_eq!(response.status(), StatusCode::OK);
    disconnect(&observed, response.into_body(), stop).await;
    assert_eq!(observed.work().refunds, 1);
    assert_eq!(messages(&observed).await, []);
    assert!(has_journal(&observed).await, "the turn can be resumed");
    let again = send(&server, post("/ag-ui/assistant", &approved)).await;
    assert_eq!((again.status, &*again.code()), (StatusCode::CONFLICT, "conflict"));
    (observed, server)
}

/// The places at which a resumed turn is interrupted, with the requests of the model until then.
const STOPS: [(Stop, usize); 4] =
    [(Stop::Refund, 1), (Stop::Answer(0), 2), (Stop::Answer(1), 2), (Stop::Answer(3), 2)];

/// Checks that the turn of the tool is stored once, and returns the result of its tool.
fn check_turn(messages: &[ChatMessage]) -> String {
    let [user, call, result, answer] = messages else { panic!("{messages:?}") };
    assert!(user.is_user());
    let ChatMessage::Ai(call) = call else { panic!("{call:?}") };
    assert_eq!(call.tool_calls().len(), 1);
    assert_eq!(answer.text(), Some("one two three"));
    result.text().unwrap().to_owned()
}

/// Checks the result of a tool that ran once.
fn check_result(stop: Stop, result: &str) {
    match stop {
        // The effect is not known: the tool was cancelled.
        Stop::Refund => assert!(result.contains("may or may not"), "{result}"),
        _ => assert_eq!(result, "refunded"),
    }
}

/// Sends a message, and disconnects when the service has stopped.
async fn interrupt_message(observed: &Observed, server: &ChatServer, stop: Stop) {
    observed.stop(stop);
    let response = open(server, post("/ag-ui/assistant", &run("And now?"))).await;
    disconnect(observed, response.into_body(), stop).await;
}

#[tokio::test]
async fn resumed_turn_goes_on_with_the_next_message_after_a_disconnect() {
    for (stop, requests) in STOPS {
        let (observed, server) = disconnected(stop).await;
        assert_eq!(observed.work().requests, requests, "{stop:?}");
        // Clients that disconnect again, while the message resumes the turn, change nothing.
        for _ in 0..3 {
            interrupt_message(&observed, &server, Stop::Answer(0)).await;
            assert_eq!(messages(&observed).await, []);
        }
        // The turn is stored before the answer to the message begins.
        interrupt_message(&observed, &server, Stop::Answer(2)).await;
        check_result(stop, &check_turn(&messages(&observed).await));
        observed.stop(Stop::Never);
        let answer = within(send(&server, post("/ag-ui/assistant", &run("And now?")))).await;
        assert_eq!(answer.events().last().unwrap()["outcome"]["type"], "success");
        let messages = messages(&observed).await;
        let (turn, next) = messages.split_at(4);
        check_result(stop, &check_turn(turn));
        assert_eq!(
            next.iter().map(|message| message.text()).collect::<Vec<_>>(),
            [Some("And now?"), Some("one two three"),]
        );
        assert_eq!(observed.work().refunds, 1, "{stop:?}");
        assert!(!has_journal(&observed).await);
    }
}

#[tokio::test]
async fn application_resumes_a_turn_after_a_disconnect() {
    for (stop, requests) in STOPS {
        let observed = Observed::new();
        let service = observed.service();
        let server = observed.server(&service);
        let approved = approval(&server).await;
        observed.stop(stop);
        let response = open(&server, post("/ag-ui/assistant", &approved)).await;
        disconnect(&observed, response.into_body(), stop).await;
        observed.stop(Stop::Never);
        let resumed = within(service.resume(&conversation())).await.unwrap().unwrap();
        assert_eq!(resumed.response.value.text(), Some("one two three"));
        check_result(stop, &check_turn(&messages(&observed).await));
        // The answer that calls the tool is in the journal.
        assert_eq!(observed.work().requests, requests + 1, "{stop:?}");
        assert_eq!(observed.work().refunds, 1, "{stop:?}");
        assert!(service.resume(&conversation()).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn turn_whose_tool_ran_goes_on_with_the_next_message_after_a_disconnect() {
    for (stop, _) in STOPS {
        let observed = Observed::new().without_approval();
        let server = observed.server(&observed.service());
        observed.stop(stop);
        let response = open(&server, post("/ag-ui/assistant", &run("refund"))).await;
        disconnect(&observed, response.into_body(), stop).await;
        assert_eq!(messages(&observed).await, []);
        assert!(has_journal(&observed).await, "{stop:?}");
        observed.stop(Stop::Never);
        let answer = within(send(&server, post("/ag-ui/assistant", &run("And now?")))).await;
        assert_eq!(answer.events().last().unwrap()["outcome"]["type"], "success");
        let messages = messages(&observed).await;
        assert_eq!(messages.len(), 6, "{stop:?}");
        check_result(stop, &check_turn(&messages[..4]));
        assert_eq!(observed.work().refunds, 1, "{stop:?}");
    }
}

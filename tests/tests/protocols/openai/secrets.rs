//! The key is in no output.

use super::{CANARY, client, hello, hi};
use ai_services::model::{ChatModel, ChatRequestParameters};
use ai_services_tests::fault_server::FaultServer;
use ai_services_tests::fault_server::Step::{Close, Request, Reset, Send};
use ai_services_tests::fault_server::answer;
use ai_services_tests::logs;
use std::fmt::Write;

/// Returns all output of an error and of its sources.
fn shown(error: &dyn std::error::Error) -> String {
    let mut text = format!("{error} {error:?} {error:#?}\n");
    let mut source = error.source();
    while let Some(error) = source {
        writeln!(text, "{error} {error:?}").unwrap();
        source = error.source();
    }
    text
}

#[tokio::test]
async fn key_is_not_in_debug_output_errors_or_logs() {
    logs::start();

    // A server that repeats the key at every position that errors quote.
    let json = format!(r#"{{"error":{{"message":"bad {CANARY}","code":"{CANARY}"}}}}"#);
    let other = FaultServer::start([]).await.unwrap();
    let location = format!("{}/{CANARY}", other.url());
    let scripts = [
        answer(401, &[], json.clone()),
        answer(401, &[], format!("<html>{CANARY}")),
        answer(503, &[("x-request-id", "r")], json.clone()),
        answer(307, &[("location", &location)], ""),
        answer(200, &[], json),
        format!("{CANARY}\r\n\r\n").into_bytes(),
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec(),
    ]
    .map(|answer| vec![Request, Send(answer)])
    .into_iter()
    .chain([vec![Reset], vec![Request, Close], vec![Request, Send(hi())]]);
    let server = FaultServer::start(scripts).await.unwrap();
    // Proxies and gateways require keys in headers, in the path and in the query.
    let builder = client(&server)
        .base_url(format!("{}/{CANARY}?key={CANARY}", server.url()))
        .header("api-key", CANARY)
        .parameters(ChatRequestParameters::new().temperature(0.0));
    let mut output = format!("{builder:?} {builder:#?}");
    let model = builder.build().unwrap();
    write!(output, "{model:?} {model:#?}").unwrap();
    let mut errors = 0;
    loop {
        match model.chat(&hello()).await {
            Ok(_) => break,
            Err(error) => output.push_str(&shown(&error)),
        }
        errors += 1;
    }
    drop(server);
    output.push_str(&shown(&model.chat(&hello()).await.unwrap_err()));

    assert!(errors >= 6, "{errors}\n{output}");
    assert!(!output.contains(CANARY), "{output}");
    let logged = logs::take();
    assert!(logged.contains("retrying a failed request"), "{logged}");
    assert!(!logged.contains(CANARY), "{logged}");
}

//! The key of a client is in no log, `Debug` output, error or URL, even if the server repeats it.

use super::own_process::in_own_process;
use ai_services::message::ChatMessage;
use ai_services::model::{ChatModel, ChatRequest, ModelStreamEvent};
use ai_services::{Error, Result};
use ai_services_tests::fault_server::Step::{Close, Hang, Request, Reset, Send};
use ai_services_tests::fault_server::{FaultServer, Step, once, redirect, until_close};
use ai_services_tests::logs;
use ai_services_tests::protocols::{self, CANARY, Client, Protocol};
use futures_util::StreamExt;
use serde_json::Value;
use std::fmt::Write;
use std::time::Duration;

/// A part of the key. It must not leak either.
const PART: &str = "sk-canary";

/// Returns all output of an error and of its sources.
fn shown(error: &Error) -> String {
    let mut text = format!(
        "{error} {error:#} {error:?} {error:#?} {:?} {:?} {:?}\n",
        error.code(),
        error.request_id(),
        error.retry_after()
    );
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        writeln!(text, "{error} {error:?} {error:#?}").unwrap();
        source = error.source();
    }
    text
}

async fn ask(model: &dyn ChatModel, is_stream: bool) -> Result<()> {
    let request = ChatRequest::new([ChatMessage::user("Hello!")]);
    if !is_stream {
        return model.chat(&request).await.map(drop);
    }
    let mut events = model.stream(&request);
    while let Some(event) = events.next().await {
        if let ModelStreamEvent::Completed(_) = event? {
            break;
        }
    }
    Ok(())
}

/// A protocol, with or without streaming.
struct Case {
    protocol: Protocol,
    is_stream: bool,
}

impl Case {
    fn body(&self) -> String {
        if self.is_stream { (self.protocol.stream)() } else { (self.protocol.whole)() }
    }

    fn content_type(&self) -> &'static str {
        if self.is_stream { self.protocol.stream_type } else { "application/json" }
    }

    fn answer(&self, body: impl AsRef<[u8]>) -> Vec<u8> {
        once(200, &[("content-type", self.content_type())], body)
    }

    /// Answers and refusals that repeat the key at every position that errors quote.
    fn echoes(&self) -> Vec<Vec<u8>> {
        let Self { protocol, .. } = self;
        let error = (protocol.error)(&format!("bad {CANARY}"));
        let failed = (protocol.stream_error)().replace("broken", CANARY);
        let body = self.body();
        let begun = &body[..body.len() / 2];
        let page = format!("<html>{CANARY}");
        let id = [("x-request-id", CANARY), ("request-id", CANARY), ("retry-after", CANARY)];
        let mut all = vec![
            once(401, &id, &error),
            once(401, &[], CANARY),
            once(401, &[], &page),
            once(
                400,
                &id,
                format!(r#"{{"error":{{"message":"no","code":"{CANARY}","type":"{CANARY}"}}}}"#),
            ),
            once(400, &[], format!(r#"{{"{CANARY}":"{CANARY}"}}"#)),
            redirect(307, &format!("http://localhost:1/{CANARY}")),
            redirect(302, CANARY),
            self.answer(&error),
            self.answer(&page),
            self.answer(CANARY),
            self.answer(format!("data: {CANARY}\n\n")),
            self.answer(format!("event: error\ndata: {CANARY}\n\n")),
            self.answer([begun.as_bytes(), CANARY.as_bytes()].concat()),
            self.answer(&failed),
            once(200, &[("content-type", CANARY), ("x-request-id", CANARY)], &page),
            format!("{CANARY}\r\n\r\n").into_bytes(),
            format!("HTTP/1.1 401 {CANARY}\r\n{CANARY}: {CANARY}\r\nconnection: close\r\n\r\n")
                .into_bytes(),
            format!("HTTP/1.1 200 OK\r\n{CANARY}\r\n\r\n").into_bytes(),
            format!("HTTP/1.1 200 OK\r\ncontent-length: {CANARY}\r\n\r\n").into_bytes(),
            format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{CANARY}\r\n")
                .into_bytes(),
        ];
        // Quotes are truncated, possibly within the key.
        for before in [185, 190, 195, 785, 790, 795, 985, 990, 995] {
            let long = format!("{}{CANARY}", "y".repeat(before));
            let wide = format!("{}{CANARY}", "😀".repeat(before));
            for text in [long, wide] {
                all.push(once(500, &[], &text));
                all.push(once(500, &[], (protocol.error)(&text)));
                all.push(self.answer(&text));
                all.push(self.answer((protocol.error)(&text)));
            }
        }
        all
    }

    /// Answers in which one value is replaced by the key.
    fn with_key_as_value(&self) -> Vec<Vec<u8>> {
        let body = self.body();
        let mut all = Vec::new();
        // JSON is on one line; in streams after a prefix, or alone.
        let lines: Vec<_> = body.lines().map(str::to_owned).collect();
        for (number, line) in lines.iter().enumerate() {
            let Some(at) = line.find('{') else { continue };
            let Ok(json) = serde_json::from_str::<Value>(&line[at..]) else { continue };
            for place in 0..places(&json) {
                let mut json = json.clone();
                replace(&mut json, &mut place.clone());
                let mut lines = lines.clone();
                lines[number] = format!("{}{json}", &line[..at]);
                all.push(self.answer(lines.join("\n") + "\n\n"));
            }
        }
        all
    }

    /// Connections that break or stall after the request.
    fn ends(&self) -> Vec<Vec<Step>> {
        let begun = &self.body()[..self.body().len() / 2];
        let begun = Send(until_close("1.1", self.content_type(), begun));
        vec![
            vec![Reset],
            vec![Request, Close],
            vec![Request, Hang],
            vec![Request, begun.clone(), Close],
            vec![Request, begun.clone(), Reset],
            vec![Request, begun, Hang],
            vec![Request, Send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec()), Hang],
            vec![Request, Send(self.answer(self.body()))],
        ]
    }
}

/// Returns the number of values in JSON, including nested ones.
fn places(json: &Value) -> usize {
    1 + match json {
        Value::Array(items) => items.iter().map(places).sum(),
        Value::Object(members) => members.values().map(places).sum(),
        _ => 0,
    }
}

/// Replaces the value with this number by the key.
fn replace(json: &mut Value, number: &mut usize) {
    if *number == 0 {
        *json = CANARY.into();
    }
    *number = number.wrapping_sub(1);
    match json {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, number)),
        Value::Object(members) => members.values_mut().for_each(|member| replace(member, number)),
        _ => {}
    }
}

/// Returns the number of scripts that end in an error. Asserts that none shows the key.
async fn errors_of(case: &Case, scripts: Vec<Vec<Step>>) -> usize {
    let mut errors = 0;
    for script in scripts {
        let sent = script.iter().filter_map(|step| match step {
            Send(bytes) => Some(String::from_utf8_lossy(bytes)),
            _ => None,
        });
        let sent = sent.collect::<String>();
        let context = format!("{:?}, stream: {}, {sent}", case.protocol, case.is_stream);
        let server = FaultServer::start([script]).await.unwrap();
        let origin = server.origin();
        let mut client = Client::of(&origin);
        (client.timeout, client.max_retries) = (Duration::from_millis(100), 1);
        let model = (case.protocol.client)(&client).unwrap();
        let mut output = model.name().to_owned();
        if let Err(error) = ask(&*model, case.is_stream).await {
            output.push_str(&shown(&error));
            errors += 1;
        }
        let heads: Vec<_> = server.requests().into_iter().map(|request| request.head).collect();
        for head in heads {
            let (line, headers) = head.split_once("\r\n").unwrap();
            assert!(!line.contains(PART), "{context}\n{line}");
            assert!(headers.contains(CANARY), "{context}: the key is not sent");
        }
        assert!(!output.contains(PART), "{context}\n{output}");
        let logged = logs::take();
        assert!(!logged.contains(PART), "{context}\n{logged}");
        assert!(logged.contains("hyper"), "{context}: nothing is logged: {logged}");
    }
    errors
}

#[test]
fn key_is_not_in_any_output() {
    in_own_process(async || {
        logs::start();
        for protocol in protocols::all() {
            for is_stream in [false, true] {
                let case = Case { protocol, is_stream };
                let scripts = |answers: Vec<Vec<u8>>| {
                    answers.into_iter().map(|answer| vec![Request, Send(answer)]).collect()
                };
                let errors = errors_of(&case, scripts(case.echoes())).await;
                assert_eq!(errors, case.echoes().len(), "{protocol:?}, stream: {is_stream}");
                let errors = errors_of(&case, scripts(case.with_key_as_value())).await;
                assert!(errors > 0, "{protocol:?}, stream: {is_stream}");
                let ends = case.ends();
                assert_eq!(errors_of(&case, ends.clone()).await, ends.len() - 1, "{protocol:?}");
            }
        }
    });
}

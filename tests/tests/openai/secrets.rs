//! The key is in no output of any kind.

use super::{CANARY, client, hello, hi};
use ai_services::model::{ChatModel, ChatRequestParameters};
use ai_services_tests::fault_server::FaultServer;
use ai_services_tests::fault_server::Step::{Close, Request, Reset, Send};
use ai_services_tests::fault_server::answer;
use std::fmt::{Debug, Write};
use std::sync::{Mutex, PoisonError};
use tracing::field::{Field, Visit};
use tracing::span;

static LOGGED: Mutex<String> = Mutex::new(String::new());

fn logged() -> String {
    LOGGED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Writes down every span, event and record at every level.
struct Capture;

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Capture {
    fn line(target: &str, record: impl FnOnce(&mut Line<'_>)) {
        let mut line = target.to_owned();
        record(&mut Line(&mut line));
        let mut logged = LOGGED.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(logged, "{line}").unwrap();
    }
}

impl tracing::Subscriber for Capture {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        Self::line(attributes.metadata().target(), |line| attributes.record(line));
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        Self::line("record", |line| values.record(line));
    }

    fn event(&self, event: &tracing::Event<'_>) {
        Self::line(event.metadata().target(), |line| event.record(line));
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

impl log::Log for Capture {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        Self::line(record.target(), |line| write!(line.0, " {}", record.args()).unwrap());
    }

    fn flush(&self) {}
}

/// Everything that an error shows, with its sources.
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
async fn key_is_in_no_debug_error_or_log() {
    tracing::subscriber::set_global_default(Capture).unwrap();
    log::set_logger(&Capture).unwrap();
    log::set_max_level(log::LevelFilter::Trace);

    // A server that repeats the key, in every place from which errors are made.
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
    // Proxies and gateways want keys in headers and in the query.
    let builder = client(&server)
        .base_url(format!("{}?key={CANARY}", server.url()))
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
    let logged = logged();
    assert!(logged.contains("is sent again"), "{logged}");
    assert!(!logged.contains(CANARY), "{logged}");
}

//! Streams with many chunks: a server with prepared chunks, and a minimal client.
#![allow(clippy::indexing_slicing, reason = "the peer is plain hand-written code")]

use reqwest::Client;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use serde::Deserialize;
use std::borrow::Cow;
use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// The sizes of the writes of the server.
#[derive(Clone, Copy, Debug)]
pub enum Writes {
    /// One write per chunk.
    Single,
    /// Writes of about 64 KiB.
    Coalesced,
}

impl Writes {
    fn bytes(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Coalesced => 64 << 10,
        }
    }
}

/// A server that answers every request with the same stream, and keeps connections open.
///
/// Runs in separate threads until the process ends.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
}

impl Server {
    /// Starts a server with a stream of this many tokens.
    #[must_use]
    pub fn start(tokens: usize, writes: Writes) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answer: Arc<[Vec<u8>]> = writes_of(tokens, writes).into();
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let answer = Arc::clone(&answer);
                // An error means that the client has disconnected.
                thread::spawn(move || serve(&connection, &answer));
            }
        });
        Self { address }
    }

    /// Returns the base URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

fn serve(connection: &TcpStream, answer: &[Vec<u8>]) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(64 * 1024, connection);
    while let Some(length) = crate::server::read_head(&mut reader)? {
        io::copy(&mut io::Read::take(&mut reader, length as u64), &mut io::sink())?;
        for write in answer {
            (&*connection).write_all(write)?;
        }
    }
    Ok(())
}

/// Returns the bytes of each write.
fn writes_of(tokens: usize, writes: Writes) -> Vec<Vec<u8>> {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut all = vec![head.as_bytes().to_vec()];
    let mut pending = String::new();
    for event in events(tokens) {
        pending.push_str(&event);
        if pending.len() >= writes.bytes() {
            all.push(http_chunk(&pending));
            pending.clear();
        }
    }
    if !pending.is_empty() {
        all.push(http_chunk(&pending));
    }
    all.push(b"0\r\n\r\n".to_vec());
    all
}

fn http_chunk(bytes: &str) -> Vec<u8> {
    format!("{:x}\r\n{bytes}\r\n", bytes.len()).into_bytes()
}

/// Returns the events in the format of OpenAI.
fn events(tokens: usize) -> impl Iterator<Item = String> {
    let event = |choices: &str, usage: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"gpt-4o-mini-2024-07-18\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_1\",\"choices\":[{choices}],\"usage\":{usage}}}\n\n"
        )
    };
    let choice = |delta: &str, reason: &str| {
        format!(
            "{{\"index\":0,\"delta\":{{{delta}}},\"logprobs\":null,\"finish_reason\":{reason}}}"
        )
    };
    let first =
        event(&choice("\"role\":\"assistant\",\"content\":\"\",\"refusal\":null", "null"), "null");
    let token = event(&choice("\"content\":\" token\"", "null"), "null");
    let stop = event(&choice("", "\"stop\""), "null");
    let usage = format!(
        "{{\"prompt_tokens\":9,\"completion_tokens\":{tokens},\"total_tokens\":{}}}",
        tokens + 9
    );
    let end = [stop, event("", &usage), "data: [DONE]\n\n".to_owned()];
    std::iter::once(first).chain(std::iter::repeat_n(token, tokens)).chain(end)
}

/// Content type and body of a stream with this many tokens, as the provider of `protocol` sends it. `None`
/// if the protocol is unknown.
#[must_use]
pub fn answer(protocol: &str, tokens: usize) -> Option<(&'static str, String)> {
    const EVENTS: &str = "text/event-stream";
    match protocol {
        "openai-chat" => Some((EVENTS, events(tokens).collect())),
        "openai-responses" => Some((EVENTS, responses(tokens))),
        "anthropic" => Some((EVENTS, anthropic(tokens))),
        "gemini" => Some((EVENTS, gemini(tokens))),
        "ollama" => Some(("application/x-ndjson", ollama(tokens))),
        _ => None,
    }
}

fn responses(tokens: usize) -> String {
    let token = |number| {
        let data = format!(
            r#"{{"type":"response.output_text.delta","sequence_number":{number},"item_id":"msg_68a1b2c3d4e5f6","output_index":0,"content_index":0,"delta":" token","logprobs":[],"obfuscation":"x8yMvNqTz"}}"#
        );
        named("response.output_text.delta", &data)
    };
    let end = r#"{"type":"response.completed","response":{"id":"resp_1","model":"gpt-4o-mini","status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":9,"total_tokens":18}}}"#;
    (0..tokens).map(token).collect::<String>() + &named("response.completed", end)
}

fn anthropic(tokens: usize) -> String {
    let event =
        |name: &str, members: &str| named(name, &format!(r#"{{"type":"{name}"{members}}}"#));
    let mut body = event(
        "message_start",
        r#","message":{"id":"msg_1","model":"claude","usage":{"input_tokens":9,"output_tokens":1}}"#,
    );
    let block = r#","index":0,"content_block":{"type":"text","text":""}"#;
    body += &event("content_block_start", block);
    let token = r#","index":0,"delta":{"type":"text_delta","text":" token"}"#;
    body += &event("content_block_delta", token).repeat(tokens);
    body += &event("content_block_stop", r#","index":0"#);
    let end = r#","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}"#;
    body += &event("message_delta", end);
    body + &event("message_stop", "")
}

fn gemini(tokens: usize) -> String {
    let document = |text: &str, finish: &str, number: usize| {
        format!(
            "data: {{\"candidates\": [{{\"content\": {{\"parts\": [{{\"text\": \"{text}\"}}],\"role\": \"model\"}},{finish}\"index\": 0}}],\"usageMetadata\": {{\"promptTokenCount\": 9,\"candidatesTokenCount\": {number},\"totalTokenCount\": {number}}},\"modelVersion\": \"gemini-2.5-flash\",\"responseId\": \"a1b2c3d4e5f6\"}}\r\n\r\n"
        )
    };
    let body: String = (0..tokens).map(|number| document(" token", "", number)).collect();
    body + &document("", "\"finishReason\": \"STOP\",", tokens)
}

fn ollama(tokens: usize) -> String {
    let line = |text: &str, number: usize, end: &str| {
        format!(
            "{{\"model\":\"llama3.2\",\"created_at\":\"2025-08-04T08:52:19.{number:09}Z\",\"message\":{{\"role\":\"assistant\",\"content\":\"{text}\"}},{end}}}\n"
        )
    };
    let token = |number| line(" token", number, "\"done\":false");
    let end = "\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":9,\"eval_count\":9";
    (0..tokens).map(token).collect::<String>() + &line("", tokens, end)
}

/// Returns an event with a name.
fn named(name: &str, data: &str) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Option<Cow<'a, str>>,
}

/// A minimal client: finds the ends of lines, parses each line once, and returns owned tokens.
#[derive(Debug)]
pub struct ByHand {
    client: Client,
    url: String,
}

impl ByHand {
    /// Creates a client of the server with this base URL.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self { client: crate::by_hand::client(), url: format!("{url}/chat/completions") }
    }

    /// Reads a stream, and calls `token` with each token.
    pub async fn stream(&self, mut token: impl FnMut(String)) {
        let body = r#"{"model":"m","messages":[{"role":"user","content":"Hello!"}],"stream":true}"#;
        let request = self.client.post(&self.url).header(AUTHORIZATION, "Bearer key");
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        let mut response = request.send().await.unwrap().error_for_status().unwrap();
        let mut rest = Vec::new();
        while let Some(piece) = response.chunk().await.unwrap() {
            let mut bytes = &piece[..];
            while let Some(end) = memchr::memchr(b'\n', bytes) {
                if rest.is_empty() {
                    read(&bytes[..end], &mut token);
                } else {
                    rest.extend_from_slice(&bytes[..end]);
                    read(&rest, &mut token);
                    rest.clear();
                }
                bytes = &bytes[end + 1..];
            }
            rest.extend_from_slice(bytes);
        }
    }
}

fn read(line: &[u8], token: &mut impl FnMut(String)) {
    let Some(data) = line.strip_prefix(b"data: ") else { return };
    if data == b"[DONE]" {
        return;
    }
    let chunk: Chunk<'_> = serde_json::from_slice(data).unwrap();
    let content = chunk.choices.into_iter().next().and_then(|choice| choice.delta.content);
    if let Some(content) = content {
        token(content.into_owned());
    }
}

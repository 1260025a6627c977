//! A server with one fixed answer.

use crate::workload::TEXT;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A server with one fixed answer, which keeps connections open. Default answer: [`TEXT`] as a chat
/// completion of OpenAI.
///
/// Runs in separate threads until the process ends, so that the thread of the client measures only the
/// client.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    last: Arc<Mutex<Vec<u8>>>,
}

impl Server {
    /// Starts a server on a free local port.
    #[must_use]
    pub fn start() -> Self {
        Self::answering(answer())
    }

    /// Starts a server with this answer (head and body).
    #[must_use]
    pub fn answering(answer: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let last = Arc::<Mutex<Vec<u8>>>::default();
        let last_body = Arc::clone(&last);
        let answer: Arc<[u8]> = answer.into();
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let (last, answer) = (Arc::clone(&last_body), Arc::clone(&answer));
                // An error means that the client has disconnected.
                thread::spawn(move || serve(&connection, &answer, &last));
            }
        });
        Self { address, last }
    }

    /// Returns scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the base URL for clients of OpenAI.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the body of the last request.
    #[must_use]
    pub fn last_body(&self) -> Vec<u8> {
        self.last.lock().unwrap().clone()
    }
}

fn serve(connection: &TcpStream, answer: &[u8], last: &Mutex<Vec<u8>>) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(64 * 1024, connection);
    let mut body = Vec::new();
    while let Some(length) = read_head(&mut reader)? {
        body.resize(length, 0);
        reader.read_exact(&mut body)?;
        std::mem::swap(&mut *last.lock().unwrap(), &mut body);
        (&*connection).write_all(answer)?;
    }
    Ok(())
}

/// Reads up to the body and returns its length; `None` at the end of the connection.
pub(crate) fn read_head(reader: &mut impl BufRead) -> io::Result<Option<usize>> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            return Ok(Some(length));
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
}

fn answer() -> Vec<u8> {
    let body = completion();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head, body].concat().into_bytes()
}

/// Returns a completion with all fields that OpenAI sends.
fn completion() -> String {
    let choice = format!(
        r#"{{"index":0,"message":{{"role":"assistant","content":"{TEXT}","refusal":null,"annotations":[]}},"logprobs":null,"finish_reason":"stop"}}"#
    );
    let usage = r#"{"prompt_tokens":100,"completion_tokens":40,"total_tokens":140,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}"#;
    format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"gpt-4o-mini-2024-07-18","choices":[{choice}],"usage":{usage},"service_tier":"default","system_fingerprint":"fp_1"}}"#
    )
}

//! An HTTP server that does what it is told, byte by byte, so that clients can be shown every way
//! in which a server fails.
//!
//! Each connection plays one script. A script consists of [`Step`]s; after the last one the
//! connection is closed. Everything that was received is recorded.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// What a connection does next.
#[derive(Clone, Debug)]
pub enum Step {
    /// Reads and records one request with its body, as far as `content-length` says.
    Request,
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends the letter `x` until the client closes.
    Flood,
    /// Sends these bytes again and again until the client closes.
    Repeat(Vec<u8>),
    /// Waits.
    Pause(Duration),
    /// Closes without a sound.
    Close,
    /// Resets the connection: the client sees an error, not an end.
    Reset,
    /// Waits without an answer until the client closes, and counts that.
    Hang,
}

/// A request as it arrived.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The request line and the headers.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Recorded {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, v)| v.trim())
    }

    /// The body as JSON; `null` if it is none.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// The server. It stops when it is dropped.
#[derive(Debug)]
pub struct FaultServer {
    address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct State {
    log: Mutex<Log>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Log {
    scripts: VecDeque<Vec<Step>>,
    requests: Vec<Recorded>,
    connections: usize,
    hung_up: usize,
    flooded: usize,
}

impl FaultServer {
    /// Starts a server whose first connection plays the first script, and so on. Connections
    /// without a script are closed at once.
    ///
    /// # Errors
    ///
    /// If no port can be opened.
    pub async fn start(scripts: impl IntoIterator<Item = Vec<Step>>) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State::default());
        state.log().scripts.extend(scripts);
        #[allow(clippy::disallowed_methods, reason = "a server runs beside its test")]
        let task = tokio::spawn(serve(listener, Arc::clone(&state)));
        Ok(Self { address, state, task })
    }

    /// Starts a server that gives these answers in order, over any number of connections that are
    /// kept alive.
    ///
    /// # Errors
    ///
    /// If no port can be opened.
    pub async fn answering(answers: impl IntoIterator<Item = Vec<u8>>) -> std::io::Result<Self> {
        let answers = answers.into_iter().flat_map(|answer| [Step::Request, Step::Send(answer)]);
        Self::start([answers.chain([Step::Hang]).collect()]).await
    }

    /// Scheme, host and port, `http://127.0.0.1:port`.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL, `http://127.0.0.1:port/v1`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// All requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.state.log().requests.clone()
    }

    /// How many connections were opened.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.state.log().connections
    }

    /// Waits until this many requests have arrived.
    pub async fn received(&self, count: usize) {
        self.state.until(|log| log.requests.len() >= count).await;
    }

    /// How many bytes of [`Step::Flood`] and [`Step::Repeat`] the network has taken.
    #[must_use]
    pub fn flooded(&self) -> usize {
        self.state.log().flooded
    }

    /// Waits until the network takes no more of [`Step::Flood`] or [`Step::Repeat`], because the
    /// client does not read: nothing for 100 ms.
    pub async fn stuck(&self) {
        let more = |before| self.state.until(move |log| log.flooded > before);
        while tokio::time::timeout(Duration::from_millis(100), more(self.flooded())).await.is_ok() {
        }
    }

    /// Waits until the client has closed this many connections at [`Step::Hang`],
    /// [`Step::Flood`] or [`Step::Repeat`].
    pub async fn hung_up(&self, count: usize) {
        self.state.until(|log| log.hung_up >= count).await;
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl State {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Log)) {
        change(&mut self.log());
        self.changed.notify_waiters();
    }

    async fn until(&self, is_reached: impl Fn(&Log) -> bool) {
        loop {
            let changed = self.changed.notified();
            if is_reached(&self.log()) {
                return;
            }
            changed.await;
        }
    }
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let script = state.log().scripts.pop_front().unwrap_or_default();
        state.change(|log| log.connections += 1);
        let state = Arc::clone(&state);
        connections.spawn(async move {
            // A client that goes away in the middle of a script is no failure of the server.
            let _ = play(stream, script, &state).await;
        });
    }
}

async fn play(mut stream: TcpStream, script: Vec<Step>, state: &State) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    for step in script {
        match step {
            Step::Request => {
                let request = read_request(&mut stream).await?;
                state.change(|log| log.requests.push(request));
            }
            Step::Send(bytes) => stream.write_all(&bytes).await?,
            Step::Flood => flood(&mut stream, &[b'x'; 64 << 10], state).await,
            Step::Repeat(bytes) => flood(&mut stream, &bytes, state).await,
            Step::Pause(time) => tokio::time::sleep(time).await,
            Step::Close => return Ok(()),
            Step::Reset => return stream.set_zero_linger(),
            Step::Hang => {
                while !matches!(stream.read(&mut [0; 1024]).await, Ok(0) | Err(_)) {}
                state.change(|log| log.hung_up += 1);
            }
        }
    }
    Ok(())
}

async fn flood(stream: &mut TcpStream, bytes: &[u8], state: &State) {
    while stream.write_all(bytes).await.is_ok() {
        state.change(|log| log.flooded += bytes.len());
    }
    state.change(|log| log.hung_up += 1);
}

async fn read_request(stream: &mut TcpStream) -> std::io::Result<Recorded> {
    let mut received = Vec::new();
    let end = loop {
        if let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut received).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    };
    let mut body = received.split_off(end);
    let head = String::from_utf8_lossy(&received).into_owned();
    let mut request = Recorded { head, body: Vec::new() };
    let length = request.header("content-length").and_then(|length| length.parse().ok());
    let length: usize = length.unwrap_or(0);
    while body.len() < length {
        if stream.read_buf(&mut body).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    request.body = body;
    Ok(request)
}

/// The bytes of an answer with `content-length` and further headers.
#[must_use]
pub fn answer(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut bytes = format!("HTTP/1.1 {status} Status\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        bytes.push_str(&format!("{name}: {value}\r\n"));
    }
    bytes.push_str("\r\n");
    let mut bytes = bytes.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// The bytes of an answer with status 200 and this JSON.
#[must_use]
pub fn json_answer(body: &serde_json::Value) -> Vec<u8> {
    answer(200, &[("content-type", "application/json")], body.to_string())
}

/// The head of an answer that consists of events and ends with the connection.
#[must_use]
pub fn events_head() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: r-1\r\n\r\n".to_vec()
}

/// The bytes of an answer of events in one chunk, after which the connection stays open.
#[must_use]
pub fn events_answer(body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n";
    let mut bytes = format!("{head}\r\n{:x}\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes.extend_from_slice(b"\r\n0\r\n\r\n");
    bytes
}

//! A scripted HTTP server that controls every byte, to test clients against all failures
//! of a server.
//!
//! Each connection plays one script. A script consists of [`Step`]s. After the last one the
//! connection is closed. All requests are recorded.
//!
//! | failure | script |
//! |---|---|
//! | no answer | `[Reset]`, `[Close]`, `[Request, Reset]`, `[Request, Close]`, `[Request, Hang]` |
//! | an answer that is cut, reset or stalls anywhere | `[Request, Send(part), Close]`, with `Reset` or `Hang` as its end |
//! | an answer before the request was read | `[Send(answer), Hang]` |
//! | a slow loris | `[Request, Trickle(answer, pause)]` |
//! | an answer without end | `[Request, Send(head), Flood]`, or `Repeat` |
//! | a wrong length, wrong chunks, HTTP/1.0, interim answers, redirects, a gzip bomb | see the functions that make [bytes](answer) |

mod bytes;

pub use bytes::{
    answer, chunked, events_answer, events_head, gzip_bomb, header_flood, interim, json_answer,
    once, redirect, until_close, with_length,
};

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// A step of a connection.
#[derive(Clone, Debug)]
pub enum Step {
    /// Reads and records one request, with a body of `content-length` bytes.
    Request,
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes one by one, with this pause before each byte.
    Trickle(Vec<u8>, Duration),
    /// Sends the letter `x` until the client closes.
    Flood,
    /// Sends these bytes again and again until the client closes.
    Repeat(Vec<u8>),
    /// Waits.
    Pause(Duration),
    /// Closes the connection. If received data was not read, the client sees a reset.
    Close,
    /// Closes the sending side, but continues to receive.
    Finish,
    /// Resets the connection: the client sees an error, not an end.
    Reset,
    /// Waits until the client closes the connection, and counts it.
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

    /// Returns the body as JSON, or `null` if it is not JSON.
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
    ended: usize,
    hung_up: usize,
    flooded: usize,
}

impl FaultServer {
    /// Starts a server whose first connection plays the first script, and so on. Connections
    /// without a script are closed at once.
    ///
    /// # Errors
    ///
    /// Fails if no port can be opened.
    pub async fn start(scripts: impl IntoIterator<Item = Vec<Step>>) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State::default());
        state.log().scripts.extend(scripts);
        #[allow(clippy::disallowed_methods, reason = "a server runs beside its test")]
        let task = tokio::spawn(serve(listener, Arc::clone(&state)));
        Ok(Self { address, state, task })
    }

    /// Starts a server that sends these answers in order, over any number of connections that are
    /// kept alive.
    ///
    /// # Errors
    ///
    /// Fails if no port can be opened.
    pub async fn answering(answers: impl IntoIterator<Item = Vec<u8>>) -> std::io::Result<Self> {
        let answers = answers.into_iter().flat_map(|answer| [Step::Request, Step::Send(answer)]);
        Self::start([answers.chain([Step::Hang]).collect()]).await
    }

    /// Replaces the remaining scripts.
    pub fn play(&self, scripts: impl IntoIterator<Item = Vec<Step>>) {
        self.state.log().scripts = scripts.into_iter().collect();
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

    /// Returns the number of opened connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.state.log().connections
    }

    /// Waits until this many requests have arrived.
    pub async fn received(&self, count: usize) {
        self.state.until(|log| log.requests.len() >= count).await;
    }

    /// Returns the number of bytes of [`Step::Flood`] and [`Step::Repeat`] that were sent.
    #[must_use]
    pub fn flooded(&self) -> usize {
        self.state.log().flooded
    }

    /// Waits until [`Step::Flood`] or [`Step::Repeat`] cannot send for 100 ms, because the
    /// client does not read.
    pub async fn stuck(&self) {
        let more = |before| self.state.until(move |log| log.flooded > before);
        while tokio::time::timeout(Duration::from_millis(100), more(self.flooded())).await.is_ok() {
        }
    }

    /// Waits until all connections are closed by either side.
    pub async fn deserted(&self) {
        self.state.until(|log| log.ended == log.connections).await;
    }

    /// Waits until the client has closed this many connections at [`Step::Hang`],
    /// [`Step::Flood`], [`Step::Repeat`] or [`Step::Trickle`].
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
            // A client that disconnects during a script is not an error of the server.
            let _ = play(stream, script, &state).await;
            state.change(|log| log.ended += 1);
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
            Step::Trickle(bytes, pause) => trickle(&mut stream, &bytes, pause, state).await?,
            Step::Flood => flood(&mut stream, &[b'x'; 64 << 10], state).await,
            Step::Repeat(bytes) => flood(&mut stream, &bytes, state).await,
            Step::Pause(time) => tokio::time::sleep(time).await,
            Step::Close => return Ok(()),
            Step::Finish => stream.shutdown().await?,
            Step::Reset => return stream.set_zero_linger(),
            Step::Hang => {
                while !matches!(stream.read(&mut [0; 1024]).await, Ok(0) | Err(_)) {}
                state.change(|log| log.hung_up += 1);
            }
        }
    }
    Ok(())
}

async fn trickle(
    stream: &mut TcpStream,
    bytes: &[u8],
    pause: Duration,
    state: &State,
) -> std::io::Result<()> {
    let (mut receiver, mut sender) = stream.split();
    let send = async {
        for byte in bytes {
            tokio::time::sleep(pause).await;
            sender.write_all(&[*byte]).await?;
        }
        Ok(())
    };
    let mut buffer = [0; 1024];
    let gone = async { while !matches!(receiver.read(&mut buffer).await, Ok(0) | Err(_)) {} };
    // A closed connection is noticed by reading or writing.
    let sent = tokio::select! {
        sent = send => sent,
        () = gone => Err(std::io::ErrorKind::BrokenPipe.into()),
    };
    if sent.is_err() {
        state.change(|log| log.hung_up += 1);
    }
    sent
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

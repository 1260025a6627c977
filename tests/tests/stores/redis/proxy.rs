//! A proxy that loses answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};

/// The way in which an answer is lost.
#[derive(Clone, Copy)]
pub(super) enum Loss {
    /// The connection breaks.
    Cut,
    /// The connection stays open, but does not transfer answers any more.
    Silence,
}

/// A proxy in front of a Redis server. Clones share its state.
#[derive(Clone)]
pub(super) struct Proxy(Arc<State>);

struct State {
    port: u16,
    loss: Loss,
    is_armed: AtomicBool,
    /// Notified when an answer was lost.
    lost: Notify,
    /// One permit for each connection that may be made.
    gate: Semaphore,
}

impl Proxy {
    /// Forwards the first connection. A further one needs a call of [`open`](Self::open).
    pub(super) async fn before(server: u16, loss: Loss) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (is_armed, lost) = (AtomicBool::new(false), Notify::new());
        let state = State { port, loss, is_armed, lost, gate: Semaphore::new(1) };
        let proxy = Self(Arc::new(state));
        let shared = proxy.clone();
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                shared.0.gate.acquire().await.unwrap().forget();
                let server = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
                shared.clone().join(client, server);
            }
        });
        proxy
    }

    pub(super) fn port(&self) -> u16 {
        self.0.port
    }

    /// Loses the answer to the next script, after the server has run it.
    pub(super) fn lose_next_answer(&self) {
        self.0.is_armed.store(true, Ordering::SeqCst);
    }

    /// Waits until the answer was lost.
    pub(super) async fn lost(&self) {
        self.0.lost.notified().await;
    }

    /// Permits one more connection.
    pub(super) fn open(&self) {
        self.0.gate.add_permits(1);
    }

    fn join(self, client: TcpStream, server: TcpStream) {
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let is_doomed = Arc::new(AtomicBool::new(false));
        tokio::spawn(self.clone().requests(from_client, to_server, Arc::clone(&is_doomed)));
        tokio::spawn(self.answers(from_server, to_client, is_doomed));
    }

    async fn requests(
        self,
        mut from: OwnedReadHalf,
        mut to: OwnedWriteHalf,
        doom: Arc<AtomicBool>,
    ) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from.read(&mut buffer).await {
            let request = &buffer[..length];
            let is_script = request.windows(7).any(|word| word == b"EVALSHA");
            if is_script && self.0.is_armed.swap(false, Ordering::SeqCst) {
                doom.store(true, Ordering::SeqCst);
            }
            to.write_all(request).await.unwrap();
        }
    }

    async fn answers(self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf, doom: Arc<AtomicBool>) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from.read(&mut buffer).await {
            if doom.load(Ordering::SeqCst) {
                self.0.lost.notify_one();
                match self.0.loss {
                    Loss::Cut => return,
                    Loss::Silence => continue,
                }
            }
            if to.write_all(&buffer[..length]).await.is_err() {
                return;
            }
        }
    }
}

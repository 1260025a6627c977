//! A proxy that breaks a connection at a given point.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

/// The operation code of a batch.
const BATCH: u8 = 0x0D;

/// A proxy between a driver and a node.
pub(crate) struct Proxy {
    pub(crate) address: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    when: AtomicU8,
    /// Notified when a connection is about to be cut.
    reached: Notify,
    /// Notified when the connection may be cut.
    released: Notify,
    batches: Mutex<u32>,
    is_refusing: AtomicBool,
}

/// The point at which the connection of the next batch is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Cut {
    /// The node does not receive the batch.
    BeforeRequest = 1,
    /// The node has applied the batch, but the answer is lost.
    BeforeAnswer = 2,
}

impl Proxy {
    pub(crate) async fn to(node: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared::default());
        let state = shared.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if state.is_refusing.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(&node).await else { continue };
                tokio::spawn(connection(client, server, state.clone()));
            }
        });
        Self { address, shared }
    }

    /// Cuts the connection of the next batch.
    pub(crate) fn cut(&self, when: Cut) {
        self.shared.when.store(when as u8, Ordering::SeqCst);
        self.shared.released.notify_one();
    }

    /// Like [`cut`](Self::cut), but the connection hangs until [`release`](Self::release) is called.
    pub(crate) fn hold(&self, when: Cut) {
        self.shared.when.store(when as u8, Ordering::SeqCst);
    }

    pub(crate) async fn reached(&self) {
        self.shared.reached.notified().await;
    }

    pub(crate) fn release(&self) {
        self.shared.released.notify_one();
    }

    /// Closes new connections at once.
    pub(crate) fn refuse(&self) {
        self.shared.is_refusing.store(true, Ordering::SeqCst);
    }

    /// Returns the number of batches that the driver has sent.
    pub(crate) fn batches(&self) -> u32 {
        *self.shared.batches.lock().unwrap()
    }
}

async fn connection(client: TcpStream, server: TcpStream, shared: Arc<Shared>) {
    let ((from_client, to_client), (from_server, to_server)) =
        (client.into_split(), server.into_split());
    let (doomed, watched) = watch::channel(false);
    // The connection closes when one direction ends, because all halves are dropped.
    tokio::select! {
        () = requests(from_client, to_server, &shared, doomed) => {}
        () = answers(from_server, to_client, &shared, watched) => {}
    }
}

async fn requests(
    mut client: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    shared: &Shared,
    doomed: watch::Sender<bool>,
) {
    loop {
        let mut head = [0; 9];
        if client.read_exact(&mut head).await.is_err() {
            return;
        }
        let length = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let mut body = vec![0; length as usize];
        if client.read_exact(&mut body).await.is_err() {
            return;
        }
        if head[4] == BATCH {
            *shared.batches.lock().unwrap() += 1;
            match shared.when.swap(0, Ordering::SeqCst) {
                0 => {}
                1 => {
                    shared.reached.notify_one();
                    shared.released.notified().await;
                    return;
                }
                _ => doomed.send(true).unwrap(),
            }
        }
        if server.write_all(&head).await.is_err() || server.write_all(&body).await.is_err() {
            return;
        }
    }
}

async fn answers(
    mut server: OwnedReadHalf,
    mut client: OwnedWriteHalf,
    shared: &Shared,
    doomed: watch::Receiver<bool>,
) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let Ok(length @ 1..) = server.read(&mut buffer).await else { return };
        if *doomed.borrow() {
            shared.reached.notify_one();
            shared.released.notified().await;
            return;
        }
        if client.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

//! A proxy that breaks a connection at a given point.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

/// The operation code of a batch.
const BATCH: u8 = 0x0D;

/// The operation code of a result.
const RESULT: u8 = 0x08;

/// The kind of a result without rows.
const VOID: [u8; 4] = [0, 0, 0, 1];

/// Length of the header of a frame, which ends with the length of the body.
const HEADER: usize = 9;

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
    /// The node has applied the batch, but the answer has no rows.
    AfterUnreadableAnswer = 3,
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
    let (doomed, watched) = watch::channel(None);
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
    doomed: watch::Sender<Option<(Stream, Cut)>>,
) {
    while let Some(frame) = read_frame(&mut client).await {
        if frame[4] == BATCH {
            *shared.batches.lock().unwrap() += 1;
            match shared.when.swap(0, Ordering::SeqCst) {
                0 => {}
                1 => {
                    shared.reached.notify_one();
                    shared.released.notified().await;
                    return;
                }
                2 => doomed.send(Some((stream(&frame), Cut::BeforeAnswer))).unwrap(),
                _ => doomed.send(Some((stream(&frame), Cut::AfterUnreadableAnswer))).unwrap(),
            }
        }
        if server.write_all(&frame).await.is_err() {
            return;
        }
    }
}

async fn answers(
    mut server: OwnedReadHalf,
    mut client: OwnedWriteHalf,
    shared: &Shared,
    doomed: watch::Receiver<Option<(Stream, Cut)>>,
) {
    while let Some(mut frame) = read_frame(&mut server).await {
        let cut = doomed.borrow().filter(|(batch, _)| *batch == stream(&frame));
        if let Some((_, when)) = cut {
            shared.reached.notify_one();
            shared.released.notified().await;
            if when == Cut::AfterUnreadableAnswer {
                (frame[1], frame[4]) = (0, RESULT);
                frame.splice(5.., [[0, 0, 0, 4], VOID].concat());
                let _ = client.write_all(&frame).await;
            }
            return;
        }
        if client.write_all(&frame).await.is_err() {
            return;
        }
    }
}

/// Reads a header and its body. Returns `None` at the end of the connection.
async fn read_frame(from: &mut OwnedReadHalf) -> Option<Vec<u8>> {
    let mut frame = vec![0; HEADER];
    from.read_exact(&mut frame).await.ok()?;
    let length = u32::from_be_bytes([frame[5], frame[6], frame[7], frame[8]]);
    frame.resize(HEADER + length as usize, 0);
    from.read_exact(&mut frame[HEADER..]).await.ok()?;
    Some(frame)
}

/// The number that a request and its answer share.
type Stream = [u8; 2];

fn stream(frame: &[u8]) -> Stream {
    [frame[2], frame[3]]
}

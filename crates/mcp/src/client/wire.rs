//! A transport that records the requests that were handed to it.

use super::user_wait::UserWait;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The state of a transport, for the callers of its connection.
#[derive(Debug, Default)]
pub(super) struct Wire {
    sent: Mutex<HashSet<RequestId>>,
    is_closed: AtomicBool,
}

/// A transport that records sent requests and its end, and that ends the probe for the era of a server.
///
/// A request that was never handed to the transport cannot have reached the server, so that it may be sent again.
pub(super) struct RecordedTransport<T> {
    transport: T,
    wire: Arc<Wire>,
    probe: Probe,
    user_wait: UserWait,
}

/// The probe for the era of a server: a request that legacy servers reject, or never answer.
enum Probe {
    Limited(Duration),
    Sent {
        id: RequestId,
        timeout: Duration,
        until: Instant,
    },
    /// The late answer has to be dropped, because the handshake expects another one.
    Expired {
        id: RequestId,
    },
    Done,
}

impl Wire {
    /// Returns `true` if the request may have reached the server.
    pub(super) fn has_sent(&self, id: &RequestId) -> bool {
        self.sent().contains(id)
    }

    pub(super) fn forget(&self, id: &RequestId) {
        self.sent().remove(id);
    }

    /// Returns `true` if the server has closed the connection.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    fn sent(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> RecordedTransport<T> {
    /// `probe_timeout` limits the answer to a probe, if there is one.
    pub(super) fn new(
        transport: T,
        wire: Arc<Wire>,
        probe_timeout: Option<Duration>,
        user_wait: UserWait,
    ) -> Self {
        let probe = probe_timeout.map_or(Probe::Done, Probe::Limited);
        Self { transport, wire, probe, user_wait }
    }

    /// Returns `true` for the late answer to an expired probe.
    fn is_late(&self, message: &ServerJsonRpcMessage) -> bool {
        let Probe::Expired { id } = &self.probe else { return false };
        answered_id(message) == Some(id)
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for RecordedTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &item {
            match (&request.request, &self.probe) {
                (ClientRequest::DiscoverRequest(_), Probe::Limited(timeout)) => {
                    let (id, timeout) = (request.id.clone(), *timeout);
                    self.probe = Probe::Sent { id, timeout, until: Instant::now() + timeout };
                }
                (ClientRequest::CallToolRequest(_), _) => {
                    self.wire.sent().insert(request.id.clone());
                }
                _ => {}
            }
        }
        self.transport.send(item)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let message = match &self.probe {
                Probe::Sent { id, timeout, until } => {
                    let Ok(message) = timeout_at(*until, self.transport.receive()).await else {
                        let (id, timeout) = (id.clone(), *timeout);
                        if self.user_wait.is_open() {
                            self.probe =
                                Probe::Sent { id, timeout, until: Instant::now() + timeout };
                            continue;
                        }
                        self.probe = Probe::Expired { id: id.clone() };
                        let error =
                            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "no answer in time", None);
                        return Some(ServerJsonRpcMessage::error(error, Some(id)));
                    };
                    if message.as_ref().and_then(answered_id) == Some(id) {
                        self.probe = Probe::Done;
                    }
                    message
                }
                Probe::Limited(_) | Probe::Expired { .. } | Probe::Done => {
                    self.transport.receive().await
                }
            };
            match message {
                Some(message) if self.is_late(&message) => self.probe = Probe::Done,
                Some(message) => return Some(message),
                None => {
                    self.wire.is_closed.store(true, Ordering::Release);
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.wire.is_closed.store(true, Ordering::Release);
        self.transport.close().await
    }
}

fn answered_id(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

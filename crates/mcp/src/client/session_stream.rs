//! The stream of a session, on which a server sends what does not belong to a request of the client.

use rmcp::transport::streamable_http_client::StreamableHttpPostResponse;
use std::time::Duration;
use tokio::sync::watch;

/// Longest wait for the stream. Some servers answer the request for it with their first event.
const OPENING_TIMEOUT: Duration = Duration::from_secs(1);

/// Knows whether the request for the stream has been answered.
///
/// The transport opens the stream beside the first requests. A server that asks the user on a stream that is not open
/// loses its question, so a connection is in use only when the server has answered.
#[derive(Clone, Debug)]
pub(super) struct SessionStream(watch::Sender<State>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is no session.
    None,
    /// The server has created a session, and the transport asks for its stream.
    Opening,
    /// The server has opened the stream, or refused it.
    Answered,
    /// The server does not know the session any longer.
    Lost,
}

impl SessionStream {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(State::None))
    }

    /// Notes the session that an answer creates.
    pub(super) fn note(&self, response: &StreamableHttpPostResponse) {
        use StreamableHttpPostResponse::{Json, Sse};
        if let Json(_, Some(_)) | Sse(_, Some(_)) = response {
            self.0.send_if_modified(|state| {
                let is_first = *state == State::None;
                if is_first {
                    *state = State::Opening;
                }
                is_first
            });
        }
    }

    pub(super) fn set_answered(&self) {
        self.0.send_if_modified(|state| {
            let is_known = *state != State::Lost;
            if is_known {
                *state = State::Answered;
            }
            is_known
        });
    }

    pub(super) fn set_lost(&self) {
        self.0.send_replace(State::Lost);
    }

    /// Returns `true` if the server does not know the session any longer.
    pub(super) fn is_lost(&self) -> bool {
        *self.0.borrow() == State::Lost
    }

    /// Waits for the answer if there is a session.
    pub(super) async fn opened(&self) {
        let mut states = self.0.subscribe();
        let answered = states.wait_for(|state| *state != State::Opening);
        if tokio::time::timeout(OPENING_TIMEOUT, answered).await.is_err() {
            tracing::debug!("an MCP server has not opened the stream of its session");
        }
    }
}

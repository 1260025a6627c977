//! The HTTP sessions of earlier revisions of the protocol.

use ai_services_core::memory::MemoryId;
use futures_util::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::WorkerTransport;
use rmcp::transport::common::server_side_http::{ServerSseMessage, SessionId};
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Largest number of sessions. A session ends after 5 minutes without a request.
const MAX_SESSIONS: usize = 10_000;

tokio::task_local! {
    /// The caller of the HTTP request that is handled.
    pub(super) static CALLER: Option<MemoryId>;
}

/// Keeps the sessions, each for the caller that opened it.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    sessions: LocalSessionManager,
    owners: Mutex<HashMap<SessionId, Option<MemoryId>>>,
}

/// The error of a session.
#[derive(Debug)]
pub(super) enum SessionError {
    TooMany,
    Local(LocalSessionManagerError),
}

impl Sessions {
    fn owners(&self) -> MutexGuard<'_, HashMap<SessionId, Option<MemoryId>>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a session. Returns `false` if others have taken the last place meanwhile.
    fn insert(&self, id: &SessionId, caller: Option<MemoryId>) -> bool {
        let mut owners = self.owners();
        let has_room = owners.len() < MAX_SESSIONS;
        if has_room {
            owners.insert(id.clone(), caller);
        }
        has_room
    }

    /// Returns `true` if the session belongs to another caller. The server itself may use each session.
    fn is_foreign(&self, id: &SessionId) -> bool {
        let owners = self.owners();
        let is_other =
            |caller: &Option<MemoryId>| owners.get(id).is_some_and(|owner| owner != caller);
        CALLER.try_with(is_other).unwrap_or(false)
    }
}

impl SessionManager for Sessions {
    type Error = SessionError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionError> {
        if self.owners().len() >= MAX_SESSIONS {
            return Err(SessionError::TooMany);
        }
        let (id, transport) = self.sessions.create_session().await?;
        let caller = CALLER.try_with(Clone::clone).unwrap_or_default();
        if self.insert(&id, caller) {
            return Ok((id, transport));
        }
        self.sessions.close_session(&id).await?;
        Err(SessionError::TooMany)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        Ok(self.sessions.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(!self.is_foreign(id) && self.sessions.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        if self.is_foreign(id) {
            return Ok(());
        }
        self.owners().remove(id);
        Ok(self.sessions.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        Ok(self.sessions.create_stream(id, message).await?)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionError> {
        Ok(self.sessions.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        Ok(self.sessions.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        Ok(self.sessions.resume(id, last_event_id).await?)
    }
}

impl From<LocalSessionManagerError> for SessionError {
    fn from(error: LocalSessionManagerError) -> Self {
        Self::Local(error)
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "too many sessions; at most {MAX_SESSIONS} are open"),
            Self::Local(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SessionError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sessions_are_limited_and_a_closed_one_makes_room() {
        let sessions = Sessions::default();
        let mut open = Vec::with_capacity(MAX_SESSIONS);
        for _ in 0..MAX_SESSIONS {
            open.push(sessions.create_session().await.unwrap());
        }
        let Err(error) = sessions.create_session().await else { panic!("one session too many") };
        assert_eq!(error.to_string(), "too many sessions; at most 10000 are open");
        assert!(!sessions.insert(&"another".into(), None));
        sessions.close_session(&open[0].0).await.unwrap();
        let (id, _transport) = sessions.create_session().await.unwrap();
        assert!(sessions.has_session(&id).await.unwrap());
        assert!(!sessions.has_session(&open[0].0).await.unwrap());
    }
}

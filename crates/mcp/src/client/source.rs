//! One server, as its tools share it.

use super::link::Link;
use super::remote_server::RemoteServer;
use tokio::sync::Semaphore;

/// The link to one server, and the limit of its calls.
pub(super) struct Source {
    pub(super) link: Link,
    pub(super) calls: Semaphore,
}

impl Source {
    pub(super) fn new(server: RemoteServer) -> Self {
        let calls = Semaphore::new(server.max_concurrent_calls.min(Semaphore::MAX_PERMITS));
        Self { link: Link::new(server), calls }
    }
}

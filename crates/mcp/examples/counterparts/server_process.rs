//! The processes of servers: started, stopped and killed.

use crate::Outcome;
use crate::installed::{Installed, Transport};
use ai_services::mcp::{Era, RemoteServer};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};

/// A server, as a child process of the connection or over HTTP.
pub(crate) struct ServerProcess {
    pub(crate) remote: RemoteServer,
    process_id: PathBuf,
    _http: Option<Child>,
}

impl ServerProcess {
    pub(crate) async fn start(
        installed: &Installed,
        command: &[String],
        era: Era,
        work: &Path,
    ) -> Outcome<Self> {
        let process_id = work.join("process_id");
        if installed.transport == Transport::Stdio {
            let remote = installed.stdio(command, &process_id).era(era);
            return Ok(Self { remote, process_id, _http: None });
        }
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let (program, arguments) = command.split_first().ok_or("no command")?;
        let child = Command::new(program)
            .args(arguments)
            .arg("streamableHttp")
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        std::fs::write(&process_id, child.id().ok_or("the server has ended")?.to_string())?;
        until("the server listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok())
            .await?;
        let remote = RemoteServer::http("s", format!("http://127.0.0.1:{port}/mcp")).era(era);
        Ok(Self { remote, process_id, _http: Some(child) })
    }

    /// Sends a signal to the server.
    pub(crate) async fn signal(&self, signal: &str) -> Outcome {
        let process_id = std::fs::read_to_string(&self.process_id)?;
        let status = Command::new("kill").args([signal, process_id.trim()]).status().await?;
        status.success().then_some(()).ok_or_else(|| "the server has ended".into())
    }
}

/// Waits for a condition, at most 30 seconds.
pub(crate) async fn until(condition: &str, mut holds: impl FnMut() -> bool) -> Outcome {
    for _ in 0..600 {
        if holds() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(format!("after 30 seconds not true: {condition}").into())
}

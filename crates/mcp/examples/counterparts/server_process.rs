//! The processes of servers: started, stopped, killed and replaced.

use crate::Outcome;
use crate::installed::{Installed, Transport, text};
use ai_services::mcp::{Era, RemoteServer};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};

/// A server, as a child process of the connection or over HTTP.
pub(crate) struct ServerProcess {
    pub(crate) remote: RemoteServer,
    /// A file with the process id.
    process_id: PathBuf,
    /// A file with the shell command that starts a server over stdio.
    command: PathBuf,
    http: Option<HttpProcess>,
}

struct HttpProcess {
    port: u16,
    child: Child,
}

impl ServerProcess {
    pub(crate) async fn start(installed: &Installed, era: Era, work: &Path) -> Outcome<Self> {
        let (process_id, file) = (work.join("process_id"), work.join("command"));
        let (remote, http) = match installed.transport {
            Transport::Stdio => {
                let script = "echo $$ > \"$0\"; . \"$1\"";
                let remote = RemoteServer::stdio("s", "sh");
                (remote.args(["-c", script, &text(&process_id), &text(&file)]), None)
            }
            Transport::Http => {
                let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
                let remote = RemoteServer::http("s", format!("http://127.0.0.1:{port}/mcp"));
                let child = listening(&installed.command, port).await?;
                (remote, Some(HttpProcess { port, child }))
            }
        };
        let mut process = Self { remote: remote.era(era), process_id, command: file, http };
        process.write_files(&installed.command)?;
        Ok(process)
    }

    /// Kills the server, and makes the next connection reach another one.
    pub(crate) async fn replace(&mut self, command: &[String]) -> Outcome {
        self.signal("-KILL").await?;
        if let Some(http) = &mut self.http {
            http.child.wait().await?;
            http.child = listening(command, http.port).await?;
        } else {
            // The client reaps its child process when it has noticed the end of the connection.
            until("the server has ended", async || self.signal("-0").await.is_err()).await?;
        }
        self.write_files(command)
    }

    fn write_files(&mut self, command: &[String]) -> Outcome {
        let quoted = command.iter().map(|part| format!("'{part}'")).collect::<Vec<_>>();
        std::fs::write(&self.command, format!("exec {}\n", quoted.join(" ")))?;
        if let Some(http) = &self.http {
            let process_id = http.child.id().ok_or("the server has ended")?;
            std::fs::write(&self.process_id, process_id.to_string())?;
        }
        Ok(())
    }

    /// Sends a signal to the server.
    pub(crate) async fn signal(&self, signal: &str) -> Outcome {
        let process_id = std::fs::read_to_string(&self.process_id)?;
        let mut kill = Command::new("kill");
        // The error output of a signal that only asks whether the process lives is noise.
        let kill = kill.args([signal, process_id.trim()]).stderr(Stdio::null());
        let status = kill.status().await?;
        status.success().then_some(()).ok_or_else(|| "the server has ended".into())
    }
}

/// Starts a server over HTTP, and waits until it listens, at most 30 seconds.
async fn listening(command: &[String], port: u16) -> Outcome<Child> {
    let (program, arguments) = command.split_first().ok_or("no command")?;
    let child = Command::new(program)
        .args(arguments)
        .env("PORT", port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    until("the server listens", async || TcpStream::connect(("127.0.0.1", port)).is_ok()).await?;
    Ok(child)
}

/// Waits for a condition, at most 30 seconds.
async fn until(condition: &str, holds: impl AsyncFn() -> bool) -> Outcome {
    for _ in 0..600 {
        if holds().await {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(format!("after 30 seconds not true: {condition}").into())
}

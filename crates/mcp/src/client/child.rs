//! Servers that are child processes.

use super::endpoint::Program;
use crate::message_limit::{FilteredLines, MAX_MESSAGE_BYTES};
use process_wrap::tokio::{ChildWrapper, CommandWrap};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use std::ffi::OsString;
use std::io::{Error, Result};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// The environment variables that every server gets.
const INHERITED: &[&str] = if cfg!(windows) {
    &["APPDATA", "LOCALAPPDATA", "PATH", "SYSTEMROOT", "TEMP", "USERPROFILE"]
} else {
    &["HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ", "USER"]
};

/// Time for a server to end after its input was closed.
const GRACE: Duration = Duration::from_secs(1);

/// Time for the error output of a server whose output has ended, which may name the reason.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Most bytes that are kept of the error output.
const MAX_STDERR: usize = 400;

/// The end of the error output of a server.
pub(super) type StderrTail = Arc<Mutex<Vec<u8>>>;

/// The transport over the standard input and output of a child process.
///
/// Dropping it kills the process group. The runtime reaps the process.
pub(super) struct ChildTransport {
    child: Box<dyn ChildWrapper>,
    has_ended: bool,
    /// Gives no answer to a call whose answer is too large.
    messages: AsyncRwTransport<RoleClient, FilteredLines<ChildStdout>, ChildStdin>,
    stderr: Option<ChildStderr>,
    tail: StderrTail,
}

impl ChildTransport {
    /// Starts the program, in a process group of its own.
    pub(super) fn start(program: &Program) -> Result<Self> {
        let mut command = CommandWrap::from(command(program));
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        let mut child = command.spawn()?;
        let pipes = (child.stdout().take(), child.stdin().take(), child.stderr().take());
        let (Some(stdout), Some(stdin), stderr) = pipes else {
            return Err(Error::other("the child process has no pipes"));
        };
        let lines = FilteredLines::new(stdout, MAX_MESSAGE_BYTES);
        let messages = AsyncRwTransport::new_client(lines, stdin).with_max_line_length(usize::MAX);
        Ok(Self { child, has_ended: false, messages, stderr, tail: StderrTail::default() })
    }

    /// Returns the end of the error output, which is updated while messages are received.
    pub(super) fn stderr_tail(&self) -> StderrTail {
        Arc::clone(&self.tail)
    }

    /// Kills the process group, also the children of a process that has ended.
    fn kill(&mut self) {
        // Fails if no process is left.
        let _ = self.child.start_kill();
    }
}

impl Transport<RoleClient> for ChildTransport {
    type Error = Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<()>> + Send + 'static {
        self.messages.send(item)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        // Both reads are cancel-safe. A server with a full error pipe would stop.
        let mut buffer = [0; 1024];
        while let Some(stderr) = &mut self.stderr {
            tokio::select! {
                biased;
                read = stderr.read(&mut buffer) => match read {
                    Ok(length @ 1..) => keep_tail(&self.tail, buffer.get(..length).unwrap_or_default()),
                    Ok(0) | Err(_) => self.stderr = None,
                },
                message = self.messages.receive() => {
                    if message.is_none() {
                        let _ = timeout(LAST_WORDS, read_tail(stderr, &self.tail)).await;
                    }
                    return message;
                }
            }
        }
        self.messages.receive().await
    }

    async fn close(&mut self) -> Result<()> {
        self.messages.close().await?;
        // Only of the process itself: one of its children may live longer.
        let _ = timeout(GRACE, self.child.inner_mut().wait()).await;
        self.kill();
        self.has_ended = timeout(GRACE, self.child.inner_mut().wait()).await.is_ok();
        Ok(())
    }
}

impl Drop for ChildTransport {
    fn drop(&mut self) {
        if !self.has_ended {
            self.kill();
        }
    }
}

fn command(program: &Program) -> Command {
    let mut command = Command::new(&program.program);
    command.args(&program.args).env_clear().kill_on_drop(true);
    let allowed = INHERITED.iter().map(OsString::from);
    for name in allowed.chain(program.inherited_env.iter().cloned()) {
        if let Some(value) = std::env::var_os(&name) {
            command.env(name, value);
        }
    }
    command.envs(&program.env);
    if let Some(directory) = &program.working_directory {
        command.current_dir(directory);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Reads the error output until its end.
async fn read_tail(stderr: &mut ChildStderr, tail: &StderrTail) {
    let mut buffer = [0; 1024];
    while let Ok(length @ 1..) = stderr.read(&mut buffer).await {
        keep_tail(tail, buffer.get(..length).unwrap_or_default());
    }
}

fn keep_tail(tail: &StderrTail, bytes: &[u8]) {
    let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
    tail.extend_from_slice(bytes);
    let surplus = tail.len().saturating_sub(MAX_STDERR);
    tail.drain(..surplus);
}

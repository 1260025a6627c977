//! The checks of the client against the servers of other projects.

use crate::Outcome;
use crate::agent::{call, listed};
use crate::installed::{Installed, Probe, Transport, all};
use crate::server_process::ServerProcess;
use ai_services::ErrorKind;
use ai_services::mcp::{Era, McpPins, McpTools, STRUCTURED_CONTENT};
use ai_services::message::Content;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The start of an image.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// Checks all servers in the folder.
pub(crate) async fn run(folder: &Path) -> Outcome {
    let work = tempfile::tempdir()?;
    std::fs::write(work.path().join("note.txt"), "hello")?;
    std::fs::write(work.path().join("pixel.png"), PNG)?;
    let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(&work).status()?;
    git.success().then_some(()).ok_or("git init failed")?;
    // A place outside the repository.
    let scratch = tempfile::tempdir()?;
    for installed in all(folder, work.path()) {
        for era in installed.eras {
            Checks { installed: &installed, era: *era, work: scratch.path() }.run().await;
        }
    }
    Ok(())
}

/// The checks of one server in one era.
struct Checks<'a> {
    installed: &'a Installed,
    era: Era,
    work: &'a Path,
}

impl Checks<'_> {
    async fn run(&self) {
        let installed = self.installed;
        self.report("list", self.list()).await;
        self.report("call", self.succeeds(&installed.call)).await;
        self.report("error", self.error()).await;
        if let Some(probe) = &installed.image {
            self.report("image", self.image(probe)).await;
        }
        if let Some(probe) = &installed.structured {
            self.report("structured", self.structured(probe)).await;
        }
        if let Some(probe) = &installed.progress {
            self.report("progress", self.progress(probe)).await;
        }
        match (&installed.endless, &installed.progress) {
            (Some((endless, confirmation)), _) => {
                self.report("cancel", self.cancel_confirmed(endless, confirmation)).await;
            }
            (None, Some(probe)) => self.report("cancel", self.cancel_after_progress(probe)).await,
            (None, None) => self.report("cancel", self.cancel_unanswered()).await,
        }
        self.report("killed", self.killed()).await;
        self.report("replaced", self.replaced()).await;
    }

    /// Prints a line about the check.
    async fn report(&self, check: &str, outcome: impl Future<Output = Outcome>) {
        let over = match self.installed.transport {
            Transport::Stdio => "stdio",
            Transport::Http => "http",
        };
        let era = match self.era {
            Era::Modern => "2026-07-28",
            _ => "2025-11-25",
        };
        let limit = Duration::from_secs(60);
        let outcome = match tokio::time::timeout(limit, outcome).await {
            Ok(Ok(())) => "ok".to_owned(),
            Ok(Err(error)) => error.to_string().replace(['\n', '\t'], " "),
            Err(_) => "no end after 60 seconds".to_owned(),
        };
        println!("server {} {over} {era}\t{check}\t{outcome}", self.installed.name);
    }

    async fn start(&self) -> Outcome<(ServerProcess, McpTools)> {
        let process = ServerProcess::start(self.installed, self.era, self.work).await?;
        let tools = McpTools::builder().server(process.remote.clone()).build().await?;
        Ok((process, tools))
    }

    async fn list(&self) -> Outcome {
        let (_process, tools) = self.start().await?;
        let name = format!("s__{}", self.installed.call.tool);
        let is_listed = tools.tools().iter().any(|tool| tool.name() == name);
        is_listed.then_some(()).ok_or_else(|| format!("`{name}` is not listed").into())
    }

    async fn succeeds(&self, probe: &Probe) -> Outcome {
        let (_process, tools) = self.start().await?;
        call(&tools, probe, || ()).await?.succeeds(probe.answer)
    }

    async fn error(&self) -> Outcome {
        let (_process, tools) = self.start().await?;
        let probe = &self.installed.error;
        let received = call(&tools, probe, || ()).await?;
        let is_error = received.result.is_error() && !received.is_unknown;
        let is_expected = is_error && received.texts().contains(probe.answer);
        is_expected.then_some(()).ok_or_else(|| format!("not the error: {received:?}").into())
    }

    async fn image(&self, probe: &Probe) -> Outcome {
        let (_process, tools) = self.start().await?;
        let received = call(&tools, probe, || ()).await?;
        received.succeeds(probe.answer)?;
        let mut contents = received.result.contents().iter();
        let has_image = contents.any(|content| matches!(content, Content::Image(_)));
        has_image.then_some(()).ok_or_else(|| format!("no image: {received:?}").into())
    }

    async fn structured(&self, probe: &Probe) -> Outcome {
        let (_process, tools) = self.start().await?;
        let received = call(&tools, probe, || ()).await?;
        received.succeeds(probe.answer)?;
        let content = received.result.attributes().and_then(|all| all.get(STRUCTURED_CONTENT));
        let has_member = content.is_some_and(|content| content.get(probe.answer).is_some());
        has_member.then_some(()).ok_or_else(|| format!("not structured: {received:?}").into())
    }

    async fn progress(&self, probe: &Probe) -> Outcome {
        let (_process, tools) = self.start().await?;
        let reports = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&reports);
        let received = call(&tools, probe, move || {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        received.await?.succeeds(probe.answer)?;
        let reports = reports.load(Ordering::SeqCst);
        (reports >= 3).then_some(()).ok_or_else(|| format!("{reports} reports").into())
    }

    /// Drops a call that runs. The connection remains usable.
    async fn cancel_after_progress(&self, probe: &Probe) -> Outcome {
        let (_process, tools) = self.start().await?;
        drop_after_progress(&tools, probe).await?;
        call(&tools, &self.installed.call, || ()).await?.succeeds(self.installed.call.answer)
    }

    /// Drops a call that runs. The server notices it.
    async fn cancel_confirmed(&self, endless: &Probe, confirmation: &Probe) -> Outcome {
        let (_process, tools) = self.start().await?;
        drop_after_progress(&tools, endless).await?;
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            let confirmed = call(&tools, confirmation, || ()).await?.succeeds(confirmation.answer);
            if confirmed.is_ok() || Instant::now() > end {
                return confirmed;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Drops a call that the server has not read yet. The connection remains usable.
    async fn cancel_unanswered(&self) -> Outcome {
        let (process, tools) = self.start().await?;
        let probe = &self.installed.call;
        process.signal("-STOP").await?;
        let dropped = tokio::time::timeout(Duration::from_millis(300), call(&tools, probe, || ()));
        let is_unanswered = dropped.await.is_err();
        process.signal("-CONT").await?;
        is_unanswered.then_some(()).ok_or("a stopped server has answered")?;
        call(&tools, probe, || ()).await?.succeeds(probe.answer)
    }

    /// Kills the server while it has a call: the outcome is unknown. A call of the server that is started again works.
    async fn killed(&self) -> Outcome {
        let (mut process, tools) = self.start().await?;
        let received = match (&self.installed.endless, &self.installed.progress) {
            (Some((probe, _)), _) | (None, Some(probe)) => {
                let started = Arc::new(tokio::sync::Notify::new());
                let notifier = Arc::clone(&started);
                let kill = async {
                    started.notified().await;
                    process.replace(&self.installed.command).await
                };
                let calling = call(&tools, probe, move || notifier.notify_one());
                let (received, killed) = tokio::join!(calling, kill);
                killed?;
                received?
            }
            (None, None) => {
                process.signal("-STOP").await?;
                let kill = async {
                    // The server has no way to report that the call has arrived.
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    process.replace(&self.installed.command).await
                };
                let (received, killed) =
                    tokio::join!(call(&tools, &self.installed.call, || ()), kill);
                killed?;
                received?
            }
        };
        let is_expected = received.is_unknown && received.texts().starts_with("outcome unknown: ");
        is_expected.then_some(()).ok_or_else(|| format!("not unknown: {received:?}"))?;
        let probe = &self.installed.call;
        call(&tools, probe, || ()).await?.succeeds(probe.answer)
    }

    /// Replaces the server by another version, whose tools differ from their pins, during a connection.
    async fn replaced(&self) -> Outcome {
        let pins = self.work.join(format!("pins-{}-{:?}.json", self.installed.name, self.era));
        let _ = std::fs::remove_file(&pins);
        let pinned = async |process: &ServerProcess, era: Era| {
            let builder = McpTools::builder().server(process.remote.clone().era(era));
            builder.pins(McpPins::file(&pins)).build().await
        };
        let mut process = ServerProcess::start(self.installed, self.era, self.work).await?;
        for _ in 0..2 {
            pinned(&process, self.era).await?;
        }
        // The other version may have one era only.
        let tools = pinned(&process, Era::Probe).await?;
        listed(&tools).await?;
        process.replace(&self.installed.other_version).await?;
        let received = call(&tools, &self.installed.call, || ()).await?;
        // A stateless server cannot be told from another one before its next list.
        let is_stateless = self.installed.transport == Transport::Http && self.era == Era::Modern;
        if !received.result.is_error() && !is_stateless {
            return Err(format!("a tool of another version was called: {received:?}").into());
        }
        let end = Instant::now() + Duration::from_secs(10);
        let mut outcome = listed(&tools).await;
        while outcome.is_ok() && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(50)).await;
            outcome = listed(&tools).await;
        }
        let outcomes = [
            ("connection", outcome),
            ("new connection", pinned(&process, Era::Probe).await.map(drop)),
        ];
        for (by, outcome) in outcomes {
            match outcome {
                Err(error) if error.kind() == ErrorKind::Configuration => {}
                Err(error) => return Err(error.into()),
                Ok(()) => return Err(format!("accepted by the {by}").into()),
            }
        }
        Ok(())
    }
}

/// Drops a call at its first report of progress.
async fn drop_after_progress(tools: &McpTools, probe: &Probe) -> Outcome {
    let started = Arc::new(tokio::sync::Notify::new());
    let notifier = Arc::clone(&started);
    tokio::select! {
        received = call(tools, probe, move || notifier.notify_one()) => {
            Err(format!("not cancelled: {received:?}").into())
        }
        () = started.notified() => Ok(()),
    }
}

//! The chat loop: turns, commands and their output.

use crate::assistant::AssistantService;
use crate::chat_totals::ChatTotals;
use crate::command::{Command, HELP};
use crate::input::{Input, InputLine};
use crate::records;
use crate::render::{chain, one_line, plain};
use crate::screen::Screen;
use crate::turn::{ChatOptions, ChatTurn, TurnOutcome};
use ai_services::memory::{ChatMemoryStore, ConversationStore, LeaseRequest, MemoryId};
use ai_services::message::ChatMessage;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of characters of a tool's arguments or result in `/memory`.
const MAX_SHOWN_CHARS: usize = 200;

/// Time limit for the release of a lease.
const LEASE_RELEASE_TIMEOUT: Duration = Duration::from_secs(1);

/// Exit code of a program that was stopped with Ctrl-C, by convention of the shell.
const EXIT_INTERRUPTED: u8 = 130;

/// A chat with the service: current user, known users and totals.
pub(crate) struct Chat {
    service: AssistantService,
    store: Arc<dyn ConversationStore>,
    options: ChatOptions,
    screen: Screen,
    user: String,
    /// Users of this session, including users without a message.
    users: BTreeSet<String>,
    totals: ChatTotals,
}

impl Chat {
    pub(crate) fn new(
        service: AssistantService,
        store: Arc<dyn ConversationStore>,
        options: ChatOptions,
        screen: Screen,
        user: String,
    ) -> Self {
        let users = BTreeSet::from([user.clone()]);
        Self { service, store, options, screen, user, users, totals: ChatTotals::default() }
    }

    /// Answers a single question and returns the exit code.
    pub(crate) async fn once(&mut self, question: &str) -> anyhow::Result<ExitCode> {
        match self.ask(question).await? {
            TurnOutcome::Answered(_) => Ok(ExitCode::SUCCESS),
            TurnOutcome::Cancelled(_) => Ok(ExitCode::from(EXIT_INTERRUPTED)),
            TurnOutcome::Failed(_) => Ok(ExitCode::FAILURE),
        }
    }

    /// Answers until the input ends. The exit code is a failure if a turn failed and the input is a pipe.
    pub(crate) async fn run(&mut self, mut input: Input) -> anyhow::Result<ExitCode> {
        if input.is_terminal() {
            self.screen.notice("/help lists the commands, Ctrl-D exits");
        }
        loop {
            let line = match input.next(&format!("{}> ", self.user)).await? {
                InputLine::Text(line) => line,
                InputLine::Cancelled => continue,
                InputLine::End => break,
            };
            match line.trim() {
                "" => {}
                command if command.starts_with('/') => match Command::read(command) {
                    Ok(Command::Quit) => break,
                    Ok(command) => self.run_command(command).await?,
                    Err(hint) => self.screen.notice(&hint),
                },
                question => drop(self.ask(question).await?),
            }
        }
        let is_silent_failure = self.totals.failed > 0 && !input.is_terminal();
        Ok(if is_silent_failure { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// Runs one turn, adds it to the totals and reports its outcome.
    async fn ask(&mut self, question: &str) -> io::Result<TurnOutcome> {
        let turn = ChatTurn::new(&self.service, self.options, &self.screen);
        let outcome = turn.ask(&self.user, question).await?;
        self.totals.add(&outcome);
        match &outcome {
            TurnOutcome::Answered(_) => return Ok(outcome),
            TurnOutcome::Cancelled(_) => self.screen.notice("turn cancelled"),
            TurnOutcome::Failed(error) => self.screen.notice(&format!("error: {}", chain(error))),
        }
        self.wait_for_lease_release().await;
        Ok(outcome)
    }

    /// Waits until the lease of a cancelled or failed turn was released in the background.
    ///
    /// The program may exit next, and another process would have to wait until an unreleased lease expires.
    async fn wait_for_lease_release(&self) {
        let store: Arc<dyn ChatMemoryStore> = self.store.clone();
        let id = MemoryId::from(&*self.user);
        let Some(request) = LeaseRequest::new(&store, &id) else { return };
        if let (Ok(lease), Some(leases)) =
            (request.wait(LEASE_RELEASE_TIMEOUT).await, store.leases())
        {
            // If the release fails, the lease expires.
            let _ = leases.release(&id, lease.token()).await;
        }
    }

    /// Runs a command and prints its output. An error is reported, and the chat continues.
    async fn run_command(&mut self, command: Command) -> io::Result<()> {
        match self.command_output(command).await {
            Ok(text) => print(&text),
            Err(error) => {
                self.totals.failed += 1;
                self.screen.notice(&format!("error: {}", chain(&error)));
                Ok(())
            }
        }
    }

    /// Runs a command and returns its output.
    async fn command_output(&mut self, command: Command) -> ai_services::Result<String> {
        Ok(match command {
            Command::User(name) => {
                self.users.insert(name.clone());
                self.user = name;
                format!("you are now {}", self.user)
            }
            Command::Users => self.users().await?,
            Command::Memory => self.memory().await?,
            Command::History => self.history().await?,
            Command::Forget => {
                self.service.chat_memory(&self.user)?.clear().await?;
                format!("deleted the conversation with {}", self.user)
            }
            Command::Usage => self.totals.to_string(),
            Command::Help | Command::Quit => HELP.to_owned(),
        })
    }

    /// Lists the users with stored conversations and the users of this session.
    async fn users(&self) -> ai_services::Result<String> {
        let mut users = self.users.clone();
        let stored = records::conversations(&*self.store).await?;
        users.extend(stored.into_iter().map(|conversation| conversation.id.to_string()));
        Ok(users.into_iter().collect::<Vec<_>>().join("\n"))
    }

    /// Lists all stored messages of the user, including evicted ones.
    async fn history(&self) -> ai_services::Result<String> {
        let entries = records::history(&*self.store, &self.user).await?;
        Ok(match entries.as_slice() {
            [] => self.no_messages(),
            entries => format_messages(entries.iter().map(|entry| &entry.message)),
        })
    }

    /// Lists the messages in the user's window.
    async fn memory(&self) -> ai_services::Result<String> {
        let messages = self.service.chat_memory(&self.user)?.messages().await?;
        Ok(match messages.as_slice() {
            [] => self.no_messages(),
            messages => format_messages(messages),
        })
    }

    fn no_messages(&self) -> String {
        format!("no messages stored for {}", self.user)
    }
}

fn format_messages<'a>(messages: impl IntoIterator<Item = &'a ChatMessage>) -> String {
    messages.into_iter().map(format_message).collect::<Vec<_>>().join("\n")
}

/// Formats a stored message.
fn format_message(message: &ChatMessage) -> String {
    let text = message.text().unwrap_or_default();
    match message {
        ChatMessage::User(_) => format!("user: {text}"),
        ChatMessage::Ai(ai) => {
            let mut lines = Vec::new();
            if !text.is_empty() {
                lines.push(format!("assistant: {text}"));
            }
            for call in ai.tool_calls() {
                lines.push(format!(
                    "→ {}({})",
                    call.name(),
                    one_line(call.arguments(), MAX_SHOWN_CHARS)
                ));
            }
            lines.join("\n")
        }
        ChatMessage::ToolResult(result) => {
            let mark = if result.is_error() { "✗" } else { "✓" };
            format!("  {mark} {}", one_line(text, MAX_SHOWN_CHARS))
        }
        _ => format!("system: {text}"),
    }
}

/// Prints the output of a command to standard output.
fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", plain(text))?;
    out.flush()
}

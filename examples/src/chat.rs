//! The chat loop: turns, commands and their output.

use crate::approval;
use crate::assistant::AssistantService;
use crate::chat_totals::ChatTotals;
use crate::command::{Command, HELP};
use crate::input::{Input, InputLine};
use crate::lease;
use crate::records;
use crate::render::{chain, plain};
use crate::screen::Screen;
use crate::transcript::format_messages;
use crate::turn::{ChatOptions, ChatTurn, TurnOutcome};
use ai_services::approval::PendingTurn;
use ai_services::memory::ConversationStore;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

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

    /// Answers a single question and returns the exit code. `input` is read for approvals.
    pub(crate) async fn once(
        &mut self,
        question: &str,
        mut input: Input,
    ) -> anyhow::Result<ExitCode> {
        match self.ask(question, &mut input).await? {
            TurnOutcome::Answered { .. } => Ok(ExitCode::SUCCESS),
            TurnOutcome::Suspended | TurnOutcome::Cancelled(_) => {
                Ok(ExitCode::from(EXIT_INTERRUPTED))
            }
            TurnOutcome::Failed(_) => Ok(ExitCode::FAILURE),
        }
    }

    /// Answers until the input ends. The exit code is a failure if a turn failed and the input is a pipe.
    pub(crate) async fn run(&mut self, mut input: Input) -> anyhow::Result<ExitCode> {
        if input.is_terminal() {
            self.screen.notice("/help lists the commands, Ctrl-D exits");
        }
        self.finish_open_turn(&mut input).await?;
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
                    Ok(command) => {
                        let is_other_user = matches!(command, Command::User(_));
                        self.run_command(command).await?;
                        if is_other_user {
                            self.finish_open_turn(&mut input).await?;
                        }
                    }
                    Err(hint) => self.screen.notice(&hint),
                },
                question => drop(self.ask(question, &mut input).await?),
            }
        }
        let is_silent_failure = self.totals.failed > 0 && !input.is_terminal();
        Ok(if is_silent_failure { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// Finishes the open turn, then runs one turn. If the open turn cannot be finished, the question is not asked.
    async fn ask(&mut self, question: &str, input: &mut Input) -> anyhow::Result<TurnOutcome> {
        match self.finish_open_turn(input).await? {
            None | Some(TurnOutcome::Answered { .. }) => {}
            Some(unfinished) => return Ok(unfinished),
        }
        let outcome = self.turn().ask(&self.user, question).await?;
        self.report(&outcome).await;
        match outcome {
            TurnOutcome::Suspended => {
                Ok(self.finish_open_turn(input).await?.unwrap_or(TurnOutcome::Suspended))
            }
            outcome => Ok(outcome),
        }
    }

    /// Finishes the open turn of the user: asks for approval, then goes on with the turn. Returns `None` if no turn
    /// is open, or if the assistant does not ask for approval.
    async fn finish_open_turn(&mut self, input: &mut Input) -> anyhow::Result<Option<TurnOutcome>> {
        if !self.options.asks_approval {
            return Ok(None);
        }
        loop {
            let outcome = match self.service.pending_turn(&self.user).await {
                Ok(None) => self.turn().resume(&self.user).await?,
                Ok(Some(pending)) => match self.decide(&pending, input).await? {
                    true => self.turn().resume(&self.user).await?,
                    false => return Ok(Some(TurnOutcome::Suspended)),
                },
                Err(error) => Some(error.into()),
            };
            match outcome {
                // The model called more tools.
                Some(TurnOutcome::Suspended) => {}
                None => return Ok(None),
                Some(outcome) => {
                    self.report(&outcome).await;
                    return Ok(Some(outcome));
                }
            }
        }
    }

    /// Asks for decisions and stores them. Returns `false` if a question is not answered.
    async fn decide(&self, pending: &PendingTurn, input: &mut Input) -> anyhow::Result<bool> {
        let Some(decisions) = approval::decisions(pending, input, &self.screen).await? else {
            self.screen.notice("the turn still waits for approval; /cancel ends it");
            return Ok(false);
        };
        if let Err(error) = pending.decide(&*self.store, decisions).await {
            // For example, another assistant was faster.
            self.screen.notice(&format!("error: {}", chain(&error)));
        }
        Ok(true)
    }

    fn turn(&self) -> ChatTurn<'_> {
        ChatTurn::new(&self.service, self.options, &self.screen)
    }

    /// Adds a turn to the totals and reports its outcome.
    async fn report(&mut self, outcome: &TurnOutcome) {
        self.totals.add(outcome);
        match outcome {
            TurnOutcome::Answered { .. } | TurnOutcome::Suspended => return,
            TurnOutcome::Cancelled(_) => self.screen.notice("turn cancelled"),
            TurnOutcome::Failed(error) => self.screen.notice(&format!("error: {}", chain(error))),
        }
        lease::wait_for_release(&self.store, &self.user).await;
        if self.options.asks_approval && matches!(outcome, TurnOutcome::Cancelled(_)) {
            self.cancel_open_turn().await;
        }
    }

    /// Ends the open turn, so that the next question does not go on with it.
    async fn cancel_open_turn(&self) {
        if let Err(error) = self.service.cancel_open_turn(&self.user).await {
            self.screen.notice(&format!("error: {}", chain(&error)));
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
            Command::Cancel => match self.service.cancel_open_turn(&self.user).await? {
                true => format!("ended the open turn of {}", self.user),
                false => format!("{} has no open turn", self.user),
            },
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

/// Prints the output of a command to standard output.
fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", plain(text))?;
    out.flush()
}

//! The conversation: turns, commands, and what they print.

use crate::assistant::AssistantService;
use crate::command::{Command, HELP};
use crate::input::{Input, Line};
use crate::records;
use crate::render::{chain, one_line, plain};
use crate::screen::Screen;
use crate::spent::Spent;
use crate::turn::{Ended, Manner, Turn};
use ai_services::memory::{ChatMemoryStore, ConversationStore, LeaseRequest, MemoryId};
use ai_services::message::ChatMessage;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// How many characters of a tool's arguments or result `/memory` shows.
const SHOWN: usize = 200;

/// How long a lease may take to be returned.
const SETTLING: Duration = Duration::from_secs(1);

/// What a shell calls a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// The service, who is talking to it, and what that has cost.
pub(crate) struct Chat {
    service: AssistantService,
    store: Arc<dyn ConversationStore>,
    manner: Manner,
    screen: Screen,
    user: String,
    /// Who has been here, even without a word.
    users: BTreeSet<String>,
    spent: Spent,
}

impl Chat {
    pub(crate) fn new(
        service: AssistantService,
        store: Arc<dyn ConversationStore>,
        manner: Manner,
        screen: Screen,
        user: String,
    ) -> Self {
        let users = BTreeSet::from([user.clone()]);
        Self { service, store, manner, screen, user, users, spent: Spent::default() }
    }

    /// Answers one question.
    pub(crate) async fn once(&mut self, question: &str) -> anyhow::Result<ExitCode> {
        match self.ask(question).await? {
            Ended::Answered(_) => Ok(ExitCode::SUCCESS),
            Ended::Cancelled(_) => Ok(ExitCode::from(INTERRUPTED)),
            Ended::Failed(_) => Ok(ExitCode::FAILURE),
        }
    }

    /// Answers until the input ends. Fails at the end if a turn did and nobody was there to see it.
    pub(crate) async fn run(&mut self, mut input: Input) -> anyhow::Result<ExitCode> {
        if input.is_terminal() {
            self.screen.say("/help lists the commands, Ctrl-D leaves");
        }
        loop {
            let line = match input.next(&format!("{}> ", self.user)).await? {
                Line::Text(line) => line,
                Line::GivenUp => continue,
                Line::End => break,
            };
            match line.trim() {
                "" => {}
                command if command.starts_with('/') => match Command::read(command) {
                    Ok(Command::Quit) => break,
                    Ok(command) => self.obey(command).await?,
                    Err(hint) => self.screen.say(&hint),
                },
                question => drop(self.ask(question).await?),
            }
        }
        let is_silent_failure = self.spent.failed > 0 && !input.is_terminal();
        Ok(if is_silent_failure { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// One turn, with what it cost and how it ended.
    async fn ask(&mut self, question: &str) -> io::Result<Ended> {
        let turn = Turn::new(&self.service, self.manner, &self.screen);
        let ended = turn.ask(&self.user, question).await?;
        self.spent.add(&ended);
        match &ended {
            Ended::Answered(_) => return Ok(ended),
            Ended::Cancelled(_) => self.screen.say("cancelled: this turn is not remembered"),
            Ended::Failed(error) => self.screen.say(&format!("error: {}", chain(error))),
        }
        self.settle().await;
        Ok(ended)
    }

    /// A turn that was given up returns its lease in the background. Waits for that, because the
    /// program may end here, and the next one would have to wait until the lease has run out.
    async fn settle(&self) {
        let store: Arc<dyn ChatMemoryStore> = self.store.clone();
        let id = MemoryId::from(&*self.user);
        let Some(request) = LeaseRequest::new(&store, &id) else { return };
        if let (Ok(lease), Some(leases)) = (request.wait(SETTLING).await, store.leases()) {
            // If it fails now, it does end by itself.
            let _ = leases.release(&id, lease.token()).await;
        }
    }

    /// What a command asks for. One that fails is reported, and the chat goes on.
    async fn obey(&mut self, command: Command) -> io::Result<()> {
        match self.reply(command).await {
            Ok(text) => print(&text),
            Err(error) => {
                self.spent.failed += 1;
                self.screen.say(&format!("error: {}", chain(&error)));
                Ok(())
            }
        }
    }

    async fn reply(&mut self, command: Command) -> ai_services::Result<String> {
        Ok(match command {
            Command::User(name) => {
                self.users.insert(name.clone());
                self.user = name;
                format!("you are {} now", self.user)
            }
            Command::Users => self.users().await?,
            Command::Memory => self.memory().await?,
            Command::History => self.history().await?,
            Command::Forget => {
                self.service.chat_memory(&self.user)?.clear().await?;
                format!("the conversation with {} is forgotten", self.user)
            }
            Command::Usage => self.spent.to_string(),
            Command::Help | Command::Quit => HELP.to_owned(),
        })
    }

    /// Who is remembered, and who has been here.
    async fn users(&self) -> ai_services::Result<String> {
        let mut users = self.users.clone();
        let remembered = records::conversations(&*self.store).await?;
        users.extend(remembered.into_iter().map(|conversation| conversation.id.to_string()));
        Ok(users.into_iter().collect::<Vec<_>>().join("\n"))
    }

    /// Everything that was said, also what the model is not reminded of any more.
    async fn history(&self) -> ai_services::Result<String> {
        let entries = records::history(&*self.store, &self.user).await?;
        Ok(match entries.as_slice() {
            [] => self.nothing(),
            entries => listed(entries.iter().map(|entry| &entry.message)),
        })
    }

    /// What the model will be reminded of.
    async fn memory(&self) -> ai_services::Result<String> {
        let messages = self.service.chat_memory(&self.user)?.messages().await?;
        Ok(match messages.as_slice() {
            [] => self.nothing(),
            messages => listed(messages),
        })
    }

    fn nothing(&self) -> String {
        format!("nothing is remembered of {}", self.user)
    }
}

fn listed<'a>(messages: impl IntoIterator<Item = &'a ChatMessage>) -> String {
    messages.into_iter().map(described).collect::<Vec<_>>().join("\n")
}

/// A remembered message.
fn described(message: &ChatMessage) -> String {
    let text = message.text().unwrap_or_default();
    match message {
        ChatMessage::User(_) => format!("user: {text}"),
        ChatMessage::Ai(ai) => {
            let mut lines = Vec::new();
            if !text.is_empty() {
                lines.push(format!("assistant: {text}"));
            }
            for call in ai.tool_calls() {
                lines.push(format!("→ {}({})", call.name(), one_line(call.arguments(), SHOWN)));
            }
            lines.join("\n")
        }
        ChatMessage::ToolResult(result) => {
            let mark = if result.is_error() { "✗" } else { "✓" };
            format!("  {mark} {}", one_line(text, SHOWN))
        }
        _ => format!("system: {text}"),
    }
}

/// What a command says, on standard output.
fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", plain(text))?;
    out.flush()
}

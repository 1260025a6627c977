//! `assistant`: a terminal chat with an agent that calls tools and has a separate memory for each user.

mod answer_view;
mod approval;
mod args;
mod assistant;
mod chat;
mod chat_totals;
mod command;
mod demo;
mod filter;
mod input;
mod lease;
mod markdown;
mod mcp;
mod memory_location;
mod model_selection;
mod records;
mod render;
mod screen;
mod terminal;
mod tools;
mod transcript;
mod turn;
mod web;

use ai_services::Tool;
use ai_services::playground::Playground;
use answer_view::OutputStyle;
use args::Args;
use chat::Chat;
use input::Input;
use memory_location::MemoryLocation;
use screen::Screen;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use turn::{ChatOptions, Delivery};

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let args = Args::read();
    let screen = Screen::new();
    match run(&args, &screen).await {
        Ok(code) => code,
        // The reader of the answers has exited.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            screen.notice(&format!("error: {}", render::chain(error.as_ref())));
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args, screen: &Screen) -> anyhow::Result<ExitCode> {
    let location = args.memory.clone().map_or_else(MemoryLocation::default_location, Ok)?;
    let store = location.open().await?;
    if args.list_users {
        return records::list(&*store).await.map(|()| ExitCode::SUCCESS);
    }
    if let Some(user) = &args.export {
        return records::export(&*store, user).await.map(|()| ExitCode::SUCCESS);
    }
    let options = ChatOptions {
        delivery: if args.no_stream { Delivery::Whole } else { Delivery::Streamed },
        style: OutputStyle::new(args.plain, args.thinking),
        asks_approval: args.approve,
    };
    let selected = model_selection::select(args.model.as_ref(), args.base_url.as_deref()).await?;
    screen.notice(&format!("model: {} ({})", selected.name, selected.reason));
    let mcp = mcp::connect(&args.mcp, args.approve).await?;
    if !args.mcp.is_empty() {
        let tools = mcp.tools();
        let names: Vec<_> = tools.iter().map(Tool::name).collect();
        screen.notice(&format!("mcp tools: {}", names.join(", ")));
    }
    if args.web {
        let playground = Playground::new();
        let listener = playground.listener();
        let service = assistant::build(selected.model, Arc::clone(&store), mcp, options, listener)?;
        return web::serve(playground, service, store, options, screen).await;
    }
    let listener = assistant::event_listener(options, screen.clone());
    let service = assistant::build(selected.model, Arc::clone(&store), mcp, options, listener)?;
    let mut chat = Chat::new(service, store, options, screen.clone(), args.user.clone());
    match args.question() {
        Some(question) if args.approve => chat.once(&question, Input::of_terminal()?).await,
        Some(question) => chat.once(&question, Input::Closed).await,
        None => chat.run(Input::open()?).await,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

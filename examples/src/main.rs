//! `assistant`: a terminal chat with an agent that calls tools and remembers each user apart.

mod args;
mod assistant;
mod chat;
mod command;
mod demo;
mod filter;
mod input;
mod markdown;
mod page;
mod pick;
mod place;
mod records;
mod render;
mod screen;
mod spent;
mod terminal;
mod tools;
mod turn;

use args::Args;
use chat::Chat;
use input::Input;
use page::Look;
use place::Place;
use screen::Screen;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use turn::{Delivery, Manner};

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let args = Args::read();
    let screen = Screen::new();
    match run(&args, &screen).await {
        Ok(code) => code,
        // Whoever reads the answers has left.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            screen.say(&format!("error: {}", render::chain(error.as_ref())));
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args, screen: &Screen) -> anyhow::Result<ExitCode> {
    let place = args.memory.clone().map_or_else(Place::usual, Ok)?;
    let store = place.open().await?;
    if args.list_users {
        return records::list(&*store).await.map(|()| ExitCode::SUCCESS);
    }
    if let Some(user) = &args.export {
        return records::export(&*store, user).await.map(|()| ExitCode::SUCCESS);
    }
    let manner = Manner {
        delivery: if args.no_stream { Delivery::Whole } else { Delivery::Streamed },
        look: Look::new(args.plain, args.thinking),
    };
    let picked = pick::pick(args.model.as_ref(), args.base_url.as_deref()).await?;
    screen.say(&format!("model: {} ({})", picked.name, picked.why));
    let service = assistant::build(picked.model, Arc::clone(&store), manner, screen.clone())?;
    let mut chat = Chat::new(service, store, manner, screen.clone(), args.user.clone());
    match args.question() {
        Some(question) => chat.once(&question).await,
        None => chat.run(Input::open()?).await,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

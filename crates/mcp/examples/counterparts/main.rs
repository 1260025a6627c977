//! The Rust half of `scripts/mcp-counterparts`, which tests this crate with the programs of other projects.
//!
//! - `counterparts client FOLDER` calls the servers that are installed in the folder, and prints a line for each check:
//!   the program, the check, and `ok` or the failure, separated by tabs.
//! - `counterparts stdio` and `counterparts http` are the server that the clients of other projects call. The HTTP
//!   server listens on a free port of the loopback interface, and prints its URL.
#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a missing member of JSON is null"
)]

mod agent;
mod checks;
mod installed;
mod server;
mod server_process;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["client", folder] => checks::run(folder.as_ref()).await,
        ["stdio"] => Ok(server::build()?.serve_stdio().await?),
        ["http"] => serve_http().await,
        _ => Err("usage: counterparts client FOLDER | stdio | http".into()),
    }
}

async fn serve_http() -> Outcome {
    let app = axum::Router::new().route_service("/mcp", server::build()?.into_http_service());
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}

//! Tests of the client against scripted servers.

mod agent;
mod calls;
mod elicitation;
mod hostile;
mod http;
mod http_server;
mod pins;
mod processes;
mod resources;
mod scripted_server;
mod selection;

//! An MCP server: tools, a resource and a prompt for any AI application that speaks the Model Context Protocol.
//!
//! The application starts the program, and talks to it over standard input and output. For most applications, add:
//!
//! ```json
//! { "mcpServers": { "rental": { "command": "/path/to/target/debug/examples/mcp_server" } } }
//! ```
//!
//! The program ends with its input: `cargo run -p ai-services-examples --example mcp_server < /dev/null`.

use ai_services::mcp::{McpCall, McpPrincipal, McpResource, McpServer};
use ai_services::memory::MemoryId;
use ai_services::tool::{ToolError, ToolInput, ToolProgress};
use ai_services::{InvocationContext, tool, tools};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The bookings of a bicycle rental, by number.
struct Rental(Mutex<BTreeMap<String, Booking>>);

/// A booking.
#[derive(Clone, Serialize, JsonSchema)]
struct Booking {
    customer: String,
    bicycle: String,
    days: u32,
}

/// The form that confirms a cancellation.
#[derive(Deserialize, JsonSchema)]
struct Confirmation {
    /// Cancel the booking?
    cancel: bool,
}

#[tools]
impl Rental {
    /// Returns a booking.
    #[tool(read_only)]
    async fn booking(
        &self,
        /// The booking number, for example `A7`.
        number: String,
        #[memory_id] customer: &MemoryId,
    ) -> Result<Booking, String> {
        self.find(&number, customer)
    }

    /// Cancels a booking, after the user has confirmed it.
    #[tool]
    async fn cancel_booking(
        &self,
        /// The booking number, for example `A7`.
        number: String,
        #[memory_id] customer: &MemoryId,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let booking = self.find(&number, customer).map_err(ToolError::new)?;
        // Ask before the tool has an effect: with an answer, it runs again from its beginning.
        if let Some(call) = context.get::<McpCall>().filter(|call| call.supports_elicitation()) {
            let question = format!("Cancel {} for {} days?", booking.bicycle, booking.days);
            let answer: Option<Confirmation> = call.elicit("confirmation", &question).await?;
            if !answer.is_some_and(|answer| answer.cancel) {
                return Ok("not cancelled: the user did not confirm".to_owned());
            }
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        Ok(format!("booking {number} is cancelled"))
    }

    /// Checks all bicycles. Takes a few seconds.
    #[tool(read_only)]
    async fn check_bicycles(&self, #[context] input: &ToolInput) -> &'static str {
        for bicycle in 1..=5 {
            input
                .report(ToolProgress::new(bicycle.into()).with_total(5.0).with_message("checking"));
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        "all bicycles are fine"
    }
}

impl Rental {
    fn find(&self, number: &str, customer: &MemoryId) -> Result<Booking, String> {
        let bookings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = bookings.get(number).filter(|booking| booking.customer == customer.as_str());
        own.cloned().ok_or_else(|| format!("you have no booking {number}"))
    }
}

/// The terms of the rental, by language.
#[tool(read_only)]
fn terms(language: &str) -> Result<&'static str, String> {
    match language {
        "en" => Ok("Bicycles are returned clean and on time."),
        "de" => Ok("Räder werden sauber und pünktlich zurückgegeben."),
        _ => Err(format!("no terms in `{language}`; available: en, de")),
    }
}

/// Plans a tour.
#[tool(read_only)]
fn plan_tour(
    /// Length of the tour in kilometers.
    kilometers: u32,
) -> String {
    format!("Plan a bicycle tour of {kilometers} km, with a break every 20 km.")
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let booking =
        Booking { customer: "ann".to_owned(), bicycle: "a city bike".to_owned(), days: 3 };
    let rental = Rental(Mutex::new(BTreeMap::from([("A7".to_owned(), booking)])));
    let server = McpServer::builder("rental", env!("CARGO_PKG_VERSION"))
        .instructions("The bicycle rental of Ann, with one booking: A7.")
        .tools(rental)
        .typed_output::<Booking>("booking")
        .resource(McpResource::new("rental://terms/{language}", terms::tool()))
        .prompts(plan_tour::tool())
        // Over stdio, the client is the user of this process. Over HTTP, authenticate with `principal`.
        .stdio_principal(McpPrincipal::new("ann"))
        .build()?;
    Ok(server.serve_stdio().await?)
}

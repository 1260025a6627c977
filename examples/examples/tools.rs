//! Tools: methods and functions that the model can call, with arguments of any type.
#![allow(clippy::indexing_slicing, clippy::print_stdout, reason = "examples panic on failure")]

use ai_services::message::ToolCall;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Response, Result, ai_service, tool, tools};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Size {
    Small,
    Large,
}

/// The delivery address.
#[derive(Deserialize, JsonSchema)]
struct Address {
    /// Street and number.
    street: String,
    floor: Option<i8>,
}

struct Pizzeria;

#[tools]
impl Pizzeria {
    /// Orders pizzas.
    #[tool]
    async fn order(
        &self,
        #[p("The name on the menu")] pizza: String,
        #[p(default = 1)] count: u8,
        size: Option<Size>,
        /// Nested types have their own descriptions.
        address: Address,
    ) -> Result<String, String> {
        if pizza != "Margherita" {
            return Err(format!("unknown pizza `{pizza}`; the only one is Margherita"));
        }
        let (size, floor) = (size.unwrap_or(Size::Large), address.floor.unwrap_or(0));
        Ok(format!("{count} {size:?} {pizza} to {}, floor {floor}", address.street))
    }
}

/// Converts euros to cents. A tool can also be a function, and need not be async.
#[tool]
fn cents(euros: f64) -> i64 {
    (euros * 100.0).round() as i64
}

#[ai_service]
trait Waiter {
    async fn chat(&self, text: &str) -> Result<Response<String>>;
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([
            ToolCall::new("1", "order", r#"{"pizza":"Margherita","address":{"street":"Elm 1"}}"#),
            ToolCall::new("2", "order", r#"{"pizza":"Hawaii","address":{"street":"Elm 1"}}"#),
            ToolCall::new("3", "order", r#"{"pizza":"Margherita","count":"two","address":{}}"#),
            ToolCall::new("4", "cents", r#"{"euros":9.5}"#),
        ]),
        ScriptedAnswer::text("One Margherita is on its way."),
    ]);
    let waiter = WaiterService::builder().chat_model(model).tools(Pizzeria).tools(cents::tool());
    let response = waiter.build()?.chat("Pizza, please!").await?;

    // The tools ran concurrently. Mistakes are reported to the model, which can correct itself.
    let results: Vec<_> =
        response.tool_executions.iter().map(|execution| execution.result().text()).collect();
    println!("{results:#?}\n{}", response.value);
    assert_eq!(results[0], Some("1 Large Margherita to Elm 1, floor 0"));
    assert!(response.tool_executions[1].result().is_error());
    assert!(results[2].is_some_and(|text| text.contains("count")));
    assert_eq!(results[3], Some("950"));
    Ok(())
}

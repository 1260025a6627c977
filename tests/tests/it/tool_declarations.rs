//! The forms in which tools are declared, and the specification that the model receives.

#![allow(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    clippy::eq_op,
    reason = "the declarations are the subject, not the functions"
)]

use crate::desk::{Agent as _, AgentService, call, calling, results};
use ai_services::tool::ToolSet;
use ai_services::tools;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Calls a tool and returns the result that the model receives.
async fn result_of(tools: impl ToolSet, name: &str, arguments: Value) -> String {
    let model = calling([call("1", name, arguments)]);
    let agent = AgentService::builder().chat_model(model.clone()).tools(tools).build().unwrap();
    agent.chat("go").await.unwrap();
    results(&model.messages_of(1)).remove(0).0
}

/// Returns the schema of the parameters of the first tool.
fn schema_of(tools: impl ToolSet) -> Value {
    let tools = Arc::new(tools).tools();
    tools[0].specification().parameters.as_ref().unwrap().as_value().clone()
}

struct Defaults;

macro_rules! tools_with_default {
    ($type:ident, $default:literal) => {
        struct $type;

        #[tools]
        impl $type {
            #[tool(description = "Returns its argument.")]
            fn get(&self, #[p(default = $default)] name: &str) -> String {
                name.to_owned()
            }
        }
    };
}

tools_with_default!(Macro, "from a macro");

#[tools]
impl Defaults {
    #[tool(description = "Returns its arguments.")]
    fn get(
        &self,
        #[p(default = 60 * 60)] seconds: u64,
        #[p(default = 10_000_000_000)] bytes: i64,
        #[p(default = -1)] offset: i8,
        #[p(default = 1 + 1 == 2)] sum: bool,
        #[p(default = if cfg!(test) { 1 } else { 2 })] branch: u8,
        #[p(default = 0.5)] ratio: f32,
        #[p(default = None)] name: Option<String>,
        #[p(default = "none")] reason: &str,
    ) -> String {
        format!("{seconds} {bytes} {offset} {sum} {branch} {ratio} {name:?} {reason}")
    }
}

#[tokio::test]
async fn default_is_any_expression_of_the_type_of_the_parameter() {
    assert_eq!(
        result_of(Defaults, "get", json!({})).await,
        "3600 10000000000 -1 true 1 0.5 None none"
    );
    let schema = schema_of(Defaults);
    let default = |name: &str| schema["properties"][name]["default"].clone();
    assert_eq!(default("seconds"), json!(3600));
    assert_eq!(default("bytes"), json!(10_000_000_000_i64));
    assert_eq!(default("sum"), json!(true));
    assert_eq!(default("reason"), json!("none"));
    assert_eq!(result_of(Macro, "get", json!({})).await, "from a macro");
}

struct Documented;

#[tools]
impl Documented {
    #[tool("Given as an argument.")]
    fn argument(&self) {}

    /**
     * Given as a block comment.
     *
     * - with a list
     */
    #[tool]
    fn block(&self, #[doc = include_str!("tool_description.md")] _n: u8) {}

    /// Starts with a line.
    #[doc = include_str!("tool_description.md")]
    #[tool]
    fn file(&self) {}
}

#[test]
fn description_is_an_argument_a_comment_or_a_file() {
    let tools = Arc::new(Documented).tools();
    let descriptions: Vec<_> =
        tools.iter().map(|tool| &*tool.specification().description).collect();
    assert_eq!(
        descriptions,
        [
            "Given as an argument.",
            "Given as a block comment.\n\n- with a list",
            "Starts with a line.\nGiven in a file.",
        ]
    );
    let schema = tools[1].specification().parameters.as_ref().unwrap().as_value();
    assert_eq!(schema["properties"]["_n"]["description"], "Given in a file.");
}

struct Borrowing;

#[tools]
impl Borrowing {
    #[tool("Returns its arguments.")]
    async fn get(
        &self,
        name: Option<&str>,
        tags: Vec<&str>,
        path: &Path,
        numbers: &[u8],
        names: Option<&[String]>,
    ) -> String {
        format!("{name:?} {tags:?} {} {numbers:?} {names:?}", path.display())
    }

    #[tool("Returns a part of itself.")]
    fn own(&self) -> &str {
        "borrowed"
    }
}

#[tokio::test]
async fn reference_is_lent_from_the_deserialized_value() {
    let arguments = json!({"tags": ["a"], "path": "b/c", "numbers": [1], "names": ["d"]});
    assert_eq!(result_of(Borrowing, "get", arguments).await, r#"None ["a"] b/c [1] Some(["d"])"#);
    let arguments = json!({"name": "e", "tags": [], "path": "", "numbers": []});
    assert_eq!(result_of(Borrowing, "get", arguments).await, r#"Some("e") []  [] None"#);
    assert_eq!(result_of(Borrowing, "own", json!({})).await, "borrowed");
    let schema = schema_of(Borrowing);
    assert_eq!(schema["required"], json!(["tags", "path", "numbers"]));
    assert_eq!(schema["properties"]["tags"]["items"]["type"], "string");
}

//! Tools with the names of methods that other traits provide: generated code calls the tool itself.

use crate::desk::{Agent as _, AgentService, call, calling, results};
use ai_services::tool::ToolSet;
use ai_services::tools;
use serde_json::json;
use std::fmt;

/// Calls a tool without arguments and returns the result that the model receives.
async fn result_of(tools: impl ToolSet, name: &str) -> String {
    let model = calling([call("1", name, json!({}))]);
    let agent = AgentService::builder().chat_model(model.clone()).tools(tools).build().unwrap();
    agent.chat("go").await.unwrap();
    results(&model.messages_of(1)).remove(0).0
}

#[derive(Clone, Debug)]
struct Shadow;

impl fmt::Display for Shadow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the `Display` text")
    }
}

/// Methods of any type, some of them with the names of methods that generated code calls.
#[expect(dead_code, reason = "generated code must not call it")]
trait Extension: Sized {
    fn extended(&self) -> &'static str {
        "the extension"
    }

    fn arguments(self) {}
    fn take(self) {}
    fn take_or(self) {}
    fn push(self) {}
    fn convert(self) {}
}

impl<T> Extension for T {}

#[tools]
#[allow(
    clippy::inherent_to_string_shadow_display,
    clippy::should_implement_trait,
    reason = "the names are the subject of the tests"
)]
impl Shadow {
    #[tool(description = "Shares its name with `ToString::to_string`.")]
    fn to_string(&self) -> String {
        "the tool".to_owned()
    }

    #[tool(description = "Shares its name with `Clone::clone`.")]
    fn clone(&self) -> &'static str {
        "the tool"
    }

    #[tool(description = "Shares its name with `Into::into`.")]
    fn into(&self) -> &'static str {
        "the tool"
    }

    #[tool(description = "Shares its name with `Borrow::borrow`.")]
    async fn borrow(&self, #[p(default = 1)] n: u8) -> String {
        format!("the tool {n}")
    }

    #[tool(description = "Shares its name with `ToolSet::tools`.")]
    fn tools(&self) -> &'static str {
        "the tool"
    }

    #[tool(description = "Shares its name with a method that every type has.")]
    fn extended(&self) -> &'static str {
        "the tool"
    }
}

#[tokio::test]
async fn tool_wins_over_a_trait_method_of_the_same_name() {
    for name in ["to_string", "clone", "into", "tools", "extended"] {
        assert_eq!(result_of(Shadow, name).await, "the tool", "{name}");
    }
    assert_eq!(result_of(Shadow, "borrow").await, "the tool 1");
}

trait Clock {
    fn now(&self) -> &'static str;
}

struct Watch;

impl Watch {
    #[expect(dead_code, reason = "the method that is not the tool")]
    fn now(&self) -> &'static str {
        "the inherent method"
    }
}

#[tools]
impl Clock for Watch {
    #[tool(description = "Shares its name with an inherent method.")]
    fn now(&self) -> &'static str {
        "the tool"
    }
}

#[tokio::test]
async fn tool_in_a_trait_implementation_wins_over_an_inherent_method() {
    assert_eq!(result_of(Watch, "now").await, "the tool");
}

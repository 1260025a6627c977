//! The definitions of deferred tools, which follow the results of the searches that have found them.
//!
//! A request does not list deferred tools. After the output of a search follow a `tool_search_call` and its
//! `tool_search_output`, both with `"execution": "client"`, which tell the model that these tools were loaded at this
//! point. The items before them, and the list of tools, remain the same, so that OpenAI finds them in its cache. The forms
//! are those of `ToolSearchCall` and `ResponseToolSearchOutputItemParamParam` in OpenAI's SDK for Python, version 3.54,
//! and of the section "client-executed tool search" of OpenAI's guide about tool search.

use crate::openai::options::SchemaMode;
use crate::openai::tools::loaded;
use ai_services_core::memory::found_tools_of;
use ai_services_core::message::ChatMessage;
use ai_services_core::model::{ChatRequest, ToolLoading, ToolSpecification};
use serde::Serialize;
use serde_json::value::RawValue;

/// The items that load tools, with the positions of the messages that they follow.
pub(super) struct LoadedTools(Vec<(usize, Vec<u8>)>);

impl LoadedTools {
    /// Encodes the definitions of the deferred tools that were found. Each is loaded once.
    pub(super) fn new(request: &ChatRequest, mode: SchemaMode) -> Self {
        let mut names: Vec<&str> = Vec::new();
        let mut items = Vec::new();
        for (position, message) in request.messages().enumerate() {
            let mut new: Vec<&ToolSpecification> = Vec::new();
            for name in found_tools_of(message) {
                if names.contains(&name) {
                    continue;
                }
                names.push(name);
                new.extend(deferred(request, name));
            }
            if let (ChatMessage::ToolResult(result), false) = (message, new.is_empty()) {
                items.extend(encode(result.id(), &new, mode).map(|items| (position, items)));
            }
        }
        Self(items)
    }

    /// Returns the items that follow the message at a position, with a comma in between.
    pub(super) fn after(&self, position: usize) -> Option<&[u8]> {
        let (_, items) = self.0.iter().find(|(at, _)| *at == position)?;
        Some(items)
    }
}

fn deferred<'a>(request: &'a ChatRequest, name: &str) -> Option<&'a ToolSpecification> {
    let mut tools = request.tools().as_slice().iter();
    tools.find(|tool| *tool.name == *name && tool.loading == ToolLoading::Deferred)
}

fn encode(search: &str, tools: &[&ToolSpecification], mode: SchemaMode) -> Option<Vec<u8>> {
    let call_id = format!("{search}_tools");
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    let tools = String::from_utf8(loaded(tools, mode)).ok()?;
    let tools = RawValue::from_string(tools).ok()?;
    let (execution, status) = ("client", "completed");
    let arguments = Arguments { query: names.join(" ") };
    let call = Item::ToolSearchCall { call_id: &call_id, execution, status, arguments };
    let output = Item::ToolSearchOutput { call_id: &call_id, execution, status, tools: &tools };
    let mut items = serde_json::to_vec(&call).ok()?;
    items.push(b',');
    serde_json::to_writer(&mut items, &output).ok()?;
    Some(items)
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    ToolSearchCall {
        call_id: &'a str,
        execution: &'static str,
        status: &'static str,
        arguments: Arguments,
    },
    ToolSearchOutput {
        call_id: &'a str,
        execution: &'static str,
        status: &'static str,
        tools: &'a RawValue,
    },
}

#[derive(Serialize)]
struct Arguments {
    query: String,
}

//! Items that generated code refers to. Not part of the public API: they may change in any release.
//!
//! Generated code imports this module as `__rt`.

mod check;
mod guardrail;
mod service;
mod service_tool;
mod tool;

pub use async_trait::async_trait;
pub use check::{
    assert_context, assert_injected, assert_json_variable, assert_memory_id, assert_parameters,
    assert_return, assert_stream, assert_tool_parameter, assert_variable, incomplete,
};
pub use guardrail::{guardrails, input_guardrail, output_guardrail};
pub use serde_json::Value;
pub use service::{
    AiService, Arguments, Budget, CallContext, CallParameters, DeclaredGuardrails,
    DeclaredToolChoice, DeclaredTools, MemoryId, Method, MethodReturn, Optional, Part, Piece,
    Required, Service, StreamReturn, Template, TextArgument, UserArgument, Variable, call, context,
    json_variable, memory_id, parameters, stream, variable,
};
pub use service_tool::{
    DeclaredServiceTool, outer_id_text, outer_memory_id, service_tools, start_nested,
};
pub use std::boxed::Box;
pub use std::string::String;
pub use std::sync::Arc;
pub use std::vec::Vec;
pub use tool::{
    ContentsResultTag, ContentsTag, DeclaredEffect, DeclaredTool, Lent, Out, OutResult,
    OutResultOfContents, OutValue, Referent, ResultTag, StartedTool, Tool, ToolArguments,
    ToolDescription, ToolError, ToolInput, ToolOutput, ToolParameterDescription, ToolSet, ValueTag,
    Verified, default_value, finished, from_context, parameter, tool, tools, verified,
};

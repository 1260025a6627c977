//! The procedural macros of `ai-services`. Their documentation is in that crate, where the examples run.
//!
//! Each front end (`service`, `tool`) is `parse → model → check → expand`: `parse` reads one attribute
//! at a time, `check` contains the rules for several attributes, and `expand` cannot fail. Before, `recovery`
//! reads the item, which may contain syntax errors.

mod arguments;
mod attribute;
mod diagnostics;
mod doc;
mod errors;
mod keyword;
mod recovery;
mod runtime_path;
mod service;
mod suggest;
mod template;
#[cfg(test)]
mod testing;
mod tool;
mod tool_name;
mod ty;

use proc_macro::TokenStream;

/// Generates an AI service for a trait. Documented in `ai_services`.
#[proc_macro_attribute]
pub fn ai_service(arguments: TokenStream, item: TokenStream) -> TokenStream {
    service::ai_service(arguments.into(), &item.into()).into()
}

/// Makes the `#[tool]` methods of an `impl` block available to a model. Documented in `ai_services`.
#[proc_macro_attribute]
pub fn tools(arguments: TokenStream, item: TokenStream) -> TokenStream {
    tool::tools(arguments.into(), &item.into()).into()
}

/// Marks a method of a `#[tools]` block as a tool, or creates a tool from a function. Documented in
/// `ai_services`.
#[proc_macro_attribute]
pub fn tool(arguments: TokenStream, item: TokenStream) -> TokenStream {
    tool::function(arguments.into(), &item.into()).into()
}

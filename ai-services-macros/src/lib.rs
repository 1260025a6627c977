//! The procedural macros of `ai-services`. Their documentation is in that crate, where its examples run.
//!
//! Each front end (`service`, `tool`) is `parse → model → check → expand`: `parse` reads one attribute
//! at a time, `check` holds every rule that needs more than one, `expand` cannot fail.

mod arguments;
mod attribute;
mod diagnostics;
mod doc;
mod errors;
mod keyword;
mod runtime_path;
mod service;
mod suggest;
mod template;
#[cfg(test)]
mod testing;
mod tool;
mod ty;

use proc_macro::TokenStream;

/// Implements an AI service for a trait. Documented in `ai_services`.
#[proc_macro_attribute]
pub fn ai_service(arguments: TokenStream, item: TokenStream) -> TokenStream {
    service::ai_service(arguments.into(), &item.into()).into()
}

/// Offers the `#[tool]` methods of an `impl` block to a model. Documented in `ai_services`.
#[proc_macro_attribute]
pub fn tools(arguments: TokenStream, item: TokenStream) -> TokenStream {
    tool::tools(arguments.into(), &item.into()).into()
}

/// Marks a method of a `#[tools]` block, or makes a tool of a function. Documented in `ai_services`.
#[proc_macro_attribute]
pub fn tool(arguments: TokenStream, item: TokenStream) -> TokenStream {
    tool::function(arguments.into(), &item.into()).into()
}

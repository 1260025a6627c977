//! Path of the runtime crate in generated code. No other module names the crate.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::Path;

/// `::ai_services`, or the path set with `crate = …`.
#[derive(Default)]
pub(crate) struct RuntimePath(Option<Path>);

impl RuntimePath {
    pub(crate) fn new(path: Option<Path>) -> Self {
        Self(path)
    }

    /// Returns the path of the hidden module for generated code.
    pub(crate) fn private(&self) -> TokenStream {
        quote!(#self::__private)
    }

    /// Returns an import of the hidden module as `__rt`, for the inside of a block.
    pub(crate) fn import(&self) -> TokenStream {
        quote!(use #self::__private as __rt;)
    }
}

impl ToTokens for RuntimePath {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match &self.0 {
            Some(path) => path.to_tokens(tokens),
            None => quote!(::ai_services).to_tokens(tokens),
        }
    }
}

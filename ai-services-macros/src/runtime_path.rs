//! Where generated code finds the runtime. Nothing else names the crate.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::Path;

/// `::ai_services`, or the path given as `crate = …`.
#[derive(Default)]
pub(crate) struct RuntimePath(Option<Path>);

impl RuntimePath {
    pub(crate) fn new(path: Option<Path>) -> Self {
        Self(path)
    }

    /// The hidden door for generated code, as a path.
    pub(crate) fn private(&self) -> TokenStream {
        quote!(#self::__private)
    }

    /// The same door as the short name `__rt`, for the inside of a block.
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

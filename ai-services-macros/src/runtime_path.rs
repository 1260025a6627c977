//! Path of the runtime crate in generated code. No other module names the crate.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::Path;

/// The name of the crate, unless `crate = …` sets a path.
const CRATE: &str = "ai_services";

/// `::ai_services`, or the path set with `crate = …`.
#[derive(Default)]
pub(crate) struct RuntimePath(Option<Path>);

impl RuntimePath {
    pub(crate) fn new(path: Option<Path>) -> Self {
        Self(path)
    }

    /// Returns whether `path` is an item at the root of this crate.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        let mut names = path.segments.iter().map(|segment| segment.ident.to_string());
        names.next_back();
        let names: Vec<String> = names.collect();
        let own = |path: &Path| path.segments.iter().map(|own| own.ident.to_string()).collect();
        let configured: Option<Vec<String>> = self.0.as_ref().map(own);
        names == configured.unwrap_or_else(|| vec![CRATE.to_owned()]) || names == [CRATE]
    }

    /// Returns the path of the hidden module for generated code.
    pub(crate) fn private(&self) -> TokenStream {
        quote!(#self::__private)
    }

    /// Returns the body of a function that stands for something unreadable.
    pub(crate) fn incomplete(&self) -> TokenStream {
        quote!(#self::__private::incomplete::<()>())
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

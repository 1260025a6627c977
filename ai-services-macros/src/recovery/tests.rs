use crate::keyword::Keyword;
use proc_macro2::{Group, TokenStream, TokenTree};
use quote::quote;
use syn::visit_mut::{self, VisitMut};

fn service() -> TokenStream {
    quote! {
        #[system_message("You help {{name}}.")]
        pub trait Support: Send + Sync {
            #[user_message("Translate {{text}}.")]
            #[moderate(answer)]
            async fn translate(&self, #[v] text: &str, #[v] name: &str) -> Result<Vec<String>, Error>;
            fn stream(&self, #[memory_id] #[v] name: u64, #[user_message] text: &str) -> AnswerStream;
            async fn twice(&self, text: &str) -> Result<String> { let x = 1; self.translate(text).await }
        }
    }
}

fn tools() -> TokenStream {
    quote! {
        impl<T: Store> Desk<T> {
            #[tool("Cancels a booking.", timeout = "2s")]
            pub async fn cancel(&self, #[memory_id] id: &MemoryId, #[p("Why.", default = 1)] why: Option<&str>) -> Result<u8, Error> {
                let x = 1;
                self.0.cancel(id, why).await
            }
            const LIMIT: usize = 3;
        }
    }
}

fn function() -> TokenStream {
    quote! {
        pub async fn add(#[p("First.")] a: i64, #[context] b: &InvocationContext) -> i64 { a + b }
    }
}

/// Returns the stream without each of its tokens, and with the end of each group cut off.
fn slips(tokens: &TokenStream) -> Vec<TokenStream> {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut slips = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let (before, rest) = tokens.split_at(index);
        let after = rest.get(1..).unwrap_or_default();
        slips.push(quote!(#(#before)* #(#after)*));
        slips.push(quote!(#(#before)*));
        if let TokenTree::Group(group) = token {
            for inside in self::slips(&group.stream()) {
                let group = Group::new(group.delimiter(), inside);
                slips.push(quote!(#(#before)* #group #(#after)*));
            }
        }
    }
    slips
}

/// Fails if an attribute of this crate is left.
struct NoHelpers(String);

impl VisitMut for NoHelpers {
    fn visit_attribute_mut(&mut self, attribute: &mut syn::Attribute) {
        assert_eq!(Keyword::of(attribute), None, "{}", self.0);
        visit_mut::visit_attribute_mut(self, attribute);
    }
}

/// Expands every slip. Returns the number of outputs that are valid Rust.
fn expand(item: &TokenStream, expand: impl Fn(&TokenStream) -> TokenStream) -> (usize, usize) {
    let slips = slips(item);
    let is_valid = |slip: &&TokenStream| {
        let output = expand(slip);
        let text = format!("{slip}\nis expanded to\n{output}");
        for own in ["# [v]", "# [memory_id]", "# [p (\"", "# [tool (\"", "# [user_message"] {
            assert!(!output.to_string().contains(own), "{text}");
        }
        syn::parse2(output).is_ok_and(|mut file: syn::File| {
            NoHelpers(text).visit_file_mut(&mut file);
            true
        })
    };
    (slips.iter().filter(is_valid).count(), slips.len())
}

#[test]
fn attributes_are_removed_from_every_incomplete_item() {
    let service = expand(&service(), |slip| crate::service::ai_service(quote!(), slip));
    let tools = expand(&tools(), |slip| crate::tool::tools(quote!(), slip));
    let function = expand(&function(), |slip| crate::tool::function(quote!(), slip));
    for (valid, all) in [service, tools, function] {
        // In the others, the slip is before the members or in a body.
        assert!(valid * 3 > all * 2, "{valid} of {all}");
    }
}

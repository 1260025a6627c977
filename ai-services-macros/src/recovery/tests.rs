use crate::keyword::Keyword;
use crate::recovery::{self, Recovered, Unreadable};
use crate::runtime_path::RuntimePath;
use proc_macro2::{Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use std::path::{Path, PathBuf};
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

/// Reads every trait, `impl` block and function.
#[derive(Default)]
struct ReadAll {
    count: usize,
}

impl ReadAll {
    fn compare<T: ToTokens>(
        &mut self,
        item: &TokenStream,
        read: impl Fn(&TokenStream, &RuntimePath) -> Result<Recovered<T>, Unreadable>,
    ) {
        let read = read(item, &RuntimePath::default());
        let read = read.unwrap_or_else(|error| panic!("{error:?}: {item}"));
        assert!(!read.has_syntax_error(), "{item}");
        assert_eq!(read.item.to_token_stream().to_string(), item.to_string());
        self.count += 1;
    }
}

impl VisitMut for ReadAll {
    fn visit_item_trait_mut(&mut self, item: &mut syn::ItemTrait) {
        self.compare(&item.to_token_stream(), recovery::item_trait);
    }

    fn visit_item_impl_mut(&mut self, item: &mut syn::ItemImpl) {
        self.compare(&item.to_token_stream(), recovery::item_impl);
    }

    fn visit_item_fn_mut(&mut self, item: &mut syn::ItemFn) {
        self.compare(&item.to_token_stream(), recovery::item_fn);
    }
}

fn source_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let inside = folders.iter().flat_map(|folder| source_files(folder));
    let is_source = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    files.into_iter().filter(is_source).chain(inside).collect()
}

#[test]
fn valid_items_are_read_unchanged() {
    let mut all = ReadAll::default();
    for path in source_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../ai-services/src")) {
        let mut file = syn::parse_file(&std::fs::read_to_string(path).unwrap()).unwrap();
        all.visit_file_mut(&mut file);
    }
    assert!(all.count > 200, "{}", all.count);
}

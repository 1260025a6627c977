//! Generates the description of each tool and the function that calls it. Expansion cannot fail.
//!
//! All tools of a type are one constant table, so that rustc compiles per tool only the function, and no code
//! that puts the tools together.

use super::model::{Effect, Function, Parameter, Tool, ToolSet};
use crate::arguments::string;
use crate::{attribute, ty};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use std::time::Duration;
use syn::{Path, ReturnType, Type};

// Input:
//     impl Bookings { async fn cancel(&self, number: String) -> Result<Booking, Error> { … } }
//
// Output:
//     const _: () = {
//         impl ToolSet for Bookings {
//             fn tools(self: Arc<Self>) -> Vec<Tool> { … }
//         }
//     };
pub(crate) fn set(set: &ToolSet<'_>) -> TokenStream {
    let tools = set.tools.iter().map(|tool| {
        let conditions = attribute::conditions(tool.attributes);
        let name = tool.ident();
        // A path: with method syntax, a method of another trait with the same name could win.
        let target = match &set.item.trait_ {
            Some((path, _)) => quote!(<Self as #path>::#name),
            None => quote!(Self::#name),
        };
        let tool = declared(tool, &target, verifying_method);
        quote!(#(#conditions)* #tool)
    });
    let tools = quote!(const { &[#(#tools),*] });
    set_impl(set, &quote!(__rt::tools::<__rt::Arc<Self>>(&self, #tools)))
}

/// Returns the implementation of `ToolSet` with the body of its method.
pub(crate) fn set_impl(set: &ToolSet<'_>, body: &TokenStream) -> TokenStream {
    let (allow, import) = (ty::allow(), set.runtime.import());
    let self_ty = &set.item.self_ty;
    let (generics, _, clause) = set.item.generics.split_for_impl();
    let predicates = clause.map(|clause| clause.predicates.iter());
    let predicates = predicates.into_iter().flatten();
    // `ToolSet` requires these bounds too, but then every closure would cause an error as well.
    let (_, last) = ty::ends(self_ty);
    let bounds = quote_spanned!(last=> : ::core::marker::Send + ::core::marker::Sync + 'static);
    quote! {
        #allow
        const _: () = {
            #import
            #[automatically_derived]
            impl #generics __rt::ToolSet for #self_ty
            where
                #(#predicates,)*
                #self_ty #bounds,
            {
                fn tools(self: __rt::Arc<Self>) -> __rt::Vec<__rt::Tool> {
                    #body
                }
            }
        };
    }
}

// Input:
//     pub async fn add(a: i64, b: i64) -> i64 { … }
//
// Output:
//     pub enum add {}
//     impl add { pub fn tool() -> Tool { … } }
pub(crate) fn function(function: &Function<'_>) -> TokenStream {
    let name = &function.item.sig.ident;
    let tool = declared(&function.tool, &quote!(#name), verifying_function);
    function_items(function, &quote!(__rt::tool(const { &#tool })))
}

/// Returns the type with the name of the function, with the body of its method.
pub(crate) fn function_items(function: &Function<'_>, body: &TokenStream) -> TokenStream {
    let (name, vis, runtime) = (&function.item.sig.ident, &function.item.vis, &function.runtime);
    let (allow, import) = (ty::allow(), runtime.import());
    let conditions = attribute::conditions(&function.item.attrs);
    let type_doc = format!("The function `{name}` as a tool; see [`{name}::tool`].");
    let tool_doc = format!("Returns the function `{name}` as a tool.");
    let conditions_too = conditions.clone();
    quote! {
        #(#conditions)*
        #[doc = #type_doc]
        #[derive(::core::fmt::Debug)]
        #allow
        #vis enum #name {}

        #(#conditions_too)*
        #[automatically_derived]
        impl #name {
            #[doc = #tool_doc]
            #[must_use]
            #vis fn tool() -> #runtime::Tool {
                #import
                #body
            }
        }
    }
}

// Output:
//     DeclaredTool {
//         description: ToolDescription { … },
//         start: |__this, __input| { … },
//         effect: DeclaredEffect::AtMostOnce,
//     }
fn declared(
    tool: &Tool<'_>,
    target: &TokenStream,
    verifier: fn(&Path) -> TokenStream,
) -> TokenStream {
    let (description, body) = (description(tool), start(tool, target));
    let effect = match tool.effects.first() {
        None => quote!(AtMostOnce),
        Some((_, Effect::ReadOnly)) => quote!(ReadOnly),
        Some((_, Effect::Idempotent)) => quote!(Idempotent),
        Some((_, Effect::Verifiable(path))) => {
            let verifier = verifier(path);
            quote!(Verifiable(#verifier))
        }
    };
    quote! {
        __rt::DeclaredTool {
            description: #description,
            start: |__this, __input| { #body },
            effect: __rt::DeclaredEffect::#effect,
        }
    }
}

// Output:
//     |__this, __input| {
//         let __this = Clone::clone(__this);
//         Box::pin(async move { let __output = Self::find(&*__this, __input).await; verified(__output) })
//     }
fn verifying_method(path: &Path) -> TokenStream {
    let owner = path.get_ident().map(|_| quote!(Self::));
    let future = verification(path, &quote!(#owner #path(&*__this, __input)));
    quote! {
        |__this, __input| {
            let __this = ::core::clone::Clone::clone(__this);
            #future
        }
    }
}

// Output:
//     |_, __input| Box::pin(async move { let __output = find(__input).await; verified(__output) })
fn verifying_function(path: &Path) -> TokenStream {
    let future = verification(path, &quote!(#path(__input)));
    quote!(|_, __input| #future)
}

/// Returns the future of a verifier; errors about its type are reported at its name.
fn verification(path: &Path, call: &TokenStream) -> TokenStream {
    let (_, last) = ty::ends(path);
    let convert = quote_spanned!(last=> __rt::verified(__output));
    // rustc reports a future that is not `Send` at the name of the verifier.
    let place = Span::call_site().located_at(last);
    quote_spanned! {place=>
        __rt::Box::pin(async move {
            let __output = #call.await;
            #convert
        })
    }
}

// Output:
//     let mut __arguments = …;
//     let __argument_0 = …;
//     let __this = Clone::clone(__this);
//     Ok(StartedTool::Running(Box::pin(async move { … })))
//
// The future contains as little as possible: its code is large without optimization.
fn start(tool: &Tool<'_>, target: &TokenStream) -> TokenStream {
    let names = tool.parameters.iter().enumerate().map(|(index, parameter)| {
        let place = Span::call_site().located_at(ty::ends(parameter.ty).1);
        format_ident!("__argument_{index}", span = place)
    });
    let names: Vec<Ident> = names.collect();
    let bound = |injected: bool| {
        let parameters = tool.parameters.iter().zip(&names);
        let bound = parameters.filter(move |(parameter, _)| parameter.injected == injected);
        bound.map(|(parameter, name)| {
            let value = value(parameter);
            quote!(let #name = #value;)
        })
    };
    let (mut read, injected) = (bound(false).peekable(), bound(true));
    let arguments = read.peek().is_some().then(|| {
        let arguments = or_return(&quote!(__rt::ToolInput::arguments(&__input)));
        quote!(let mut __arguments = #arguments;)
    });
    // The arguments borrow the input, which an injected parameter can borrow until the tool has finished.
    let drop = arguments.is_some().then(|| quote!(::core::mem::drop(__arguments);));
    let is_async = tool.signature.asyncness.is_some();
    let this = tool.signature.receiver();
    let lent = this.map(|_| if is_async { quote!(&*__this,) } else { quote!(&**__this,) });
    let passed = tool.parameters.iter().zip(&names).map(|(parameter, name)| pass(parameter, name));
    let (call, convert) = (quote!(#target(#lent #(#passed),*)), convert(&tool.signature.output));
    if !is_async {
        return quote! {
            #arguments
            #(#read)*
            #(#injected)*
            let __output = #call;
            __rt::finished(#convert)
        };
    }
    let this = this.map(|_| quote!(let __this = ::core::clone::Clone::clone(__this);));
    let body = quote! {
        #(#injected)*
        let __output = #call.await;
        #convert
    };
    // rustc reports a future that is not `Send` at the name of the tool.
    let place = Span::call_site().located_at(tool.ident().span());
    let future = quote_spanned!(place=> __rt::Box::pin(async move { #body }));
    quote! {
        #arguments
        #(#read)*
        #drop
        #this
        ::core::result::Result::Ok(__rt::StartedTool::Running(#future))
    }
}

// Output:
//     let mut __arguments = …;
//     let __argument_0 = …;
//     let question = …;
//
/// Returns the description of a method of an AI service, and code that reads the arguments of a call into variables
/// with the names of the parameters.
pub(crate) fn service_method(
    tool: &Tool<'_>,
    parameters: &[(&Ident, Parameter<'_>)],
) -> (TokenStream, TokenStream) {
    let described = parameters.iter().map(|(_, parameter)| parameter);
    let description = describe(tool, described);
    let read = (!parameters.is_empty()).then(|| {
        let arguments = or_return(&quote!(__rt::ToolInput::arguments(__input)));
        quote!(let mut __arguments = #arguments;)
    });
    let values = parameters.iter().enumerate().map(|(index, (ident, parameter))| {
        let place = Span::call_site().located_at(ty::ends(parameter.ty).1);
        let owned = format_ident!("__argument_{index}", span = place);
        let (value, passed) = (value(parameter), pass(parameter, &owned));
        quote!(let #owned = #value; let #ident = #passed;)
    });
    (description, quote!(#read #(#values)*))
}

/// Returns the value of a `Result`, or code that returns its error. Without optimization, `?` is two calls.
fn or_return(result: &TokenStream) -> TokenStream {
    quote! {
        match #result {
            ::core::result::Result::Ok(__value) => __value,
            ::core::result::Result::Err(__error) => return ::core::result::Result::Err(__error),
        }
    }
}

fn description(tool: &Tool<'_>) -> TokenStream {
    describe(tool, tool.parameters.iter().filter(|parameter| !parameter.injected))
}

fn describe<'p>(
    tool: &Tool<'_>,
    parameters: impl Iterator<Item = &'p Parameter<'p>>,
) -> TokenStream {
    let Tool { name, sequential, return_immediately, requires_approval, .. } = tool;
    let description = &tool.description;
    let timeout = ty::option(tool.timeout.map(milliseconds));
    let key = ty::option(tool.key.as_ref().map(|(_, template)| template.text.to_token_stream()));
    let parameters = parameters.map(parameter);
    quote! {
        __rt::ToolDescription {
            name: #name,
            description: #description,
            parameters: &[#(#parameters),*],
            timeout: #timeout,
            sequential: #sequential,
            return_immediately: #return_immediately,
            requires_approval: #requires_approval,
            key: #key,
        }
    }
}

fn milliseconds(duration: Duration) -> TokenStream {
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Literal::u64_unsuffixed(milliseconds).into_token_stream()
}

// Output:
//     parameter::<u32>("n", Some("How many."), Some(|| default_value::<u32>(3)))
fn parameter(parameter: &Parameter<'_>) -> TokenStream {
    let (name, ty) = (&parameter.name, owned(parameter.ty));
    let description = ty::option(parameter.description.as_ref().map(|text| quote!(#text)));
    let default = ty::option(parameter.default.as_ref().map(|value| match string(value) {
        // The parameter's type is only known to be `From<&str>`.
        Some(text) => quote!(|| __rt::default_value(#text)),
        None => quote!(|| __rt::default_value::<#ty>(#value)),
    }));
    quote!(__rt::parameter::<#ty>(#name, #description, #default))
}

// Output:
//     match ToolArguments::take::<String>(&mut __arguments, "number") { … }
fn value(parameter: &Parameter<'_>) -> TokenStream {
    let (name, ty) = (&parameter.name, parameter.ty);
    if parameter.injected {
        return quote!(__rt::from_context::<#ty>(&__input)?);
    }
    let default = parameter.default.as_ref().map(|value| match string(value) {
        Some(text) => quote!(, || ::core::convert::Into::into(#text)),
        None => quote!(, || #value),
    });
    // All tokens have the span of the type. Otherwise rustc reports a mistake in the type several times.
    let (first, last) = ty::ends(ty);
    let function = Ident::new(if default.is_some() { "take_or" } else { "take" }, first);
    let open = quote_spanned!(first=> __rt::ToolArguments::#function::<);
    let close = quote_spanned!(last=> >);
    let arguments = ty::parenthesized(last, quote!(&mut __arguments, #name #default));
    let ty = owned(ty);
    or_return(&quote!(#open #ty #close #arguments))
}

/// Returns the type to deserialize for a parameter: the owned type for one with a reference.
pub(crate) fn owned(ty: &Type) -> TokenStream {
    match ty::referent(ty) {
        Some(referent) => item_of(referent, &quote!(Referent), "Owned"),
        None if ty::references(ty) > 0 => item_of(ty, &quote!(Lent<'_>), "Owned"),
        None => quote!(#ty),
    }
}

fn pass(parameter: &Parameter<'_>, name: &Ident) -> TokenStream {
    let ty = parameter.ty;
    if parameter.injected || ty::references(ty) == 0 {
        return quote!(#name);
    }
    let (first, last) = ty::ends(ty);
    let function = match ty::referent(ty) {
        Some(referent) => item_of(referent, &quote!(Referent), "lend"),
        None => item_of(ty, &quote!(Lent<'_>), "lend"),
    };
    let reference = quote_spanned!(first=> &);
    let argument = ty::parenthesized(last, quote!(#reference #name));
    quote!(#function #argument)
}

/// Returns `<ty as __rt::trait_>::item`; errors about the type are reported at the type.
fn item_of(ty: &Type, trait_: &TokenStream, item: &str) -> TokenStream {
    let (first, last) = ty::ends(ty);
    let item = Ident::new(item, last);
    let open = quote_spanned!(first=> <);
    let close = quote_spanned!(last=> >::#item);
    let trait_ = quote_spanned!(last=> as __rt::#trait_);
    quote!(#open #ty #trait_ #close)
}

/// Returns the conversion of `__output`; errors about the type are reported at the type.
fn convert(output: &ReturnType) -> TokenStream {
    let place = match output {
        ReturnType::Default => Span::call_site(),
        ReturnType::Type(_, ty) => ty::ends(ty).0,
    };
    let kind = quote!(__rt::Out::of(&__output).__kind());
    quote_spanned!(place=> #kind.convert(__output))
}

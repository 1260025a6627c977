//! Generates the description of each tool and the closure that calls it. Expansion cannot fail.

use super::model::{Function, Parameter, Tool, ToolSet};
use crate::arguments::string;
use crate::{attribute, ty};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use std::time::Duration;
use syn::{ReturnType, Type};

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
        let this = tool.signature.receiver().is_some();
        // A path: with method syntax, a method of another trait with the same name could win.
        let target = match &set.item.trait_ {
            Some((path, _)) => quote!(<Self as #path>::#name),
            None => quote!(Self::#name),
        };
        let tool = value(tool, &target, this);
        let this = this.then(|| quote!(let __this = ::core::clone::Clone::clone(&self);));
        quote!(#(#conditions)* { #this __rt::Vec::push(&mut __tools, #tool); })
    });
    set_impl(
        set,
        &quote! {
            let mut __tools = __rt::Vec::new();
            #(#tools)*
            __tools
        },
    )
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
    let tool = value(&function.tool, &quote!(#name), false);
    function_items(function, &tool)
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
//     tool(ToolDescription { … }, move |__input: ToolInput| { … })
fn value(tool: &Tool<'_>, target: &TokenStream, this: bool) -> TokenStream {
    let description = description(tool);
    let takes_arguments = tool.parameters.iter().any(|parameter| !parameter.injected);
    let arguments = takes_arguments
        .then(|| quote!(let mut __arguments = __rt::ToolInput::arguments(&__input)?;));
    // Dropped before the tool runs.
    let drop = takes_arguments.then(|| quote!(::core::mem::drop(__arguments);));
    let names = tool.parameters.iter().enumerate().map(|(index, parameter)| {
        let place = Span::call_site().located_at(ty::ends(parameter.ty).1);
        format_ident!("__argument_{index}", span = place)
    });
    let names: Vec<Ident> = names.collect();
    let bindings = tool.parameters.iter().zip(&names).map(|(parameter, name)| {
        let value = take(parameter);
        quote!(let #name = #value;)
    });
    let passed = tool.parameters.iter().zip(&names).map(|(parameter, name)| pass(parameter, name));
    let dot_await = tool.signature.asyncness.map(|_| quote!(.await));
    let convert = convert(&tool.signature.output);
    let lent = this.then(|| quote!(&*__this,));
    let this = this.then(|| quote!(let __this = ::core::clone::Clone::clone(&__this);));
    let body = quote! {
        #arguments
        #(#bindings)*
        #drop
        let __output = #target(#lent #(#passed),*) #dot_await;
        #convert
    };
    // rustc reports a future that is not `Send` at the name of the tool.
    let place = Span::call_site().located_at(tool.ident().span());
    quote_spanned! {place=>
        __rt::tool(#description, move |__input: __rt::ToolInput| {
            #this
            async move { #body }
        })
    }
}

fn description(tool: &Tool<'_>) -> TokenStream {
    let Tool { name, sequential, return_immediately, .. } = tool;
    let description = &tool.description;
    let timeout = ty::option(tool.timeout.map(duration));
    let parameters = tool.parameters.iter().filter(|parameter| !parameter.injected).map(parameter);
    let parameters: Vec<TokenStream> = parameters.collect();
    let parameters = match parameters.as_slice() {
        [] => quote!(__rt::Vec::new()),
        parameters => quote!(::core::convert::From::from([#(#parameters),*])),
    };
    quote! {
        __rt::ToolDescription {
            name: #name,
            description: #description,
            parameters: #parameters,
            timeout: #timeout,
            sequential: #sequential,
            return_immediately: #return_immediately,
        }
    }
}

fn duration(duration: Duration) -> TokenStream {
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let milliseconds = Literal::u64_unsuffixed(milliseconds);
    quote!(__rt::Duration::from_millis(#milliseconds))
}

// Output:
//     parameter::<u32>("n", Some("How many."), Some(default_value::<u32>(|| 3)))
fn parameter(parameter: &Parameter<'_>) -> TokenStream {
    let (name, ty) = (&parameter.name, owned(parameter.ty));
    let description = ty::option(parameter.description.as_ref().map(|text| quote!(#text)));
    let default = ty::option(parameter.default.as_ref().map(|value| match string(value) {
        // The parameter's type is only known to be `From<&str>`.
        Some(text) => quote!(__rt::default_value(|| #text)),
        None => quote!(__rt::default_value::<#ty>(|| #value)),
    }));
    quote!(__rt::parameter::<#ty>(#name, #description, #default))
}

// Output:
//     ToolArguments::take::<String>(&mut __arguments, "number")?
fn take(parameter: &Parameter<'_>) -> TokenStream {
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
    let question_mark = quote_spanned!(last=> ?);
    let arguments = ty::parenthesized(last, quote!(&mut __arguments, #name #default));
    let ty = owned(ty);
    quote!(#open #ty #close #arguments #question_mark)
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

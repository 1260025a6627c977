//! Generates the struct that implements the trait. One function per generated item; expansion cannot fail.

use super::arguments::{self, static_name};
use super::model::{Method, Moderation, Piece, Retrieval, Role, Service};
use super::{boxed, budget, guardrails, stages, tools, user_parts};
use crate::attribute;
use crate::template::Template;
use crate::ty;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::FnArg;

// Input:
//     pub trait Support { async fn chat(&self, message: &str) -> Result<String>; }
//
// Output:
//     pub struct SupportService { service: AiService }
//     const _: () = {
//         static __METHOD_0: Method = …;
//         impl SupportService { pub fn builder() … }
//         impl Service for SupportService { … }
//         impl Support for SupportService { … }
//     };
pub(crate) fn service(service: &Service<'_>) -> TokenStream {
    let definition = definition(service);
    let common = common_impls(service);
    let description = description(service);
    let implementation = implementation(service, call);
    let statics = service.methods.iter().enumerate().map(|(index, method)| {
        let (name, conditions) = (static_name(index), attribute::conditions(&method.item.attrs));
        let value = method_description(service, method);
        quote!(#(#conditions)* static #name: __rt::Method = #value;)
    });
    let templates =
        service.system.iter().chain(&service.user).chain(
            service.methods.iter().flat_map(|method| method.system.iter().chain(&method.user)),
        );
    let tracking = templates.filter_map(Template::tracking);
    let one_text = user_parts::single_text_checks(service);
    let tools = tools::into_tools(service);
    block(
        service,
        &definition,
        &quote!(#(#tracking)* #(#statics)* #one_text #common #description #implementation #tools),
    )
}

/// Returns the struct, and a block with all items without a name.
pub(crate) fn block(
    service: &Service<'_>,
    definition: &TokenStream,
    items: &TokenStream,
) -> TokenStream {
    let (allow, import) = (ty::allow(), service.runtime.import());
    quote! {
        #definition
        #allow
        const _: () = {
            #import
            use __rt::TextArgument as _;
            #items
        };
    }
}

// Output:
//     /// AI service that implements [`Support`]. Created by [`SupportService::builder`].
//     pub struct SupportService { service: AiService }
pub(crate) fn definition(service: &Service<'_>) -> TokenStream {
    let Service { item, name, runtime, .. } = service;
    let doc =
        format!("AI service that implements [`{}`]. Created by [`{name}::builder`].", item.ident);
    let (vis, rt) = (&item.vis, runtime.private());
    quote! {
        #[doc = #doc]
        #[derive(::core::clone::Clone, ::core::fmt::Debug)]
        #vis struct #name {
            service: #rt::AiService,
        }
    }
}

/// Returns `builder`, and the `Deref` to the `AiService`.
pub(crate) fn common_impls(service: &Service<'_>) -> TokenStream {
    let Service { item, name, runtime, .. } = service;
    let vis = &item.vis;
    let doc = format!("Returns a builder of a `{name}`.");
    quote! {
        #[automatically_derived]
        impl #name {
            #[doc = #doc]
            #vis fn builder() -> #runtime::AiServiceBuilder<Self> {
                #runtime::AiServiceBuilder::new()
            }
        }

        #[automatically_derived]
        impl ::core::ops::Deref for #name {
            type Target = #runtime::AiService;
            fn deref(&self) -> &Self::Target {
                &self.service
            }
        }
    }
}

/// Returns the description of the service for the builder.
fn description(service: &Service<'_>) -> TokenStream {
    let has_memory = |method: &Method<'_>| method.with_role(Role::MemoryId).is_some();
    let memory = requirement(service.methods.iter().any(has_memory));
    let is_moderated = |method: &Method<'_>| {
        let Moderation { message, answer } = service.moderation(method);
        message || answer
    };
    let moderation = requirement(service.methods.iter().any(is_moderated));
    let methods = service.methods.iter().enumerate().map(|(index, method)| {
        let (name, conditions) = (static_name(index), attribute::conditions(&method.item.attrs));
        quote!(#(#conditions)* &#name)
    });
    service_impl(service, (&memory, &moderation), &quote!(#(#methods),*))
}

pub(crate) fn service_impl(
    service: &Service<'_>,
    (memory, moderation): (&Ident, &Ident),
    methods: &TokenStream,
) -> TokenStream {
    let (name, trait_name) = (&service.name, service.item.ident.to_string());
    let guardrails = guardrails::of_the_trait(service);
    quote! {
        #[automatically_derived]
        impl __rt::Service for #name {
            type Memory = __rt::#memory;
            type Moderation = __rt::#moderation;
            const NAME: &'static str = #trait_name;
            const METHODS: &'static [&'static __rt::Method] = &[#methods];
            #guardrails
            fn from_ai_service(service: __rt::AiService) -> Self {
                Self { service }
            }
        }
    }
}

pub(crate) fn requirement(required: bool) -> Ident {
    if required { format_ident!("Required") } else { format_ident!("Optional") }
}

/// Returns the implementation of the trait. `body` is called with each method and its index.
pub(crate) fn implementation(
    service: &Service<'_>,
    body: impl Fn(&Method<'_>, usize) -> TokenStream,
) -> TokenStream {
    let (item, name) = (&service.item.ident, &service.name);
    let methods = service.methods.iter().enumerate().map(|(index, method)| {
        let conditions = attribute::conditions(&method.item.attrs);
        let signature = stripped(method, service);
        let body = body(method, index);
        quote!(#(#conditions)* #signature { #body })
    });
    // Both are empty, unless they were reported.
    let unsafety = &service.item.unsafety;
    let (generics, arguments, clause) = service.item.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        #unsafety impl #generics #item #arguments for #name #clause {
            #(#methods)*
        }
    }
}

/// Returns the signature that the trait has after the expansion.
pub(crate) fn stripped(method: &Method<'_>, service: &Service<'_>) -> syn::Signature {
    let mut signature = method.item.sig.clone();
    attribute::strip(&mut Vec::new(), &mut signature);
    match signature.asyncness {
        Some(_) => boxed::signature(&signature, &service.runtime),
        None => signature,
    }
}

// Output:
//     Method { name: "chat", system: Some(Template { … }), user: None, …, answer: <R as MethodReturn>::answer }
fn method_description(service: &Service<'_>, method: &Method<'_>) -> TokenStream {
    let name = method.ident().to_string();
    let template = |pieces: &Option<Vec<Piece>>| ty::option(pieces.as_deref().map(template));
    let (system, user) = (template(&method.prompts.system), template(&method.prompts.user));
    let Moderation { message, answer } = service.moderation(method);
    let guardrails = guardrails::declared(&method.guardrails);
    let tools = stages::declared(&method.tools);
    let tool_choice = stages::declared_choice(&method.tools);
    let budgets = budget::declared([&service.budget, &method.budget]);
    let retrieval = method.retrieval == Retrieval::Inherited;
    let output = boxed::output(&method.item.sig);
    let answer_form = from_return(method, &output, "answer");
    quote! {
        __rt::Method {
            name: #name,
            system: #system,
            user: #user,
            moderate: #message,
            moderate_answer: #answer,
            guardrails: #guardrails,
            tools: #tools,
            tool_choice: #tool_choice,
            budgets: #budgets,
            retrieval: #retrieval,
            answer: #answer_form,
        }
    }
}

// Output:
//     Template { pieces: &[Piece::Literal("Hi "), Piece::Variable(0)] }
fn template(pieces: &[Piece]) -> TokenStream {
    let pieces = pieces.iter().filter_map(|piece| {
        Some(match piece {
            Piece::Text(text) => quote!(__rt::Piece::Literal(#text)),
            Piece::Variable(index) => {
                let index = Literal::usize_unsuffixed(*index);
                quote!(__rt::Piece::Variable(#index))
            }
            Piece::Builtin(variant) => {
                let variant = format_ident!("{variant}");
                quote!(__rt::Piece::#variant)
            }
            Piece::Unknown(_) => return None,
        })
    });
    quote!(__rt::Template { pieces: &[#(#pieces),*] })
}

// Output:
//     call::<<R as MethodReturn>::This>(&self.service, &__METHOD_0, Arguments { memory_id: … })
// or for a stream
//     stream::<<R as StreamReturn>::This>(&self.service, &__METHOD_0, Arguments { memory_id: … })
fn call(method: &Method<'_>, index: usize) -> TokenStream {
    let name = static_name(index);
    let this = method.item.sig.inputs.iter().find_map(|input| match input {
        FnArg::Receiver(receiver) => Some(&receiver.self_token),
        FnArg::Typed(_) => None,
    });
    let output = boxed::output(&method.item.sig);
    let arguments = arguments::of_call(method);
    let arguments = quote!(&#this.service, &#name, #arguments);
    let (first, last) = ty::ends(&output);
    let function = format_ident!("{}", if method.streams() { "stream" } else { "call" });
    let return_type = from_return(method, &output, "This");
    let open = quote_spanned!(first=> __rt::#function::<);
    let close = quote_spanned!(last=> >);
    let arguments = ty::parenthesized(last, arguments);
    quote!(#open #return_type #close #arguments)
}

// Output:
//     <R as MethodReturn>::item
//
// All tokens have the span of the type. Otherwise rustc reports a mistake in the type several times.
fn from_return(method: &Method<'_>, output: &TokenStream, item: &str) -> TokenStream {
    let (first, last) = ty::ends(output);
    let kind = format_ident!("{}", if method.streams() { "StreamReturn" } else { "MethodReturn" });
    let item = Ident::new(item, last);
    let open = quote_spanned!(first=> <);
    let close = quote_spanned!(last=> as __rt::#kind>::#item);
    quote!(#open #output #close)
}

use crate::testing::{item, pretty};
use expect_test::expect;
use quote::quote;

fn expand(arguments: proc_macro2::TokenStream, trait_: &proc_macro2::TokenStream) -> String {
    pretty(super::ai_service(arguments, trait_))
}

fn support() -> String {
    expand(
        quote!(),
        &quote! {
            #[system_message("You work for {{company}}. Today is {{current_date}}.")]
            pub trait Support {
                async fn chat(
                    &self,
                    #[memory_id] customer: &str,
                    #[v] company: &str,
                    #[user_message] message: &str,
                ) -> Result<String>;
            }
        },
    )
}

#[test]
fn user_trait_is_boxed_and_stripped() {
    expect![[r#"
        pub trait Support {
            fn chat<'life0, 'life1, 'life2, 'life3, 'async_trait>(
                &'life0 self,
                customer: &'life1 str,
                company: &'life2 str,
                message: &'life3 str,
            ) -> ::core::pin::Pin<
                ::ai_services::__private::Box<
                    dyn ::core::future::Future<
                        Output = Result<String>,
                    > + ::core::marker::Send + 'async_trait,
                >,
            >
            where
                'life0: 'async_trait,
                'life1: 'async_trait,
                'life2: 'async_trait,
                'life3: 'async_trait,
                Self: 'async_trait;
        }
    "#]]
    .assert_eq(&item(&support(), "pub trait Support"));
}

#[test]
fn definition_is_documented() {
    let text = support();
    let doc = "///AI service that implements [`Support`]. Created by [`SupportService::builder`].";
    assert!(text.contains(doc), "{text}");
    expect![[r#"
        pub struct SupportService {
            service: ::ai_services::__private::AiService,
        }
    "#]]
    .assert_eq(&item(&text, "pub struct"));
}

#[test]
fn method_is_a_static_description() {
    expect![[r#"
        static __METHOD_0: __rt::Method = __rt::Method {
            name: "chat",
            system: ::core::option::Option::Some(__rt::Template {
                pieces: &[
                    __rt::Piece::Literal("You work for "),
                    __rt::Piece::Variable(0),
                    __rt::Piece::Literal(". Today is "),
                    __rt::Piece::CurrentDate,
                    __rt::Piece::Literal("."),
                ],
            }),
            user: ::core::option::Option::None,
            moderate: false,
            moderate_answer: false,
            guardrails: __rt::DeclaredGuardrails::NONE,
            tools: __rt::DeclaredTools::All,
            tool_choice: __rt::DeclaredToolChoice::Inherited,
            budgets: &[],
            retrieval: true,
            answer: <Result<String> as __rt::MethodReturn>::answer,
        };
    "#]]
    .assert_eq(&item(&support(), "static __METHOD_0"));
}

#[test]
fn method_body_is_one_call() {
    expect![[r#"
        __rt::call::<
            <Result<String> as __rt::MethodReturn>::This,
        >(
            &self.service,
            &__METHOD_0,
            __rt::Arguments {
                memory_id: ::core::option::Option::Some(__rt::memory_id(&customer)),
                variables: &[__rt::variable(&company)],
                user_message: &[<__rt::UserArgument<&str>>::part(&message)],
                user_name: ::core::option::Option::None,
                parameters: ::core::option::Option::None,
                context: ::core::option::Option::None,
            },
        )
    "#]]
    .assert_eq(&item(&support(), "__rt::call::<"));
}

#[test]
fn tool_takes_its_memory_id_from_the_outer_call() {
    let text = expand(
        quote!(),
        &quote! {
            pub trait Support {
                /// Answers a customer.
                #[tool(read_only)]
                #[system_message("You help {{customer}}.")]
                async fn chat(
                    &self,
                    #[memory_id]
                    #[v]
                    customer: &str,
                    #[user_message]
                    #[p("The question")]
                    message: &str,
                ) -> Result<String>;
            }
        },
    );
    expect![[r#"
        __rt::start_nested(
            __service,
            &__METHOD_0,
            __input,
            __rt::Arguments {
                memory_id: ::core::option::Option::Some(__memory_id),
                variables: &[__rt::variable(&customer)],
                user_message: &[<__rt::UserArgument<&str>>::part(&message)],
                user_name: ::core::option::Option::None,
                parameters: ::core::option::Option::None,
                context: ::core::option::Option::None,
            },
        )
    "#]]
    .assert_eq(&item(&text, "__rt::start_nested("));
}

#[test]
fn body_of_a_streaming_method_is_one_call() {
    let text = expand(
        quote!(),
        &quote! {
            trait Support {
                fn chat(&self, message: &str) -> AnswerStream;
            }
        },
    );
    expect![[r#"
        __rt::stream::<
            <AnswerStream as __rt::StreamReturn>::This,
        >(
            &self.service,
            &__METHOD_0,
            __rt::Arguments {
                memory_id: ::core::option::Option::None,
                variables: &[],
                user_message: &[<__rt::UserArgument<&str>>::part(&message)],
                user_name: ::core::option::Option::None,
                parameters: ::core::option::Option::None,
                context: ::core::option::Option::None,
            },
        )
    "#]]
    .assert_eq(&item(&text, "__rt::stream::<"));
    expect![[r#"
        static __METHOD_0: __rt::Method = __rt::Method {
            name: "chat",
            system: ::core::option::Option::None,
            user: ::core::option::Option::None,
            moderate: false,
            moderate_answer: false,
            guardrails: __rt::DeclaredGuardrails::NONE,
            tools: __rt::DeclaredTools::All,
            tool_choice: __rt::DeclaredToolChoice::Inherited,
            budgets: &[],
            retrieval: true,
            answer: <AnswerStream as __rt::StreamReturn>::answer,
        };
    "#]]
    .assert_eq(&item(&text, "static __METHOD_0"));
}

#[test]
fn service_describes_builder_requirements() {
    expect![[r#"
        impl __rt::Service for SupportService {
            type Memory = __rt::Required;
            type Moderation = __rt::Optional;
            const NAME: &'static str = "Support";
            const METHODS: &'static [&'static __rt::Method] = &[&__METHOD_0];
            fn from_ai_service(service: __rt::AiService) -> Self {
                Self { service }
            }
        }
    "#]]
    .assert_eq(&item(&support(), "impl __rt::Service for"));
}

#[test]
fn common_impls_use_absolute_paths() {
    expect![[r#"
        impl SupportService {
            ///Returns a builder of a `SupportService`.
            pub fn builder() -> ::ai_services::AiServiceBuilder<Self> {
                ::ai_services::AiServiceBuilder::new()
            }
        }
    "#]]
    .assert_eq(&item(&support(), "impl SupportService"));
    expect![[r#"
        impl ::core::ops::Deref for SupportService {
            type Target = ::ai_services::AiService;
            fn deref(&self) -> &Self::Target {
                &self.service
            }
        }
    "#]]
    .assert_eq(&item(&support(), "impl ::core::ops::Deref"));
}

#[test]
fn template_uses_each_kind_of_piece() {
    let text = expand(
        quote!(),
        &quote! {
            trait Translator {
                #[moderate]
                #[user_message("{{it}} at {{ current_time }}", "to {{language}} {{{{x}}}}")]
                async fn translate(&self, text: &str, #[v("language")] to: Language) -> Result<String>;
            }
        },
    );
    expect![[r#"
        static __METHOD_0: __rt::Method = __rt::Method {
            name: "translate",
            system: ::core::option::Option::None,
            user: ::core::option::Option::Some(__rt::Template {
                pieces: &[
                    __rt::Piece::Variable(0),
                    __rt::Piece::Literal(" at "),
                    __rt::Piece::CurrentTime,
                    __rt::Piece::Literal("\nto "),
                    __rt::Piece::Variable(1),
                    __rt::Piece::Literal(" {{"),
                    __rt::Piece::Literal("x}}"),
                ],
            }),
            moderate: true,
            moderate_answer: false,
            guardrails: __rt::DeclaredGuardrails::NONE,
            tools: __rt::DeclaredTools::All,
            tool_choice: __rt::DeclaredToolChoice::Inherited,
            budgets: &[],
            retrieval: true,
            answer: <Result<String> as __rt::MethodReturn>::answer,
        };
    "#]]
    .assert_eq(&item(&text, "static __METHOD_0"));
}

#[test]
fn guardrails_are_created_by_functions() {
    let text = expand(
        quote!(),
        &quote! {
            #[input_guardrails(Length(5))]
            #[moderate]
            trait Chat {
                #[output_guardrails(Tone, Json::new(), max_retries = 3)]
                #[moderate(answer)]
                async fn chat(&self, text: &str) -> Result<String>;
            }
        },
    );
    expect![[r#"
        static __METHOD_0: __rt::Method = __rt::Method {
            name: "chat",
            system: ::core::option::Option::None,
            user: ::core::option::Option::None,
            moderate: true,
            moderate_answer: true,
            guardrails: __rt::DeclaredGuardrails {
                input: ::core::option::Option::None,
                output: ::core::option::Option::Some(|| __rt::guardrails([
                    __rt::output_guardrail(Tone),
                    __rt::output_guardrail(Json::new()),
                ])),
                max_retries: ::core::option::Option::Some(3),
            },
            tools: __rt::DeclaredTools::All,
            tool_choice: __rt::DeclaredToolChoice::Inherited,
            budgets: &[],
            retrieval: true,
            answer: <Result<String> as __rt::MethodReturn>::answer,
        };
    "#]]
    .assert_eq(&item(&text, "static __METHOD_0"));
    expect![[r#"
        impl __rt::Service for ChatService {
            type Memory = __rt::Optional;
            type Moderation = __rt::Required;
            const NAME: &'static str = "Chat";
            const METHODS: &'static [&'static __rt::Method] = &[&__METHOD_0];
            const GUARDRAILS: __rt::DeclaredGuardrails = __rt::DeclaredGuardrails {
                input: ::core::option::Option::Some(|| __rt::guardrails([
                    __rt::input_guardrail(Length(5)),
                ])),
                output: ::core::option::Option::None,
                max_retries: ::core::option::Option::None,
            };
            fn from_ai_service(service: __rt::AiService) -> Self {
                Self { service }
            }
        }
    "#]]
    .assert_eq(&item(&text, "impl __rt::Service for"));
}

#[test]
fn default_method_is_boxed() {
    let text = expand(
        quote!(),
        &quote! {
            trait Jokes {
                async fn twice(&self, mut topic: String, (a, b): (u8, u8)) -> Result<String> {
                    self.joke(&topic).await
                }
            }
        },
    );
    expect![[r#"
        trait Jokes {
            fn twice<'life0, 'async_trait>(
                &'life0 self,
                topic: String,
                __argument2: (u8, u8),
            ) -> ::core::pin::Pin<
                ::ai_services::__private::Box<
                    dyn ::core::future::Future<
                        Output = Result<String>,
                    > + ::core::marker::Send + 'async_trait,
                >,
            >
            where
                'life0: 'async_trait,
                Self: 'async_trait,
                Self: ::core::marker::Sync,
            {
                ::ai_services::__private::Box::pin(async move {
                    if let ::core::option::Option::Some(__output) = ::core::option::Option::None::<
                        Result<String>,
                    > {
                        return __output;
                    }
                    let mut topic = topic;
                    let (a, b) = __argument2;
                    let __output: Result<String> = { self.joke(&topic).await };
                    __output
                })
            }
        }
    "#]]
    .assert_eq(&item(&text, "trait Jokes"));
}

#[test]
fn parameters_and_context_are_passed() {
    let text = expand(
        quote!(),
        &quote! {
            trait Chat {
                async fn chat(
                    &self,
                    #[user_message] text: String,
                    #[user_name] name: &str,
                    #[parameters] parameters: ChatRequestParameters,
                    #[context] bag: &InvocationContext,
                ) -> Result<String>;
            }
        },
    );
    expect![[r#"
        __rt::call::<
            <Result<String> as __rt::MethodReturn>::This,
        >(
            &self.service,
            &__METHOD_0,
            __rt::Arguments {
                memory_id: ::core::option::Option::None,
                variables: &[],
                user_message: &[<__rt::UserArgument<String>>::part(&text)],
                user_name: ::core::option::Option::Some(__rt::variable(&name)),
                parameters: ::core::option::Option::Some(
                    __rt::parameters(parameters),
                ),
                context: ::core::option::Option::Some(__rt::context(bag)),
            },
        )
    "#]]
    .assert_eq(&item(&text, "__rt::call::<"));
}

#[test]
fn several_texts_are_rejected() {
    let text = expand(
        quote!(),
        &quote! {
            trait Chat {
                async fn chat(
                    &self,
                    #[user_message] text: &str,
                    #[user_message] image: ImageContent,
                ) -> Result<String>;
            }
        },
    );
    expect![[r#"
        const _: () = ::core::assert!(
            ! ((< __rt::UserArgument < & str > > ::PRINTS && ! < __rt::UserArgument < & str >
            > ::IS_CONTENT) && (< __rt::UserArgument < ImageContent > > ::PRINTS && ! <
            __rt::UserArgument < ImageContent > > ::IS_CONTENT)),
            "method `chat` has more than one text in its user message\nnote: the first one is parameter `text`, the second one parameter `image`\nhelp: mark `image` with `#[v]` and use it in the template of the method"
        );
    "#]]
    .assert_eq(&item(&text, "const _: () = ::core::assert"));
}

#[test]
fn cfg_attributes_are_copied() {
    let text = expand(
        quote!(),
        &quote! {
            trait Chat {
                #[cfg(feature = "chat")]
                async fn chat(&self, text: &str) -> Result<String>;
            }
        },
    );
    assert_eq!(text.matches("#[cfg(feature = \"chat\")]").count(), 4);
}

#[test]
fn invalid_trait_keeps_its_service() {
    let text = expand(
        quote!(),
        &quote! {
            trait Chat {
                async fn chat(&self, #[memory_id] id: u64) -> Result<String>;
            }
        },
    );
    expect![[r#"
        impl Chat for ChatService {
            fn chat<'life0, 'async_trait>(
                &'life0 self,
                id: u64,
            ) -> ::core::pin::Pin<
                ::ai_services::__private::Box<
                    dyn ::core::future::Future<
                        Output = Result<String>,
                    > + ::core::marker::Send + 'async_trait,
                >,
            >
            where
                'life0: 'async_trait,
                Self: 'async_trait,
            {
                let _ = (&id);
                ::ai_services::__private::incomplete::<()>()
            }
        }
    "#]]
    .assert_eq(&item(&text, "impl Chat for"));
    expect![[r#"
        const _: fn() = || {
            __rt::assert_return::<Result<String>>();
            __rt::assert_memory_id::<u64>();
        };
    "#]]
    .assert_eq(&item(&text, "const _: fn()"));
}

#[test]
fn runtime_path_replaces_every_path() {
    let text = expand(
        quote!(crate = mine::ai, name = "Bot"),
        &quote! {
            #[system_message("{{x}}")]
            trait Chat {
                async fn chat(&self, #[memory_id] id: u64, #[user_message] text: &str, #[v] x: u8) -> Result<String>;
                async fn hello(&self) -> Result<String> { todo!() }
            }
        },
    );
    assert!(!text.contains("ai_services"), "{text}");
    assert!(text.contains("struct Bot"), "{text}");
}

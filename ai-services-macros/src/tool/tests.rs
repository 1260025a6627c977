use crate::testing::{item, pretty};
use expect_test::expect;
use quote::quote;

fn bookings() -> String {
    pretty(super::tools(
        quote!(),
        &quote! {
            impl Bookings {
                /// Cancels a booking.
                #[tool(timeout = "2s", sequential)]
                async fn cancel(
                    &self,
                    #[memory_id] customer: &MemoryId,
                    /// The booking number.
                    number: &str,
                    #[p("Why.", default = "none")] reason: String,
                ) -> Result<(), Error> {
                    self.db.cancel(customer, number).await
                }

                fn helper(&self) {}
            }
        },
    ))
}

#[test]
fn impl_block_is_stripped() {
    expect![[r#"
        impl Bookings {
            /// Cancels a booking.
            async fn cancel(
                &self,
                customer: &MemoryId,
                number: &str,
                reason: String,
            ) -> Result<(), Error> {
                self.db.cancel(customer, number).await
            }
            fn helper(&self) {}
        }
    "#]]
    .assert_eq(&item(&bookings(), "impl Bookings"));
}

#[test]
fn tool_is_described() {
    expect![[r#"
        description: __rt::ToolDescription {
            name: "cancel",
            description: "Cancels a booking.",
            parameters: &[
                __rt::parameter::<
                    <str as __rt::Referent>::Owned,
                >(
                    "number",
                    ::core::option::Option::Some("The booking number."),
                    ::core::option::Option::None,
                ),
                __rt::parameter::<
                    String,
                >(
                    "reason",
                    ::core::option::Option::Some("Why."),
                    ::core::option::Option::Some(|| __rt::default_value("none")),
                ),
            ],
            timeout: ::core::option::Option::Some(2000),
            sequential: true,
            return_immediately: false,
            requires_approval: false,
            key: ::core::option::Option::None,
        },
    "#]]
    .assert_eq(&item(&bookings(), "description: __rt::ToolDescription"));
}

#[test]
fn tool_is_called_with_its_arguments() {
    let text = pretty(super::tools(
        quote!(),
        &quote! {
            impl Bookings {
                /// Cancels a booking.
                #[tool]
                async fn cancel(&self, #[memory_id] customer: &MemoryId, number: &str) {}
            }
        },
    ));
    expect![[r#"
        start: |__this, __input| {
            let mut __arguments = match __rt::ToolInput::arguments(
                &__input,
            ) {
                ::core::result::Result::Ok(__value) => __value,
                ::core::result::Result::Err(__error) => {
                    return ::core::result::Result::Err(__error);
                }
            };
            let __argument_1 = match __rt::ToolArguments::take::<
                <str as __rt::Referent>::Owned,
            >(&mut __arguments, "number") {
                ::core::result::Result::Ok(__value) => __value,
                ::core::result::Result::Err(__error) => {
                    return ::core::result::Result::Err(__error);
                }
            };
            ::core::mem::drop(__arguments);
            let __this = ::core::clone::Clone::clone(__this);
            ::core::result::Result::Ok(
                __rt::StartedTool::Running(
                    __rt::Box::pin(async move {
                        let __argument_0 = __rt::from_context::<
                            &MemoryId,
                        >(&__input)?;
                        let __output = Self::cancel(
                                &*__this,
                                __argument_0,
                                <str as __rt::Referent>::lend(&__argument_1),
                            )
                            .await;
                        __rt::Out::of(&__output).__kind().convert(__output)
                    }),
                ),
            )
        },
    "#]]
    .assert_eq(&item(&text, "start: |__this"));
}

#[test]
fn tool_set_has_bounds() {
    let text = pretty(super::tools(
        quote!(),
        &quote! {
            impl<T: Db> Bookings<T> where T: Clone {
                /// Lists.
                #[tool]
                fn list() -> u8 { 0 }
            }
        },
    ));
    expect![[r#"
        impl<T: Db> __rt::ToolSet for Bookings<T>
        where
            T: Clone,
            Bookings<T>: ::core::marker::Send + ::core::marker::Sync + 'static,
        {
            fn tools(self: __rt::Arc<Self>) -> __rt::Vec<__rt::Tool> {
                __rt::tools::<
                    __rt::Arc<Self>,
                >(
                    &self,
                    const {
                        &[
                            __rt::DeclaredTool {
                                description: __rt::ToolDescription {
                                    name: "list",
                                    description: "Lists.",
                                    parameters: &[],
                                    timeout: ::core::option::Option::None,
                                    sequential: false,
                                    return_immediately: false,
                                    requires_approval: false,
                                    key: ::core::option::Option::None,
                                },
                                start: |__this, __input| {
                                    let __output = Self::list();
                                    __rt::finished(
                                        __rt::Out::of(&__output).__kind().convert(__output),
                                    )
                                },
                                effect: __rt::DeclaredEffect::AtMostOnce,
                            },
                        ]
                    },
                )
            }
        }
    "#]]
    .assert_eq(&item(&text, "impl<T: Db> __rt::ToolSet"));
}

#[test]
fn function_becomes_a_tool() {
    let text = pretty(super::function(
        quote!(name = "plus"),
        &quote! {
            /// Adds.
            pub async fn add(#[p(default = vec![1])] all: Vec<i64>) -> i64 { 0 }
        },
    ));
    expect![[r#"
        start: |__this, __input| {
            let mut __arguments = match __rt::ToolInput::arguments(&__input) {
                ::core::result::Result::Ok(__value) => __value,
                ::core::result::Result::Err(__error) => {
                    return ::core::result::Result::Err(__error);
                }
            };
            let __argument_0 = match __rt::ToolArguments::take_or::<
                Vec<i64>,
            >(&mut __arguments, "all", || vec![1]) {
                ::core::result::Result::Ok(__value) => __value,
                ::core::result::Result::Err(__error) => {
                    return ::core::result::Result::Err(__error);
                }
            };
            ::core::mem::drop(__arguments);
            ::core::result::Result::Ok(
                __rt::StartedTool::Running(
                    __rt::Box::pin(async move {
                        let __output = add(__argument_0).await;
                        __rt::Out::of(&__output).__kind().convert(__output)
                    }),
                ),
            )
        },
    "#]]
    .assert_eq(&item(&text, "start: |__this"));
}

#[test]
fn verifier_is_a_method_of_the_type() {
    let text = pretty(super::tools(
        quote!(),
        &quote! {
            impl Payments {
                /// Pays.
                #[tool(verify = find, key = "{{order}}")]
                async fn pay(&self, order: String) {}
            }
        },
    ));
    expect![[r#"
        effect: __rt::DeclaredEffect::Verifiable(|__this, __input| {
            let __this = ::core::clone::Clone::clone(__this);
            __rt::Box::pin(async move {
                let __output = Self::find(&*__this, __input).await;
                __rt::verified(__output)
            })
        }),
    "#]]
    .assert_eq(&item(&text, "effect: __rt"));
}

#[test]
fn verifier_of_a_function_is_a_function() {
    let text = pretty(super::function(
        quote!(verify = payments::find),
        &quote! {
            /// Pays.
            fn pay(order: String) {}
        },
    ));
    expect![[r#"
        effect: __rt::DeclaredEffect::Verifiable(|_, __input| __rt::Box::pin(async move {
            let __output = payments::find(__input).await;
            __rt::verified(__output)
        })),
    "#]]
    .assert_eq(&item(&text, "effect: __rt"));
}

#[test]
fn invalid_tool_keeps_its_type_checks() {
    let text = pretty(super::function(
        quote!(),
        &quote!(
            fn add(a: &str, #[context] b: &Bag) {}
        ),
    ));
    expect![[r#"
        impl add {
            ///Returns the function `add` as a tool.
            #[must_use]
            fn tool() -> ::ai_services::Tool {
                use ::ai_services::__private as __rt;
                __rt::assert_tool_parameter::<<str as __rt::Referent>::Owned>();
                __rt::assert_injected::<&Bag>();
                __rt::incomplete::<()>()
            }
        }
    "#]]
    .assert_eq(&item(&text, "impl add {"));
}

#[test]
fn runtime_path_replaces_every_path() {
    let set = super::tools(
        quote!(crate = mine::ai),
        &quote! {
            impl Bookings {
                /// Adds.
                #[tool(verify = find, key = "{{a}}")]
                async fn add(&self, #[memory_id] id: u8, #[p(default = 1)] a: i64) -> i64 { a }
            }
        },
    );
    let function = super::function(
        quote!(crate = mine::ai),
        &quote! {
            /// Adds.
            fn add(a: i64) -> i64 { a }
        },
    );
    let text = pretty(quote!(#set #function));
    assert!(!text.contains("ai_services"), "{text}");
}

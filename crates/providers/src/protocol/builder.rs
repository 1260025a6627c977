//! Methods that the builders of clients share.

use ai_services_core::{Error, Result};

/// Returns the model of a builder.
///
/// # Errors
///
/// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if none was set.
pub(crate) fn required_model(model: Option<Box<str>>) -> Result<Box<str>> {
    model.ok_or_else(|| Error::configuration("no model: call `model`"))
}

/// Defines methods of a builder. The documentation is that of the caller, because examples and
/// defaults differ between providers.
///
/// A setter needs a field of its name; `api_key` and `base_url` need the field `connection`. `build`
/// and `from_env` need the method `build_with`, which takes the environment as a function.
macro_rules! builder_methods {
    () => {};
    ($(#[$doc:meta])* api_key; $($rest:tt)*) => {
        $(#[$doc])*
        pub fn api_key(mut self, key: impl Into<String>) -> Self {
            self.connection.api_key = Some(secrecy::SecretString::from(key.into()));
            self
        }

        $crate::protocol::builder::builder_methods! { $($rest)* }
    };
    ($(#[$doc:meta])* base_url; $($rest:tt)*) => {
        $(#[$doc])*
        pub fn base_url(mut self, url: impl Into<String>) -> Self {
            self.connection.base_url = Some(url.into());
            self
        }

        $crate::protocol::builder::builder_methods! { $($rest)* }
    };
    ($(#[$doc:meta])* model; $($rest:tt)*) => {
        $(#[$doc])*
        pub fn model(mut self, model: impl Into<Box<str>>) -> Self {
            self.model = Some(model.into());
            self
        }

        $crate::protocol::builder::builder_methods! { $($rest)* }
    };
    ($(#[$doc:meta])* parameters; $($rest:tt)*) => {
        $(#[$doc])*
        pub fn parameters(
            mut self,
            parameters: ai_services_core::model::ChatRequestParameters,
        ) -> Self {
            self.parameters = parameters;
            self
        }

        $crate::protocol::builder::builder_methods! { $($rest)* }
    };
    ($(#[$doc:meta])* capabilities; $($rest:tt)*) => {
        $(#[$doc])*
        pub fn capabilities(mut self, capabilities: ai_services_core::model::Capabilities) -> Self {
            self.capabilities = Some(capabilities);
            self
        }

        $crate::protocol::builder::builder_methods! { $($rest)* }
    };
    ($(#[$doc:meta])* build -> $Model:ty; $($rest:tt)*) => {
        $(#[$doc])*
        pub fn build(self) -> ai_services_core::Result<$Model> {
            self.build_with($crate::protocol::connection::environment)
        }

        $crate::protocol::builder::builder_methods! { $($rest)* }
    };
    (from_env($variable:literal, $default:expr) -> $Model:ty; $($rest:tt)*) => {
        /// Builds the client that environment variables describe.
        pub(super) fn from_env(
            var: impl Fn(&str) -> Option<String>,
        ) -> ai_services_core::Result<$Model> {
            let model = $crate::protocol::connection::variable(&var, $variable);
            Self::default().model(model.unwrap_or_else(|| $default.to_owned())).build_with(var)
        }

        $crate::protocol::builder::builder_methods! { $($rest)* }
    };
}

/// Implements `Debug` with the named fields of a type, or of the value in its first field. The other
/// fields may hold secrets.
macro_rules! debug_fields {
    ($Type:ident { $($field:ident),+ }) => {
        impl std::fmt::Debug for $Type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($Type))
                    $(.field(stringify!($field), &self.$field))+
                    .finish_non_exhaustive()
            }
        }
    };
    ($Type:ident.0 { $($field:ident),+ }) => {
        impl std::fmt::Debug for $Type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($Type))
                    $(.field(stringify!($field), &self.0.$field))+
                    .finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use builder_methods;
pub(crate) use debug_fields;

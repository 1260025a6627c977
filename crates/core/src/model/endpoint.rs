//! The provider of a model.

/// The provider of a model and the address of its server, for traces and metrics.
///
/// # Examples
///
/// ```
/// use ai_services::model::ModelEndpoint;
///
/// let endpoint = ModelEndpoint::new("mistral_ai").with_server("api.mistral.ai", Some(443));
/// assert_eq!((endpoint.provider, endpoint.port), ("mistral_ai", Some(443)));
/// assert_eq!(ModelEndpoint::default().provider, "unknown");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelEndpoint<'a> {
    /// The name of the provider, as in OpenTelemetry's `gen_ai.provider.name`: for example `openai`, `anthropic`,
    /// `gcp.gemini`, `cohere`. A server that is compatible with another provider's protocol has the name of that
    /// provider. Default: `unknown`.
    pub provider: &'a str,
    /// The host name or IP address of the server. `None` for a model in this process.
    pub address: Option<&'a str>,
    /// The port of the server.
    pub port: Option<u16>,
    delegates: bool,
}

impl<'a> ModelEndpoint<'a> {
    /// Creates an endpoint without a server.
    #[must_use]
    pub const fn new(provider: &'a str) -> Self {
        Self { provider, address: None, port: None, delegates: false }
    }

    /// Sets the address of the server.
    #[must_use]
    pub const fn with_server(mut self, address: &'a str, port: Option<u16>) -> Self {
        self.address = Some(address);
        self.port = port;
        self
    }

    /// Returns the endpoint of a model that calls other models, each in a span of its own.
    pub(crate) const fn delegating(mut self) -> Self {
        self.delegates = true;
        self
    }

    /// Returns `true` if the model calls other models, each in a span of its own.
    pub(crate) const fn delegates(&self) -> bool {
        self.delegates
    }
}

impl Default for ModelEndpoint<'_> {
    fn default() -> Self {
        Self::new("unknown")
    }
}

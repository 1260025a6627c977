//! The builder of an [`McpServer`].

use super::McpServer;
use super::gate::Gate;
use super::handler::{Handler, Parts};
use super::offer::{Offer, OfferParts};
use super::principal::{Authentication, McpPrincipal};
use super::raw::RawMethods;
use super::request_state::Sealer;
use super::resource::McpResource;
use super::run::Engine;
use ai_services_core::tool::{ToolSet, ToolSettings};
use ai_services_core::{Error, Result};
use rmcp::model::{Implementation, JsonObject, ServerCapabilities, ServerConfig};
use rmcp::transport::StreamableHttpServerConfig;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The names and addresses of the own computer.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Configures an [`McpServer`].
#[derive(Clone, Debug)]
#[must_use]
pub struct McpServerBuilder {
    name: String,
    version: String,
    instructions: Option<String>,
    offer: OfferParts,
    settings: ToolSettings,
    max_concurrent_calls: usize,
    max_request_bytes: usize,
    hosts: Vec<String>,
    origins: Vec<String>,
    authentication: Option<Authentication>,
    stdio_principal: Option<McpPrincipal>,
    request_state_key: Option<Vec<u8>>,
    raw: RawMethods,
    capabilities: ServerCapabilities,
}

impl McpServerBuilder {
    pub(super) fn new(name: String, version: String) -> Self {
        Self {
            name,
            version,
            instructions: None,
            offer: OfferParts {
                tools: Vec::new(),
                outputs: BTreeMap::new(),
                prompts: Vec::new(),
                resources: Vec::new(),
                page_size: 100,
            },
            settings: ToolSettings::default(),
            max_concurrent_calls: 64,
            max_request_bytes: 4 << 20,
            hosts: LOOPBACK.map(|host| host.trim_matches(['[', ']']).to_owned()).to_vec(),
            origins: LOOPBACK.map(|host| format!("http://{host}:*")).to_vec(),
            authentication: None,
            stdio_principal: None,
            request_state_key: None,
            raw: RawMethods::default(),
            capabilities: ServerCapabilities::default(),
        }
    }

    /// Sets a text about the use of the server, which clients may show to their model. Default: none.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Adds tools: a value whose `impl` block is marked with `#[tools]`, a tool, or a list of tools. May be repeated.
    /// Clients see the tools in this order.
    pub fn tools(mut self, tools: impl ToolSet) -> Self {
        self.offer.tools.extend(Arc::new(tools).tools());
        self
    }

    /// Declares the type of the answers of a tool. Clients get its schema, and each answer also as structured content.
    ///
    /// `T` is the return type of the tool, or the `T` of its `Result<T, _>`. It must be a JSON object.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::mcp::McpServer;
    /// use ai_services::schema::JsonSchema;
    /// use ai_services::tool;
    ///
    /// #[derive(serde::Serialize, JsonSchema)]
    /// # #[schemars(crate = "ai_services::schemars")]
    /// struct Forecast {
    ///     degrees: f64,
    /// }
    ///
    /// /// Returns the forecast of a city.
    /// #[tool(read_only)]
    /// async fn forecast(city: String) -> Forecast {
    ///     Forecast { degrees: city.len() as f64 }
    /// }
    ///
    /// let server = McpServer::builder("weather", "1.0.0")
    ///     .tools(forecast::tool())
    ///     .typed_output::<Forecast>("forecast")
    ///     .build()?;
    /// # let _ = server;
    /// # Ok::<(), ai_services::Error>(())
    /// ```
    pub fn typed_output<T: JsonSchema>(mut self, tool: impl Into<String>) -> Self {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
        // A schema that is not an object fails the build.
        let schema = schema.as_object().cloned().unwrap_or_default();
        self.offer.outputs.insert(tool.into(), schema);
        self
    }

    /// Adds a resource. May be repeated.
    pub fn resource(mut self, resource: McpResource) -> Self {
        self.offer.resources.push(resource);
        self
    }

    /// Adds prompts: tools that return the messages of the user. May be repeated.
    ///
    /// The parameters of the tool are the arguments of the prompt. Clients send all arguments as texts; numbers and
    /// booleans are read from them. Each content that the tool returns becomes a message.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::mcp::McpServer;
    /// use ai_services::tool;
    ///
    /// /// Asks for a review.
    /// #[tool(read_only)]
    /// async fn review(/** The text. */ text: String, points: u8) -> String {
    ///     format!("Review this text in {points} points:\n\n{text}")
    /// }
    ///
    /// let server = McpServer::builder("editor", "1.0.0").prompts(review::tool()).build()?;
    /// # let _ = server;
    /// # Ok::<(), ai_services::Error>(())
    /// ```
    pub fn prompts(mut self, prompts: impl ToolSet) -> Self {
        self.offer.prompts.extend(Arc::new(prompts).tools());
        self
    }

    /// Sets the authentication of HTTP requests. A request for which it fails is answered with status 401. Default: no
    /// authentication, and calls have no memory id.
    ///
    /// The function gets the head of each request. It must not block: let a middleware check a password or token, and
    /// read its verdict from the extensions of the request.
    pub fn principal(
        mut self,
        authenticate: impl Fn(&http::request::Parts) -> Result<McpPrincipal> + Send + Sync + 'static,
    ) -> Self {
        self.authentication = Some(Authentication::new(authenticate));
        self
    }

    /// Sets the principal of [stdio](McpServer::serve_stdio), where the client is the user of this process. Default:
    /// none, and calls have no memory id.
    pub fn stdio_principal(mut self, principal: McpPrincipal) -> Self {
        self.stdio_principal = Some(principal);
        self
    }

    /// Sets the time limit of tools that have no limit of their own. Default: 60 seconds.
    ///
    /// A tool that is not `async` cannot be stopped, so the limit does not apply to it.
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = timeout;
        self
    }

    /// Sets the largest number of calls that run at once, of all clients. Default: 64.
    ///
    /// The same number of calls may wait. Further calls fail at once, with a result that says so.
    pub fn max_concurrent_calls(mut self, calls: usize) -> Self {
        self.max_concurrent_calls = calls;
        self
    }

    /// Sets the largest size of one result, in bytes. A larger result is an error. Default: 256 KiB.
    pub fn max_result_bytes(mut self, bytes: usize) -> Self {
        self.settings.max_result_bytes = bytes;
        self
    }

    /// Sets the largest size of one request, in bytes. Default: 4 MiB.
    ///
    /// A larger HTTP request is answered with status 413. A larger line of stdio is skipped, without an answer. The same
    /// applies to a request with more than 250,000 [structural characters](crate#limits).
    pub fn max_request_bytes(mut self, bytes: usize) -> Self {
        self.max_request_bytes = bytes;
        self
    }

    /// Sets the largest number of tools, resources or prompts in one page of a list. Default: 100.
    pub fn page_size(mut self, entries: usize) -> Self {
        self.offer.page_size = entries;
        self
    }

    /// Allows HTTP requests for a host, for example `mcp.example.com` or `mcp.example.com:8443`. A host without a port
    /// allows each port. Default: only `localhost`, `127.0.0.1` and `[::1]`. Other requests are answered with status
    /// 403.
    pub fn allowed_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Allows HTTP requests of web pages of an origin, for example `https://app.example.com:443`. The port `*` allows
    /// each port. Default: only pages of this computer over `http`. Other requests with an `Origin` are answered with
    /// status 403.
    pub fn allowed_origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Sets the key that seals the state of calls that wait for the client, at least 32 bytes. Default: a random key.
    ///
    /// Needed if several processes serve the same clients: the client may answer to any of them.
    pub fn request_state_key(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.request_state_key = Some(key.into());
        self
    }

    /// Adds a handler for a JSON-RPC method, for example `completion/complete`.
    ///
    /// This is an escape hatch for methods that are deprecated, or have no API here. The capabilities follow from
    /// `completion/complete`, `logging/setLevel` and `resources/subscribe`. The handler gets the parameters. Its errors
    /// have a text for the client only if their kind is
    /// [`InvalidRequest`](ai_services_core::ErrorKind::InvalidRequest).
    pub fn raw_method<F, Fut>(mut self, method: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value>> + Send + 'static,
    {
        let method = method.into();
        match method.as_str() {
            "completion/complete" => self.capabilities.completions = Some(JsonObject::new()),
            "logging/setLevel" => self.capabilities.logging = Some(JsonObject::new()),
            "resources/subscribe" => {
                self.capabilities.resources.get_or_insert_default().subscribe = Some(true);
            }
            _ => {}
        }
        self.raw.add(method, handler);
        self
    }

    /// Creates the server.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if two tools, prompts or
    /// resources share a name, if a tool requires approval, if a [`typed_output`](Self::typed_output) is not an object
    /// or names an unknown tool, if the placeholders of a resource are not the parameters of its tool, or if the key
    /// is too short.
    pub fn build(self) -> Result<McpServer> {
        let is_object =
            |schema: &JsonObject| schema.get("type").is_some_and(|kind| kind == "object");
        if let Some((tool, _)) = self.offer.outputs.iter().find(|(_, schema)| !is_object(schema)) {
            let message = format!("the typed output of the tool `{tool}` is not a JSON object");
            return Err(Error::configuration(message));
        }
        let offer = Offer::new(self.offer)?;
        let mut capabilities = offer.capabilities();
        capabilities.completions = self.capabilities.completions;
        capabilities.logging = self.capabilities.logging;
        capabilities.resources = self.capabilities.resources.or(capabilities.resources);
        let mut config = ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(self.name, self.version));
        config.instructions = self.instructions;
        let sealer = self.request_state_key.map_or_else(Sealer::random, Sealer::new)?;
        let engine =
            Engine { settings: self.settings, gate: Gate::new(self.max_concurrent_calls), sealer };
        let (raw, stdio_principal) = (self.raw, self.stdio_principal);
        let parts = Parts { config, offer, engine, raw, stdio_principal };
        let http = StreamableHttpServerConfig::default()
            .with_allowed_hosts(self.hosts)
            .with_allowed_origins(self.origins)
            .enforce_origin_validation()
            .with_max_request_body_bytes(self.max_request_bytes);
        let authentication = self.authentication;
        Ok(McpServer { handler: Handler(Arc::new(parts)), http, authentication })
    }
}

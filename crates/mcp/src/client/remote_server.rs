//! The description of one MCP server.

#[cfg(feature = "auth")]
use super::auth::{OAuth, Session};
use super::elicitation::Elicit;
use super::endpoint::{Endpoint, HttpEndpoint, Program};
use super::era::Era;
use super::pattern::Pattern;
use super::user_wait::UserWait;
use ai_services_core::InvocationContext;
use ai_services_core::approval::{Elicitation, ElicitationAnswer};
use ai_services_core::tool::Effect;
use futures_util::future::FutureExt;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// An MCP server that offers tools, and the rules for these tools.
///
/// Patterns are names of tools at the server, in which `*` stands for any characters. The documented way to use a
/// server that the application does not control is an allow-list: [`only`](Self::only).
///
/// | setting | default |
/// |---|---|
/// | [`era`](Self::era) | [`Era::Probe`] |
/// | [`connect_timeout`](Self::connect_timeout) | 30 seconds, also for each listing of tools |
/// | [`call_timeout`](Self::call_timeout) | 60 seconds without an answer or progress |
/// | [`total_timeout`](Self::total_timeout) | 10 minutes |
/// | [`task_wait`](Self::task_wait) | 1 minute |
/// | [`max_concurrent_calls`](Self::max_concurrent_calls) | 16 |
/// | [`when_down`](Self::when_down) | [`WhenDown::Fail`] |
/// | [`effect`](Self::effect) of each tool | [`Effect::AtMostOnce`] |
///
/// # Examples
///
/// ```
/// use ai_services::mcp::{RemoteServer, WhenDown};
/// use ai_services::tool::Effect;
/// use std::time::Duration;
///
/// let files = RemoteServer::stdio("files", "npx")
///     .args(["-y", "@modelcontextprotocol/server-filesystem", "/data"])
///     .only(["read_*", "list_directory"])
///     .effect("*", Effect::ReadOnly);
/// let crm = RemoteServer::http("crm", "https://crm.example/mcp")
///     .header("authorization", "Bearer 1234")
///     .requires_approval(["delete_*"])
///     .call_timeout(Duration::from_secs(30))
///     .when_down(WhenDown::Skip);
/// # let _ = (files, crm);
/// ```
#[derive(Clone)]
#[must_use]
pub struct RemoteServer {
    pub(super) name: String,
    pub(super) endpoint: Endpoint,
    pub(super) era: Era,
    pub(super) connect_timeout: Duration,
    pub(super) call_timeout: Duration,
    pub(super) total_timeout: Duration,
    pub(super) task_wait: Duration,
    pub(super) max_concurrent_calls: usize,
    pub(super) when_down: WhenDown,
    pub(super) rules: ToolRules,
    pub(super) elicit: Option<Elicit>,
    pub(super) user_wait: UserWait,
}

/// The rules for the tools of a server.
#[derive(Clone)]
pub(super) struct ToolRules {
    pub(super) has_prefix: bool,
    pub(super) only: Option<Vec<Pattern>>,
    pub(super) without: Vec<Pattern>,
    pub(super) renamed: BTreeMap<String, String>,
    pub(super) effects: Vec<(Pattern, Effect)>,
    pub(super) approvals: Vec<Pattern>,
    pub(super) trusts_annotations: bool,
    pub(super) resource_tools: bool,
    pub(super) prompt_tools: bool,
}

/// The treatment of a server that is not reachable, rejects the credentials, or breaks the protocol.
///
/// Tools that differ from their pins and names that are used twice are errors in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenDown {
    /// Building fails, and later each service call that selects tools.
    #[default]
    Fail,
    /// The tools of the server are left out until it works. After each pause of 0.25 to 60 seconds, a service call tries
    /// to connect, and waits at most for the [connect timeout](RemoteServer::connect_timeout).
    Skip,
}

impl RemoteServer {
    /// Creates a server that is started as a child process and speaks over its standard input and output.
    ///
    /// `program` is started without a shell. Its environment is empty, except for `PATH`, `HOME`, `LANG`, `LC_ALL`,
    /// `TMPDIR`, `TZ` and `USER` of this process, on Windows also `APPDATA`, `LOCALAPPDATA`, `SYSTEMROOT`, `TEMP` and
    /// `USERPROFILE`. It has a process group of its own. It gets one second to end after its input was closed; then the
    /// group is killed. The last line of its error output is part of the error if the connection
    /// fails, and is ignored otherwise.
    ///
    /// `name` prefixes the names of the tools: 1 to 32 characters of `A-Z a-z 0-9 _ -`.
    pub fn stdio(name: impl Into<String>, program: impl Into<OsString>) -> Self {
        let program = Program {
            program: program.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            inherited_env: Vec::new(),
            working_directory: None,
        };
        Self::new(name.into(), Endpoint::Stdio(program))
    }

    /// Creates a server that is reached by streamable HTTP. Redirects are not followed.
    ///
    /// `name` prefixes the names of the tools: 1 to 32 characters of `A-Z a-z 0-9 _ -`.
    pub fn http(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self::new(name.into(), Endpoint::Http(HttpEndpoint::new(url.into())))
    }

    fn new(name: String, endpoint: Endpoint) -> Self {
        Self {
            name,
            endpoint,
            era: Era::Probe,
            connect_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(60),
            total_timeout: Duration::from_secs(600),
            task_wait: Duration::from_secs(60),
            max_concurrent_calls: 16,
            when_down: WhenDown::Fail,
            rules: ToolRules {
                has_prefix: true,
                only: None,
                without: Vec::new(),
                renamed: BTreeMap::new(),
                effects: Vec::new(),
                approvals: Vec::new(),
                trusts_annotations: false,
                resource_tools: false,
                prompt_tools: false,
            },
            elicit: None,
            user_wait: UserWait::default(),
        }
    }

    /// Adds arguments of the program. No effect on HTTP servers.
    pub fn args<S: Into<OsString>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        if let Endpoint::Stdio(program) = &mut self.endpoint {
            program.args.extend(args.into_iter().map(Into::into));
        }
        self
    }

    /// Sets an environment variable of the program. No effect on HTTP servers.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        if let Endpoint::Stdio(program) = &mut self.endpoint {
            program.env.insert(name.into(), value.into());
        }
        self
    }

    /// Passes an environment variable of this process to the program. No effect on HTTP servers.
    pub fn inherit_env(mut self, name: impl Into<OsString>) -> Self {
        if let Endpoint::Stdio(program) = &mut self.endpoint {
            program.inherited_env.push(name.into());
        }
        self
    }

    /// Sets the working directory of the program. Default: the directory of this process. No effect on HTTP servers.
    pub fn working_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        if let Endpoint::Stdio(program) = &mut self.endpoint {
            program.working_directory = Some(directory.into());
        }
        self
    }

    /// Adds an HTTP header to each request. No effect on child processes.
    ///
    /// The headers of the transport are errors when [`McpTools`](super::McpTools) are built: `accept`, `content-type`,
    /// `last-event-id`, and those of MCP.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Endpoint::Http(endpoint) = &mut self.endpoint {
            endpoint.headers.push((name.into(), value.into()));
        }
        self
    }

    /// Adds HTTP headers to each tool call, computed from the application's data for the service call: for example
    /// the credentials of the user. Requests that belong to no call, such as the listing of tools, do not have them.
    /// No effect on child processes.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::mcp::RemoteServer;
    ///
    /// struct Token(String);
    ///
    /// let crm = RemoteServer::http("crm", "https://crm.example/mcp").call_headers(|context| {
    ///     let token = context.get::<Token>();
    ///     token.map(|Token(token)| ("authorization".to_owned(), format!("Bearer {token}"))).into_iter().collect()
    /// });
    /// # let _ = crm;
    /// ```
    pub fn call_headers(
        mut self,
        headers: impl Fn(&InvocationContext) -> Vec<(String, String)> + Send + Sync + 'static,
    ) -> Self {
        if let Endpoint::Http(endpoint) = &mut self.endpoint {
            endpoint.call_headers = Some(Arc::new(headers));
        }
        self
    }

    /// Sets the authorization by OAuth. Default: none. No effect on child processes.
    ///
    /// The server must not have a [`header`](Self::header) `authorization`, too. Clones of a server share their tokens.
    #[cfg(feature = "auth")]
    #[cfg_attr(docsrs, doc(cfg(feature = "auth")))]
    pub fn oauth(mut self, oauth: OAuth) -> Self {
        if let Endpoint::Http(endpoint) = &mut self.endpoint {
            let session = Session::new(&self.name, &endpoint.url, oauth, self.user_wait.clone());
            endpoint.session = Some(Arc::new(session));
        }
        self
    }

    /// Sets the revision of the protocol. Default: [`Era::Probe`].
    pub fn era(mut self, era: Era) -> Self {
        self.era = era;
        self
    }

    /// Uses only the tools that match one of these patterns. Default: all.
    pub fn only<S: Into<String>>(mut self, patterns: impl IntoIterator<Item = S>) -> Self {
        self.rules.only.get_or_insert_default().extend(patterns.into_iter().map(Pattern::new));
        self
    }

    /// Leaves out the tools that match one of these patterns.
    pub fn without<S: Into<String>>(mut self, patterns: impl IntoIterator<Item = S>) -> Self {
        self.rules.without.extend(patterns.into_iter().map(Pattern::new));
        self
    }

    /// Gives a tool of the server another name, which is used without a prefix.
    pub fn rename(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.rules.renamed.insert(from.into(), to.into());
        self
    }

    /// Uses the names of the tools without the prefix `server__`. A name that two servers use is then an error.
    pub fn without_prefix(mut self) -> Self {
        self.rules.has_prefix = false;
        self
    }

    /// Sets the effect of the tools that match a pattern. The last match wins. Default: [`Effect::AtMostOnce`].
    pub fn effect(mut self, pattern: impl Into<String>, effect: Effect) -> Self {
        self.rules.effects.push((Pattern::new(pattern), effect));
        self
    }

    /// Makes the tools that match one of these patterns wait for [approval](ai_services_core::approval).
    pub fn requires_approval<S: Into<String>>(
        mut self,
        patterns: impl IntoIterator<Item = S>,
    ) -> Self {
        self.rules.approvals.extend(patterns.into_iter().map(Pattern::new));
        self
    }

    /// Derives the effect of a tool without an [`effect`](Self::effect) from the annotations of the server:
    /// `readOnlyHint` and `idempotentHint`. Default: annotations are ignored, because a server can lie.
    pub fn trust_annotations(mut self) -> Self {
        self.rules.trusts_annotations = true;
        self
    }

    /// Sets the time limit of a call without an answer and without progress: each report of progress starts it
    /// again. Default: 60 seconds.
    ///
    /// A call that exceeds it is cancelled. It may have taken effect, so that its [`Effect`] decides about the result.
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// Sets the time limit of a call, progress or not. It is the time limit of the tool, and replaces the limit of
    /// the service. Default: 10 minutes.
    pub fn total_timeout(mut self, timeout: Duration) -> Self {
        self.total_timeout = timeout;
        self
    }

    /// Sets the time for which a durable turn waits for the end of a task, if the server answers a call with one. Then
    /// the turn is suspended, and polls the same task when it is resumed. Default: 1 minute. In other turns, the
    /// [`total_timeout`](Self::total_timeout) applies, at which the task is canceled.
    pub fn task_wait(mut self, wait: Duration) -> Self {
        self.task_wait = wait;
        self
    }

    /// Sets the time limit of a connection attempt, and of a listing of the tools. Default: 30 seconds.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the largest number of calls at a time; further ones wait. Default: 16. At least 1.
    pub fn max_concurrent_calls(mut self, calls: usize) -> Self {
        self.max_concurrent_calls = calls.max(1);
        self
    }

    /// Sets the treatment of a server that does not work. Default: [`WhenDown::Fail`].
    pub fn when_down(mut self, when_down: WhenDown) -> Self {
        self.when_down = when_down;
        self
    }

    /// Adds the tools `list_resources` and `read_resource`, with which the model reads resources of the server.
    /// Their effect is [`Effect::ReadOnly`]. [`only`](Self::only) does not apply to them.
    pub fn resource_tools(mut self) -> Self {
        self.rules.resource_tools = true;
        self
    }

    /// Adds the tools `list_prompts` and `get_prompt`, with which the model reads prompts of the server. Their effect
    /// is [`Effect::ReadOnly`]. [`only`](Self::only) does not apply to them.
    pub fn prompt_tools(mut self) -> Self {
        self.rules.prompt_tools = true;
        self
    }

    /// Sets the function that answers the server's questions to the user while a call runs.
    ///
    /// Default: with [durable turns](ai_services_core::approval), a question of a modern server suspends the turn until
    /// it is answered by [`Decision::Respond`](ai_services_core::approval::Decision::Respond). Otherwise the server learns that it
    /// cannot ask, and each question is declined. A legacy server keeps the call open while it asks, so that its turn
    /// cannot be suspended.
    ///
    /// The [`call_timeout`](Self::call_timeout) does not run while a question is open.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::mcp::{ElicitationAnswer, RemoteServer};
    /// use serde_json::json;
    ///
    /// let booking = RemoteServer::http("booking", "https://booking.example/mcp")
    ///     .on_elicitation(|question| async move {
    ///         println!("{} asks: {}", question.server, question.message);
    ///         ElicitationAnswer::Accept(json!({ "seat": "7A" }))
    ///     });
    /// # let _ = booking;
    /// ```
    pub fn on_elicitation<F, Fut>(mut self, answer: F) -> Self
    where
        F: Fn(Elicitation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ElicitationAnswer> + Send + 'static,
    {
        self.elicit = Some(Arc::new(move |question| answer(question).boxed()));
        self
    }
}

impl fmt::Debug for RemoteServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments, environment, URL and headers may be secret.
        f.debug_struct("RemoteServer").field("name", &self.name).finish_non_exhaustive()
    }
}

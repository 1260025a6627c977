//! MCP servers of the command line.

use ai_services::Result;
use ai_services::mcp::{McpTools, RemoteServer};
use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

/// Longest name of a server, in characters.
const MAX_NAME: usize = 32;

/// A server of `--mcp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum McpAddress {
    Url(String),
    Command { program: String, args: Vec<String> },
}

impl FromStr for McpAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("http://") || text.starts_with("https://") {
            return Ok(Self::Url(text.to_owned()));
        }
        let words = shlex::split(text).ok_or("a quotation mark is not closed")?;
        let mut words = words.into_iter();
        let program = words.next().ok_or("a command or a URL is required")?;
        Ok(Self::Command { program, args: words.collect() })
    }
}

impl McpAddress {
    /// Returns a name for the tools of the server: the host of a URL, or the last word of a command that is not an
    /// option, without its folder.
    fn name(&self) -> String {
        let source = match self {
            Self::Url(url) => {
                let host = url.split("://").nth(1).unwrap_or_default();
                host.split(['/', ':', '?']).next().unwrap_or_default().to_owned()
            }
            Self::Command { program, args } => {
                let words = [program].into_iter().chain(args);
                let named = words.filter(|word| !word.starts_with('-'));
                let packages = named.take(if is_runner(program) { 2 } else { 1 });
                let last = packages.last().unwrap_or(program);
                let stem = Path::new(last).file_stem().and_then(|stem| stem.to_str());
                stem.unwrap_or_default().to_owned()
            }
        };
        let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let name: String = source.chars().map(allowed).take(MAX_NAME - 3).collect();
        if name.is_empty() { "mcp".to_owned() } else { name }
    }

    fn server(&self, name: String) -> RemoteServer {
        match self {
            Self::Url(url) => RemoteServer::http(name, url),
            Self::Command { program, args } => RemoteServer::stdio(name, program).args(args),
        }
    }
}

/// Returns `true` for a program that starts the program of its first argument.
fn is_runner(program: &str) -> bool {
    let name = Path::new(program).file_name().and_then(|name| name.to_str());
    matches!(name, Some("npx" | "uvx" | "node" | "python" | "python3"))
}

/// Connects to the servers. With `asks_approval`, all of their tools wait for approval: the effects are unknown.
pub(crate) async fn connect(addresses: &[McpAddress], asks_approval: bool) -> Result<McpTools> {
    let mut names = BTreeSet::new();
    let mut tools = McpTools::builder();
    for address in addresses {
        let first = address.name();
        let mut name = first.clone();
        let mut number = 2;
        while !names.insert(name.clone()) {
            name = format!("{first}-{number}");
            number += 1;
        }
        let server = address.server(name);
        tools = tools.server(if asks_approval { server.requires_approval(["*"]) } else { server });
    }
    tools.build().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> String {
        text.parse::<McpAddress>().unwrap().name()
    }

    #[test]
    fn command_is_split_like_a_shell_does() {
        let args = vec!["-y".to_owned(), "a b".to_owned()];
        let expected = McpAddress::Command { program: "npx".to_owned(), args };
        assert_eq!(r#"npx -y "a b""#.parse(), Ok(expected));
        assert!(r#"npx "a"#.parse::<McpAddress>().is_err());
        assert!("  ".parse::<McpAddress>().is_err());
        let url = "http://127.0.0.1:1/mcp";
        assert_eq!(url.parse(), Ok(McpAddress::Url(url.to_owned())));
    }

    #[test]
    fn name_is_that_of_the_package_the_program_or_the_host() {
        assert_eq!(
            name("npx -y @modelcontextprotocol/server-filesystem /data"),
            "server-filesystem"
        );
        assert_eq!(name("uvx mcp-server-time"), "mcp-server-time");
        assert_eq!(name("/opt/tools/rental --fast x"), "rental");
        assert_eq!(name("python3 server.py"), "server");
        assert_eq!(name("https://crm.example.com:8000/mcp"), "crm_example_com");
    }
}

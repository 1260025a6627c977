//! Runs programs as child processes.

pub(crate) use ai_services_tests::PATIENCE;
use ai_services_tests::fault_server::{FaultServer, json_answer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::sync::OnceLock;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// Builds the programs with the cargo that built this test, and returns their paths by name.
///
/// Builds the workspace, because a single package would need fewer features of the libraries, which would be
/// compiled again.
fn programs() -> &'static BTreeMap<String, PathBuf> {
    static PROGRAMS: OnceLock<BTreeMap<String, PathBuf>> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let build = ["build", "--quiet", "--workspace", "--bins"];
        let built = std::process::Command::new(env!("CARGO"))
            .args(build)
            .args(["--examples", "--message-format=json-render-diagnostics"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(built.status.success(), "building the examples failed");
        let messages = String::from_utf8(built.stdout).unwrap();
        let messages = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
        let programs = messages.filter_map(|message: Value| {
            let name = message["target"]["name"].as_str()?.to_owned();
            Some((name, message["executable"].as_str()?.into()))
        });
        programs.collect()
    })
}

/// Returns the path of a program.
pub(crate) fn path(program: &str) -> &'static str {
    programs()[program].to_str().unwrap()
}

/// Returns a command for a program, without keys, servers and proxies in its environment.
pub(crate) fn offline(program: &str) -> Command {
    offline_command(Command::new(&programs()[program]))
}

fn offline_command(mut command: Command) -> Command {
    let is_setting = |name: &str| {
        let name = name.to_ascii_uppercase();
        let providers = ["OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "OLLAMA_"];
        providers.iter().any(|start| name.starts_with(start)) || name.ends_with("_PROXY")
    };
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_setting) {
            command.env_remove(name);
        }
    }
    command.env("OLLAMA_HOST", "127.0.0.1:1").env("NO_COLOR", "1").kill_on_drop(true);
    command.env("ASSISTANT_MEMORY", "none");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) async fn finished(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } =
        tokio::time::timeout(PATIENCE, command.output()).await.unwrap().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

pub(crate) async fn assistant(arguments: &[&str]) -> (Option<i32>, String, String) {
    finished(offline("assistant").args(arguments)).await
}

/// A running assistant with pipes.
pub(crate) struct Chat {
    child: Child,
    input: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    notices: Lines<BufReader<ChildStderr>>,
}

impl Chat {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = offline("assistant");
        command.args(arguments);
        Self::spawn(command)
    }

    /// Starts the assistant in a terminal, which shows both outputs and the input as standard output.
    #[cfg(target_os = "linux")]
    pub(crate) fn in_terminal(arguments: &[&str]) -> Self {
        let words = [&[path("assistant")], arguments].concat();
        let words: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
        let mut command = offline_command(Command::new("script"));
        command.args(["-qec", &words.join(" "), "/dev/null"]).env("TERM", "dumb");
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        let notices = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, input, answers, notices }
    }

    pub(crate) fn with_server(server: &FaultServer) -> Self {
        Self::start(&at(&server.url()))
    }

    /// Sends the signal of Ctrl-C.
    #[cfg(unix)]
    pub(crate) async fn interrupt(&self) {
        let process = self.child.id().unwrap().to_string();
        let kill = Command::new("kill").args(["-INT", &process]).status().await.unwrap();
        assert!(kill.success());
    }

    /// Sends a line to standard input.
    pub(crate) async fn send(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Returns the next line of standard output.
    pub(crate) async fn answer(&mut self) -> String {
        let line = tokio::time::timeout(PATIENCE, self.answers.next_line());
        line.await.unwrap().unwrap().expect("standard output has another line")
    }

    pub(crate) async fn ask(&mut self, line: &str) -> String {
        self.send(line).await;
        self.answer().await
    }

    /// Returns the next line of standard error that contains `text`.
    pub(crate) async fn notice(&mut self, text: &str) -> String {
        loop {
            let line = tokio::time::timeout(PATIENCE, self.notices.next_line());
            let line = line.await.unwrap().unwrap().expect("standard error has another line");
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Returns the next line of standard output that contains `text`.
    #[cfg(target_os = "linux")]
    pub(crate) async fn shown(&mut self, text: &str) -> String {
        loop {
            let line = self.answer().await;
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Kills the program.
    #[cfg(target_os = "linux")]
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Closes the input and returns the rest of standard output and the exit code.
    pub(crate) async fn end(self) -> (Vec<String>, Option<i32>) {
        let Self { mut child, input, mut answers, .. } = self;
        drop(input);
        let mut rest = Vec::new();
        while let Some(line) = answers.next_line().await.unwrap() {
            rest.push(line);
        }
        let status = tokio::time::timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
        (rest, status.code())
    }
}

/// Returns the arguments that select a model of a server.
pub(crate) fn at(url: &str) -> [&str; 4] {
    ["--model", "openai/m", "--base-url", url]
}

/// Returns an HTTP response with a whole answer.
pub(crate) fn completion(message: &Value) -> Vec<u8> {
    let usage = json!({ "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10 });
    json_answer(&json!({ "choices": [{ "message": message }], "usage": usage }))
}

//! LangChain4j's own JSON form of messages.

#![allow(clippy::panic, reason = "a test cannot continue without the program")]

use crate::servers::installed;
use crate::servers::maven::{MavenProject, java_17};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const PROJECT: MavenProject = MavenProject {
    name: "langchain4j-codec",
    path: "langchain4j/pom.xml",
    pom: include_str!("../langchain4j/pom.xml"),
};

/// LangChain4j's codec in a process of its own: `langchain4j/Codec.java`, which describes the commands.
#[derive(Debug)]
pub struct Codec {
    process: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// Starts the codec; `None` if a Java compiler or Maven is missing.
///
/// The first call on a machine downloads LangChain4j, 3 MB, with Maven into the user's cache directory.
///
/// # Panics
///
/// If the download or the start fails, or if a program is missing and the environment variable `CI` is set.
#[must_use]
pub fn start() -> Option<Codec> {
    let compiler = java_17().find(|java| {
        let modules = Command::new(java).arg("--list-modules").output();
        modules.is_ok_and(|it| String::from_utf8_lossy(&it.stdout).contains("jdk.compiler@"))
    });
    let java = installed(compiler, "a Java 17 compiler", "openjdk-17-jdk-headless")?;
    let class_path = PROJECT.class_path()?;
    let mut process = Command::new(&java)
        .args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp"])
        .arg(class_path.join("*"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("langchain4j/Codec.java"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // SLF4J reports that there is no logger.
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", java.display()));
    match (process.stdin.take(), process.stdout.take()) {
        (Some(commands), Some(answers)) => {
            Some(Codec { process, commands, answers: BufReader::new(answers) })
        }
        _ => panic!("the codec has no pipes"),
    }
}

impl Codec {
    /// Sends one command, and returns its answer.
    ///
    /// # Panics
    ///
    /// If the process has ended.
    #[must_use]
    pub fn run(&mut self, command: &str, argument: &str) -> String {
        let written = writeln!(self.commands, "{command} {argument}");
        let mut answer = String::new();
        let read = written.and_then(|()| self.answers.read_line(&mut answer));
        match read {
            Ok(1..) => answer.trim_end_matches('\n').to_owned(),
            Ok(0) => panic!("the codec has ended"),
            Err(error) => panic!("the codec has failed: {error}"),
        }
    }
}

impl Drop for Codec {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

//! The servers of other projects, as the script installs them.

use ai_services::mcp::Era;
use serde_json::{Value, json};
use std::path::Path;

/// A server of another project, and the calls that test it.
#[derive(Clone)]
pub(crate) struct Installed {
    pub(crate) name: &'static str,
    pub(crate) transport: Transport,
    /// The command that starts the server.
    pub(crate) command: Vec<String>,
    /// The command of another version, with other definitions of its tools.
    pub(crate) other_version: Vec<String>,
    pub(crate) eras: &'static [Era],
    pub(crate) call: Probe,
    pub(crate) error: Probe,
    pub(crate) structured: Option<Probe>,
    pub(crate) image: Option<Probe>,
    /// A call that reports progress.
    pub(crate) progress: Option<Probe>,
    /// A call that reports progress and ends only if it is cancelled, and a call that confirms this.
    pub(crate) endless: Option<(Probe, Probe)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

/// A call, and a part of its answer.
#[derive(Clone)]
pub(crate) struct Probe {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    pub(crate) answer: &'static str,
}

fn probe(tool: &'static str, arguments: Value, answer: &'static str) -> Probe {
    Probe { tool, arguments, answer }
}

/// Returns the servers in the folder. `work` has a Git repository and the files `note.txt` and `pixel.png`.
pub(crate) fn all(folder: &Path, work: &Path) -> Vec<Installed> {
    let over_http = |installed: &Installed| {
        let mut over_http = Installed { transport: Transport::Http, ..installed.clone() };
        for command in [&mut over_http.command, &mut over_http.other_version] {
            command.push("streamableHttp".to_owned());
        }
        over_http
    };
    let (everything, typescript) = (everything(folder), typescript(folder));
    let mut typescript_http = over_http(&typescript);
    // Without a session, a legacy server does not find the call that a notification cancels.
    typescript_http.eras = &[Era::Modern];
    vec![
        over_http(&everything),
        everything,
        typescript_http,
        typescript,
        filesystem(folder, work),
        memory(folder, work),
        time(folder),
        git(folder, work),
    ]
}

fn everything(folder: &Path) -> Installed {
    let slow = json!({ "duration": 1, "steps": 4 });
    Installed {
        image: Some(probe("get-tiny-image", json!({}), "")),
        structured: Some(probe(
            "get-structured-content",
            json!({ "location": "Chicago" }),
            "temperature",
        )),
        progress: Some(probe("trigger-long-running-operation", slow, "completed")),
        ..npm(
            folder,
            "everything",
            &[],
            probe("echo", json!({ "message": "hello" }), "Echo: hello"),
            probe("echo", json!({ "message": 7 }), "validation"),
        )
    }
}

/// A server of the official SDK, because no published server speaks the modern era by HTTP.
fn typescript(folder: &Path) -> Installed {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/counterparts/server.mjs");
    let node = folder.join("node_modules/node/bin/node");
    let command =
        |version: &str| vec![text(&node), text(&script), text(folder), version.to_owned()];
    let none = || json!({});
    Installed {
        name: "typescript",
        transport: Transport::Stdio,
        command: command("1"),
        other_version: command("2"),
        eras: &[Era::Legacy, Era::Modern],
        call: probe("echo", json!({ "text": "hello" }), "hello"),
        error: probe("fail", none(), "sold out"),
        structured: Some(probe("sum", json!({ "a": 1, "b": 2 }), "sum")),
        image: Some(probe("pixel", none(), "")),
        progress: Some(probe("steps", none(), "completed")),
        endless: Some((probe("endless", none(), ""), probe("dropped", none(), "dropped: 1"))),
    }
}

fn filesystem(folder: &Path, work: &Path) -> Installed {
    let note = json!({ "path": work.join("note.txt") });
    Installed {
        structured: Some(probe("read_text_file", note.clone(), "content")),
        image: Some(probe("read_media_file", json!({ "path": work.join("pixel.png") }), "")),
        ..npm(
            folder,
            "filesystem",
            &[text(work)],
            probe("read_text_file", note, "hello"),
            probe("read_text_file", json!({ "path": "/etc/hostname" }), "denied"),
        )
    }
}

fn memory(folder: &Path, work: &Path) -> Installed {
    let mut installed = npm(
        folder,
        "memory",
        &[],
        probe("read_graph", json!({}), "relations"),
        probe("create_entities", json!({ "entities": "Ann" }), "validation"),
    );
    installed.structured = Some(probe("read_graph", json!({}), "entities"));
    // The memory is a file.
    for command in [&mut installed.command, &mut installed.other_version] {
        let file = format!("MEMORY_FILE_PATH={}", text(&work.join("memory.jsonl")));
        command.splice(0..0, ["env".to_owned(), file]);
    }
    installed
}

fn time(folder: &Path) -> Installed {
    let zone = |zone: &str| json!({ "timezone": zone });
    Installed {
        structured: Some(probe("get_current_time", zone("Asia/Tokyo"), "datetime")),
        ..pip(
            folder,
            "time",
            &["--local-timezone", "UTC"],
            probe("get_current_time", zone("Asia/Tokyo"), "+09:00"),
            probe("get_current_time", zone("Mars/Olympus"), "Mars/Olympus"),
        )
    }
}

fn git(folder: &Path, work: &Path) -> Installed {
    pip(
        folder,
        "git",
        &["--repository", &text(work)],
        probe("git_status", json!({ "repo_path": work }), "note.txt"),
        probe("git_show", json!({ "repo_path": work, "revision": "nowhere" }), "nowhere"),
    )
}

fn npm(
    folder: &Path,
    name: &'static str,
    arguments: &[String],
    call: Probe,
    error: Probe,
) -> Installed {
    let node = text(&folder.join("node_modules/node/bin/node"));
    let command = |package: String| {
        let script = text(&folder.join("node_modules").join(package).join("dist/index.js"));
        [node.clone(), script].into_iter().chain(arguments.iter().cloned()).collect()
    };
    Installed {
        name,
        transport: Transport::Stdio,
        command: command(format!("@modelcontextprotocol/server-{name}")),
        other_version: command(format!("{name}-other")),
        eras: &[Era::Probe],
        call,
        error,
        structured: None,
        image: None,
        progress: None,
        endless: None,
    }
}

fn pip(
    folder: &Path,
    name: &'static str,
    arguments: &[&str],
    call: Probe,
    error: Probe,
) -> Installed {
    let command = |environment: &str| {
        let program = folder.join(environment).join("bin").join(format!("mcp-server-{name}"));
        let arguments = arguments.iter().map(|argument| (*argument).to_owned());
        std::iter::once(text(&program)).chain(arguments).collect()
    };
    Installed {
        name,
        transport: Transport::Stdio,
        command: command("python"),
        other_version: command("python-other"),
        eras: &[Era::Legacy, Era::Modern],
        call,
        error,
        structured: None,
        image: None,
        progress: None,
        endless: None,
    }
}

pub(crate) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

//! Runs rustc on the cases, without cargo: the library is not built again.

use super::{files, workspace};
use std::any::TypeId;
use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Compiles programs with the build of `ai-services` that the tests are linked with.
pub(crate) struct Compiler {
    library: PathBuf,
    output: TempDir,
}

impl Compiler {
    /// Finds the library beside the executable of the tests.
    ///
    /// There may be several builds with other features. A type of the right one is the same type as here.
    pub(crate) fn new() -> Self {
        let own = format!("{:?}", TypeId::of::<ai_services::Error>());
        let output = TempDir::new().unwrap();
        let probe = output.path().join("probe.rs");
        let print = "fn main() { print!(\"{:?}\", std::any::TypeId::of::<ai_services::Error>()) }";
        fs::write(&probe, print).unwrap();
        let executable = env::current_exe().unwrap();
        let mut compiler = Self { library: PathBuf::new(), output };
        for library in libraries(executable.parent().unwrap()) {
            compiler.library = library;
            if compiler.output_of(&probe).is_ok_and(|printed| printed == own) {
                return compiler;
            }
        }
        panic!("the library of {} is not there", executable.display());
    }

    /// Compiles and runs a program.
    pub(crate) fn run(&self, source: &Path) -> Result<(), String> {
        self.output_of(source).map(drop)
    }

    /// Returns the standard output of a program.
    fn output_of(&self, source: &Path) -> Result<String, String> {
        let name = source.file_stem().unwrap();
        let compiled = self.rustc(source).args(["--emit=link", "--crate-name"]).arg(name).output();
        succeeded(compiled.unwrap())?;
        succeeded(Command::new(self.output.path().join(name)).output().unwrap())
    }

    /// Returns the messages for a program that does not compile, or `None` if it compiles.
    pub(crate) fn messages(&self, source: &Path) -> Option<String> {
        let compiled = self.rustc(source).args(["--emit=metadata", "--crate-name=case"]).output();
        let Output { status, stderr, .. } = compiled.unwrap();
        (!status.success()).then(|| String::from_utf8(stderr).unwrap())
    }

    fn rustc(&self, source: &Path) -> Command {
        let mut rustc = rustc();
        let dependencies = self.library.parent().unwrap();
        rustc
            .args(["--edition=2024", "--color=never", "--diagnostic-width=140", "--verbose"])
            .args(["-A", "dead_code"])
            // The paths of the library's sources begin there.
            .current_dir(workspace())
            .arg(format!("-Ldependency={}", dependencies.display()))
            .arg(format!("--extern=ai_services={}", self.library.display()))
            .arg("--out-dir")
            .arg(self.output.path())
            .arg(source);
        rustc
    }
}

/// Returns the builds of the library, newest first.
fn libraries(folder: &Path) -> Vec<PathBuf> {
    let is_library = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).unwrap().starts_with("libai_services-")
    };
    let mut libraries: Vec<_> = files(folder, "rlib").into_iter().filter(is_library).collect();
    libraries.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    libraries.reverse();
    libraries
}

fn succeeded(Output { status, stdout, stderr }: Output) -> Result<String, String> {
    if status.success() {
        Ok(String::from_utf8(stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&stderr).into_owned())
    }
}

/// Returns the messages of rustc for a source without dependencies.
pub(crate) fn check_alone(source: &str) -> String {
    let output = TempDir::new().unwrap();
    let mut rustc = rustc()
        .args(["--edition=2024", "--emit=metadata", "--out-dir"])
        .arg(output.path())
        .arg("-")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    rustc.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    String::from_utf8(rustc.wait_with_output().unwrap().stderr).unwrap()
}

fn rustc() -> Command {
    Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

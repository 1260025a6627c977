//! Java programs from Maven artifacts.

use super::installed;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Maven project whose dependencies are the class path of a program.
#[derive(Clone, Copy, Debug)]
pub struct MavenProject {
    /// The name of the program.
    pub name: &'static str,
    /// The project file, below the folder of this package.
    pub path: &'static str,
    /// The text of the project file.
    pub pom: &'static str,
}

impl MavenProject {
    /// Returns the directory with the dependencies, downloaded by the first call on a machine; `None` if the
    /// download is necessary but Maven is missing.
    ///
    /// # Panics
    ///
    /// If the download fails, or if Maven is missing and the environment variable `CI` is set.
    #[must_use]
    pub fn class_path(&self) -> Option<PathBuf> {
        let home = || std::env::home_dir().map(|home| home.join(".cache"));
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.filter(|it| it.is_absolute()).or_else(home);
        let cache = cache.unwrap_or_else(std::env::temp_dir).join("ai-services-tests");
        let pom = BuildHasherDefault::<DefaultHasher>::new().hash_one(self.pom);
        let directory = cache.join(format!("{}-{pom:016x}", self.name));
        if !directory.is_dir() {
            let maven = installed(in_path("mvn").next(), "Maven", "maven")?;
            self.fetch(&maven, &directory);
        }
        Some(directory)
    }

    /// Downloads the dependencies to a partial directory and renames it when it is complete. Another process may
    /// do the same at the same time.
    fn fetch(&self, maven: &Path, directory: &Path) {
        let partial = directory.with_extension(std::process::id().to_string());
        let mut command = Command::new(maven);
        command.args(["--batch-mode", "--quiet", "--file"]);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(self.path));
        command.args(["dependency:copy-dependencies", "-DincludeScope=runtime"]);
        command.arg(format!("-DoutputDirectory={}", partial.display()));
        let output = command.output();
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", maven.display()));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "Maven cannot download {}:\n{text}", self.name);
        if let Err(error) = std::fs::rename(&partial, directory) {
            assert!(directory.is_dir(), "{}: {error}", directory.display());
            // Best effort: a leftover in the cache directory is harmless.
            let _ = std::fs::remove_dir_all(&partial);
        }
    }
}

/// Returns the installed programs `java` of version 17, the newest one that Cassandra 5.0 supports.
pub fn java_17() -> impl Iterator<Item = PathBuf> {
    let homes = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    let homes = std::env::var_os("JAVA_HOME").into_iter().map(PathBuf::from).chain(
        // Debian's directory names begin with `java-17-openjdk`.
        homes.map(|home| home.path()).filter(|home| home.to_string_lossy().contains("17")),
    );
    let homes = homes.map(|home| home.join("bin/java"));
    in_path("java").chain(homes).filter(|java| {
        let version = Command::new(java).arg("-version").output();
        version.is_ok_and(|it| String::from_utf8_lossy(&it.stderr).contains(" version \"17."))
    })
}

/// Returns the programs with this name in the `PATH`.
fn in_path(name: &str) -> impl Iterator<Item = PathBuf> + use<> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs: Vec<_> = std::env::split_paths(&path).map(|it| it.join(name)).collect();
    programs.into_iter().filter(|it| it.is_file())
}

//! Cassandra clusters of one node, from Maven artifacts.

use super::maven::{MavenProject, java_17};
use super::process::Supervised;
use super::{free_port, installed};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// Time limit for the start of a node, including replaying its commit log.
const LIMIT: Duration = Duration::from_secs(120);

const PROJECT: MavenProject = MavenProject {
    name: "cassandra",
    path: "cassandra/pom.xml",
    pom: include_str!("../../cassandra/pom.xml"),
};

/// Options that give Cassandra access to internals of Java 17, from its `jvm17-server.options`.
const JAVA_OPTIONS: &[&str] = &[
    "--add-exports=java.base/java.lang.ref=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-exports=java.management.rmi/com.sun.jmx.remote.internal.rmi=ALL-UNNAMED",
    "--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED",
    "--add-exports=java.rmi/sun.rmi.server=ALL-UNNAMED",
    "--add-exports=java.sql/java.sql=ALL-UNNAMED",
    "--add-exports=jdk.unsupported/sun.misc=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.module=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.loader=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.math=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.module=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.reflect=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.util.jar=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED",
];

const LOGBACK: &str = r#"<configuration>
  <appender name="OUTPUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{HH:mm:ss.SSS} %-5level %logger{0} %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="OUTPUT"/></root>
</configuration>
"#;

/// A running node in the data centre `datacenter1`, without authentication. Acknowledged writes survive if it
/// is killed: its commit log is synced before every answer.
///
/// All size limits are the defaults. The time limits of requests are longer, because tests share their
/// machine with compilers and other servers.
#[derive(Debug)]
pub struct Cassandra {
    process: Supervised,
    java: PathBuf,
    class_path: PathBuf,
    port: u16,
}

/// Returns the node of this test process, started by the first call; `None` if Java or Maven is missing.
///
/// # Panics
///
/// As [`start`].
#[must_use]
pub fn shared() -> Option<&'static Cassandra> {
    static SERVER: OnceLock<Option<Cassandra>> = OnceLock::new();
    SERVER.get_or_init(start).as_ref()
}

/// Starts a node for one test; `None` if Java or Maven is missing.
///
/// The first call on a machine downloads Cassandra, 70 MB, with Maven into the user's cache directory.
///
/// # Panics
///
/// If the download fails, if the node does not start, or if Java or Maven is missing and the environment
/// variable `CI` is set.
#[must_use]
pub fn start() -> Option<Cassandra> {
    let java = installed(java_17().next(), "Java 17", "openjdk-17-jre-headless")?;
    let class_path = PROJECT.class_path()?;
    let (process, port) = (Supervised::new("cassandra", None), free_port());
    let write = |name: &str, text: &str| {
        let file = process.directory().join(name);
        std::fs::write(&file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    };
    write("cassandra.yaml", &configuration(port, free_port()));
    write("logback.xml", LOGBACK);
    let mut server = Cassandra { process, java, class_path, port };
    server.restart();
    Some(server)
}

impl Cassandra {
    /// Returns the CQL address, `127.0.0.1:port`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Kills the node with `SIGKILL`.
    pub fn kill9(&mut self) {
        self.process.kill9();
    }

    /// Starts the node again, with the same data and address. Kills a running node first.
    ///
    /// # Panics
    ///
    /// If the node does not start.
    pub fn restart(&mut self) {
        let directory = self.process.directory().display();
        let mut java = Command::new(&self.java);
        java.args(JAVA_OPTIONS);
        java.args(["-ea", "-Djdk.attach.allowAttachSelf=true", "-XX:+ExitOnOutOfMemoryError"]);
        // A small initial heap makes the start fast, because all of it is locked in memory.
        java.args(["-Xms64m", "-Xmx1g", "-XX:+UseSerialGC"]);
        // Writes files only to the directory, which is removed with the node.
        java.args(["-XX:-UsePerfData", &format!("-Djava.io.tmpdir={directory}")]);
        java.arg(format!("-Dcassandra.storagedir={directory}"));
        java.arg(format!("-Dcassandra.logdir={directory}"));
        java.arg(format!("-Dcassandra.config=file://{directory}/cassandra.yaml"));
        java.arg(format!("-Dlogback.configurationFile={directory}/logback.xml"));
        java.arg("-cp").arg(self.class_path.join("*"));
        java.arg("org.apache.cassandra.service.CassandraDaemon");
        self.process.start(&java);
        self.process.until_ready(LIMIT, || speaks_cql(self.port).is_ok_and(|yes| yes));
    }
}

/// Returns the configuration: settings without a default, and those for a node that starts fast and shares
/// its machine with other nodes.
fn configuration(native_port: u16, storage_port: u16) -> String {
    format!(
        "cluster_name: ai-services
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: '127.0.0.1:{storage_port}'
listen_address: 127.0.0.1
storage_port: {storage_port}
rpc_address: 127.0.0.1
native_transport_port: {native_port}
num_tokens: 1
initial_token: 0
auto_bootstrap: false
commitlog_sync: batch
hinted_handoff_enabled: false
auto_snapshot: false
read_request_timeout: 30s
range_request_timeout: 30s
write_request_timeout: 30s
cas_contention_timeout: 30s
truncate_request_timeout: 120s
request_timeout: 60s
native_transport_timeout: 60s
"
    )
}

/// Returns whether the node answers an `OPTIONS` request.
fn speaks_cql(port: u16) -> std::io::Result<bool> {
    const REQUEST_OF_VERSION_4: u8 = 0x04;
    const RESPONSE_OF_VERSION_4: u8 = 0x84;
    const OPTIONS: u8 = 0x05;
    const SUPPORTED: u8 = 0x06;
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    connection.set_read_timeout(Some(Duration::from_secs(5)))?;
    // Version, flags, stream (2 bytes), operation, length (4 bytes).
    connection.write_all(&[REQUEST_OF_VERSION_4, 0, 0, 0, OPTIONS, 0, 0, 0, 0])?;
    let mut head = [0; 9];
    connection.read_exact(&mut head)?;
    Ok(head.starts_with(&[RESPONSE_OF_VERSION_4, 0, 0, 0, SUPPORTED]))
}

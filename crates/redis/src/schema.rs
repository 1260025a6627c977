//! Checks of the layout version and the server version.

use super::RedisChatMemoryStore;
use super::rows::{RawField, number};
use ai_services_core::{Error, ErrorKind, Result};

/// Layout version that this build writes.
const SCHEMA_VERSION: u64 = 1;

/// Oldest supported server. Before 6.2, an expired key could reappear in the middle of a script.
const OLDEST_SERVER: (u64, u64) = (6, 2);

impl RedisChatMemoryStore {
    /// Writes the layout version to the database, and checks the server version.
    ///
    /// Calling it is optional, because Redis does not have tables. It exists for programs that prepare all
    /// stores in the same way. It is idempotent and may run in several processes at the same time.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Store`] if the data was written by a newer version of this crate, and
    /// [`ErrorKind::Configuration`] if the server is older than Redis 6.2. Also fails if the request fails.
    pub async fn ensure_schema(&self) -> Result<()> {
        self.check_server().await?;
        let mut pipeline = redis::pipe();
        pipeline.cmd("SET").arg(&self.0.keys.schema).arg(SCHEMA_VERSION).arg("NX").ignore();
        pipeline.cmd("GET").arg(&self.0.keys.schema);
        let request = self.0.connections.request("write the layout version", pipeline);
        let (found,): (RawField,) = request.await?;
        readable(&found)
    }

    /// Fails unless every connection works and this build supports the stored layout.
    pub(super) async fn check_schema(&self) -> Result<()> {
        for _ in 0..self.0.connections.count() {
            let mut pipeline = redis::pipe();
            pipeline.cmd("GET").arg(&self.0.keys.schema);
            let request = self.0.connections.request("connect", pipeline);
            let (found,): (RawField,) = request.await?;
            readable(&found)?;
        }
        Ok(())
    }

    async fn check_server(&self) -> Result<()> {
        let mut pipeline = redis::pipe();
        pipeline.cmd("INFO").arg("server");
        let request = self.0.connections.request("read the server version", pipeline);
        let information: String = match request.await {
            Ok((information,)) => information,
            // A user without the permission for `INFO` skips the check.
            Err(error) if error.kind() == ErrorKind::Authentication => return Ok(()),
            Err(error) => return Err(error),
        };
        check_version(&information)
    }
}

fn check_version(information: &str) -> Result<()> {
    let mut lines = information.lines();
    let Some(version) = lines.find_map(|line| line.strip_prefix("redis_version:")) else {
        return Ok(());
    };
    let mut parts = version.trim().split('.').map(|part| part.parse().unwrap_or(0));
    let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if found >= OLDEST_SERVER {
        return Ok(());
    }
    let (major, minor) = OLDEST_SERVER;
    let version = version.trim();
    Err(Error::configuration(format!(
        "the server is Redis {version}; use Redis {major}.{minor} or newer"
    )))
}

fn readable(found: &RawField) -> Result<()> {
    let Some(found) = found else { return Ok(()) };
    let message = match number(found) {
        Some(1..=SCHEMA_VERSION) => return Ok(()),
        Some(newer) if newer > SCHEMA_VERSION => format!(
            "the conversations in Redis have layout version {newer}; this build reads up to \
             {SCHEMA_VERSION}, update ai-services"
        ),
        _ => format!(
            "the layout version of the conversations in Redis is corrupt: `{}`",
            String::from_utf8_lossy(found).escape_debug()
        ),
    };
    Err(Error::new(ErrorKind::Store, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_server_is_rejected() {
        let info = |version: &str| format!("# Server\r\nredis_version:{version}\r\nx:1\r\n");
        for version in ["6.2.0", "7.0.15", "10.1", "255.255.255"] {
            assert!(check_version(&info(version)).is_ok(), "{version}");
        }
        for version in ["6.0.16", "5.9", "nonsense"] {
            let error = check_version(&info(version)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{version}");
        }
        assert!(check_version("x:1").is_ok());
    }

    #[test]
    fn other_layout_is_rejected() {
        assert!(readable(&None).is_ok());
        assert!(readable(&Some(b"1".to_vec())).is_ok());
        for other in [&b"2"[..], b"0", b"x", b"", b"\xff"] {
            let error = readable(&Some(other.to_vec())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Store);
        }
    }
}

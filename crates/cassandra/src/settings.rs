//! Settings of a cluster: consistency and replication.

use ai_services_core::{Error, Result};
use scylla::statement::{Consistency, SerialConsistency};

/// The replicas of which a majority has to agree.
///
/// A change of a conversation is a lightweight transaction, which needs a majority twice: for the decision
/// (`SERIAL`) and for the write (`QUORUM`). All processes that write the same conversations must use the same
/// consistency; otherwise they do not see each other's decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CassandraConsistency {
    /// Replicas of one data centre, the [local](super::CassandraChatMemoryStoreBuilder::local_datacenter)
    /// one: `LOCAL_SERIAL` and `LOCAL_QUORUM`.
    ///
    /// Fast; changes are replicated to the other data centres asynchronously. Processes in two data centres
    /// must not write the same conversation, because both could succeed.
    #[default]
    Local,
    /// Replicas of all data centres: `SERIAL` and `QUORUM`.
    ///
    /// Processes in all data centres may write any conversation. Each change takes several round trips
    /// between data centres.
    Global,
}

impl CassandraConsistency {
    pub(super) fn levels(self) -> (Consistency, SerialConsistency) {
        match self {
            Self::Local => (Consistency::LocalQuorum, SerialConsistency::LocalSerial),
            Self::Global => (Consistency::Quorum, SerialConsistency::Serial),
        }
    }
}

/// Replication of the keyspace, if [`ensure_schema`](super::CassandraChatMemoryStore::ensure_schema) creates
/// it.
///
/// # Examples
///
/// ```
/// use ai_services::store::cassandra::CassandraReplication;
///
/// let replication = CassandraReplication::per_data_center([("frankfurt", 3), ("dublin", 3)]);
/// assert_ne!(replication, CassandraReplication::simple(1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CassandraReplication(Strategy);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Strategy {
    Simple(u8),
    NetworkTopology(Vec<(String, u8)>),
}

impl CassandraReplication {
    /// Creates a replication with the given number of copies on any nodes (`SimpleStrategy`).
    ///
    /// One copy, the default, is for development only: a conversation is lost with its node, and unavailable
    /// while the node is down.
    #[must_use]
    pub fn simple(copies: u8) -> Self {
        Self(Strategy::Simple(copies))
    }

    /// Creates a replication with the given number of copies in each data centre (`NetworkTopologyStrategy`).
    ///
    /// The names of the data centres are those in `nodetool status`. Three copies are usual, so that one node
    /// may fail.
    #[must_use]
    pub fn per_data_center<N: Into<String>>(copies: impl IntoIterator<Item = (N, u8)>) -> Self {
        let copies = copies.into_iter().map(|(name, copies)| (name.into(), copies));
        Self(Strategy::NetworkTopology(copies.collect()))
    }

    /// Returns the strategy as a CQL map literal, because CQL does not allow parameters there.
    pub(super) fn as_map(&self) -> Result<String> {
        let copies: &[(String, u8)] = match &self.0 {
            Strategy::Simple(0) => return Err(no_copies()),
            Strategy::Simple(copies) => {
                return Ok(format!(
                    "{{'class': 'SimpleStrategy', 'replication_factor': {copies}}}"
                ));
            }
            Strategy::NetworkTopology(copies) => copies,
        };
        if copies.iter().all(|(_, copies)| *copies == 0) {
            return Err(no_copies());
        }
        let mut map = "{'class': 'NetworkTopologyStrategy'".to_owned();
        for (name, copies) in copies {
            check_data_center(name)?;
            map.push_str(&format!(", '{name}': {copies}"));
        }
        map.push('}');
        Ok(map)
    }
}

impl Default for CassandraReplication {
    fn default() -> Self {
        Self::simple(1)
    }
}

fn no_copies() -> Error {
    Error::configuration("`replication` must keep at least one copy")
}

/// Validates the name of a data centre: it must not need quotes, and must not be an option of the strategy.
pub(super) fn check_data_center(name: &str) -> Result<()> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_-.: ".contains(&b);
    let is_option = ["class", "replication_factor"].contains(&name);
    if name.is_empty() || name.len() > 255 || is_option || !name.bytes().all(is_plain) {
        return Err(Error::configuration(format!(
            "`{}` is not a valid data centre name; use letters, digits, `_`, `-`, `.`, `:` and spaces",
            name.escape_debug()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replication_becomes_a_cql_map() {
        let simple = CassandraReplication::default().as_map().unwrap();
        assert_eq!(simple, "{'class': 'SimpleStrategy', 'replication_factor': 1}");
        let topology = CassandraReplication::per_data_center([("dc-1", 3), ("dc-2", 2)]);
        let expected = "{'class': 'NetworkTopologyStrategy', 'dc-1': 3, 'dc-2': 2}";
        assert_eq!(topology.as_map().unwrap(), expected);
    }

    #[test]
    fn invalid_replication_is_rejected() {
        let per = |name: &str| CassandraReplication::per_data_center([(name, 1)]);
        let none = CassandraReplication::per_data_center::<&str>([]);
        for name in ["", "class", "replication_factor", "a'", "a\0", "a}", "ä"] {
            assert!(per(name).as_map().is_err(), "{name}");
        }
        assert!(none.as_map().is_err());
        assert!(CassandraReplication::simple(0).as_map().is_err());
        assert!(CassandraReplication::per_data_center([("a", 0)]).as_map().is_err());
    }
}

//! What a user chooses once for a cluster.

use ai_services_core::{Error, Result};
use scylla::statement::{Consistency, SerialConsistency};

/// Among which replicas a majority has to agree.
///
/// A change of a conversation is a lightweight transaction. It needs a majority twice: to decide
/// (`SERIAL`), and to be written (`QUORUM`). All processes that write the same conversations must make
/// the same choice, or they do not see each other's decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CassandraConsistency {
    /// Those of one data centre, the
    /// [local](super::CassandraChatMemoryStoreBuilder::local_datacenter) one: `LOCAL_SERIAL` and
    /// `LOCAL_QUORUM`. Fast; the other data centres follow by themselves. Processes in two data centres
    /// must not write the same conversation: both could succeed.
    #[default]
    Local,
    /// Those of all data centres: `SERIAL` and `QUORUM`. Processes anywhere may write any conversation;
    /// each change waits several times for other data centres.
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

/// How many copies of the data are kept, if
/// [`ensure_schema`](super::CassandraChatMemoryStore::ensure_schema) creates the keyspace.
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
    /// `SimpleStrategy`: so many copies, wherever they come to lie. With one copy, the default, it is for
    /// development only: a conversation is gone with its node, and out of reach while the node is down.
    #[must_use]
    pub fn simple(copies: u8) -> Self {
        Self(Strategy::Simple(copies))
    }

    /// `NetworkTopologyStrategy`: so many copies in each of these data centres, named as `nodetool
    /// status` does. Three are usual: one node may fail.
    #[must_use]
    pub fn per_data_center<N: Into<String>>(copies: impl IntoIterator<Item = (N, u8)>) -> Self {
        let copies = copies.into_iter().map(|(name, copies)| (name.into(), copies));
        Self(Strategy::NetworkTopology(copies.collect()))
    }

    /// The strategy as a map of CQL, which takes no parameters there.
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

/// Refuses names that would have to be quoted, and those that are options of the strategy.
pub(super) fn check_data_center(name: &str) -> Result<()> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_-.: ".contains(&b);
    let is_option = ["class", "replication_factor"].contains(&name);
    if name.is_empty() || name.len() > 255 || is_option || !name.bytes().all(is_plain) {
        return Err(Error::configuration(format!(
            "`{}` cannot be a data centre; use letters, digits, `_`, `-`, `.`, `:` and spaces",
            name.escape_debug()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replication_is_a_map() {
        let simple = CassandraReplication::default().as_map().unwrap();
        assert_eq!(simple, "{'class': 'SimpleStrategy', 'replication_factor': 1}");
        let topology = CassandraReplication::per_data_center([("dc-1", 3), ("dc-2", 2)]);
        let expected = "{'class': 'NetworkTopologyStrategy', 'dc-1': 3, 'dc-2': 2}";
        assert_eq!(topology.as_map().unwrap(), expected);
    }

    #[test]
    fn odd_replication_is_refused() {
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

//! The stores of the harnesses.

use clap::ValueEnum;

/// The store of a harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A file in a temporary directory.
    Sqlite,
    /// A temporary server.
    Postgres,
    /// A temporary server.
    Redis,
    /// A temporary node.
    Cassandra,
}

impl Kind {
    /// Returns the name of the store on the command line.
    #[must_use]
    pub fn as_argument(self) -> String {
        let value = self.to_possible_value();
        format!("--store={}", value.as_ref().map_or("", |value| value.get_name()))
    }

    /// Returns the failpoints of the store.
    #[must_use]
    pub fn points(self) -> &'static [Point] {
        use Way::{Beginning, Cleanups, Journals, LongTurns, Rewrites, Turns};
        match self {
            Self::Sqlite => &[
                Point("sqlite.in_migration", Beginning),
                Point("sqlite.before_begin", Turns),
                Point("sqlite.after_begin", Turns),
                Point("sqlite.after_version_check", Turns),
                Point("sqlite.after_eviction", Turns),
                Point("sqlite.after_eviction", Rewrites),
                Point("sqlite.after_append", Turns),
                Point("sqlite.after_append", Rewrites),
                Point("sqlite.after_head", Turns),
                Point("sqlite.before_commit", Turns),
                Point("sqlite.before_commit", Rewrites),
                Point("sqlite.after_commit", Turns),
                Point("sqlite.before_answer", Turns),
                Point("sqlite.before_journal_append", Journals),
                Point("sqlite.after_journal_append", Journals),
                Point("sqlite.after_journal_close", Journals),
                Point("sqlite.before_commit", Journals),
                Point("sqlite.after_commit", Journals),
            ],
            Self::Postgres => &[
                Point("postgres.schema.migrated", Beginning),
                Point("postgres.schema.written", Beginning),
                Point("postgres.commit.before", Turns),
                Point("postgres.commit.after", Turns),
                Point("postgres.transaction.locked", Rewrites),
                Point("postgres.transaction.written", Rewrites),
                Point("postgres.transaction.after", Rewrites),
                Point("postgres.delete.head", Rewrites),
                Point("postgres.delete.heads", Cleanups),
                Point("postgres.append.before", Journals),
                Point("postgres.append.after", Journals),
                Point("postgres.transaction.written", Journals),
                Point("postgres.transaction.after", Journals),
            ],
            Self::Redis => &[
                Point("redis.before_commit", Turns),
                Point("redis.before_commit", Rewrites),
                Point("redis.after_commit", Turns),
                Point("redis.after_commit", Rewrites),
                Point("redis.before_append", Journals),
                Point("redis.after_append", Journals),
                Point("redis.before_commit", Journals),
                Point("redis.after_commit", Journals),
            ],
            Self::Cassandra => &[
                Point("cassandra.before_commit", Turns),
                Point("cassandra.before_commit", Rewrites),
                Point("cassandra.after_commit", Turns),
                Point("cassandra.after_commit", Rewrites),
                Point("cassandra.after_portion", LongTurns),
                Point("cassandra.before_append", Journals),
                Point("cassandra.after_append", Journals),
                Point("cassandra.after_commit", Journals),
            ],
        }
    }
}

/// A failpoint of a store, and the work that reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point(pub &'static str, pub Way);

/// Work of a process until it is killed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// Plays turns.
    #[default]
    Turns,
    /// Plays turns in a store that does not exist yet.
    Beginning,
    /// Replaces whole memories, and deletes conversations.
    Rewrites,
    /// Replaces memories of several megabytes.
    LongTurns,
    /// Repeatedly begins conversations and deletes all idle ones.
    Cleanups,
    /// Writes each turn to a journal before its commit.
    Journals,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Returns the failpoints in the source of a store, without its subfolders.
    fn in_source(folder: &Path) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                continue;
            }
            let text = std::fs::read_to_string(path).unwrap();
            let points = text.split("failpoint!(\"").skip(1);
            found.extend(points.filter_map(|rest| rest.split('"').next()).map(str::to_owned));
        }
        found
    }

    #[test]
    fn all_points_of_a_store_are_known() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        for kind in Kind::value_variants() {
            let name = kind.as_argument().replace("--store=", "");
            let known = kind.points().iter().map(|Point(name, _)| (*name).to_owned());
            let known: BTreeSet<_> = known.collect();
            assert_eq!(known, in_source(&crates.join(name).join("src")));
        }
    }
}

//! Index entries and pages that the server visits, with rows that were evicted and not vacuumed.

use super::{prefix, raw};
use ai_services::memory::{ChatMemoryStore, MemoryId};
use ai_services::message::ChatMessage;
use ai_services::store::postgres::PostgresChatMemoryStore;
use ai_services::store::postgres::deadpool_postgres::{Manager, Pool};
use ai_services::store::postgres::tokio_postgres::NoTls;
use ai_services_tests::servers::postgres::{self as server, Postgres};

/// Number of messages in memory, without a system message.
const WINDOW: usize = 10;

/// A store without a cache on a single connection, and a conversation.
struct Fixture {
    pool: Pool,
    store: PostgresChatMemoryStore,
    prefix: String,
    id: MemoryId,
}

#[derive(Debug)]
struct Visits {
    entries: i64,
    pages: i64,
}

impl Fixture {
    async fn new(server: &Postgres, messages: Vec<ChatMessage>) -> Self {
        let (prefix, id) = (prefix(), MemoryId::from("klaus"));
        let manager = Manager::new(server.url().parse().unwrap(), NoTls);
        let pool = Pool::builder(manager).max_size(1).build().unwrap();
        let store = PostgresChatMemoryStore::builder().pool(pool.clone()).table_prefix(&prefix);
        let store = store.cache_bytes(0).build().unwrap();
        store.ensure_schema().await.unwrap();
        let no_vacuum = format!("ALTER TABLE {prefix}_messages SET (autovacuum_enabled = false)");
        pool.get().await.unwrap().batch_execute(&no_vacuum).await.unwrap();
        store.update_messages(&id, &messages).await.unwrap();
        Self { pool, store, prefix, id }
    }

    /// Adds a turn and evicts the oldest two messages behind the first `front` ones.
    async fn turn(&self, front: usize) {
        let turn = vec![ChatMessage::user("question"), ChatMessage::ai("answer")];
        let loaded = self.store.load(&self.id).await.unwrap();
        self.store.commit(&self.id, loaded.change(front..front + 2, turn)).await.unwrap();
    }

    /// Replaces the list by one without its oldest two messages and with two new ones.
    async fn replace(&self) {
        let mut list = self.store.get_messages(&self.id).await.unwrap();
        list.drain(..2);
        list.extend([ChatMessage::user("question"), ChatMessage::ai("answer")]);
        self.store.update_messages(&self.id, &list).await.unwrap();
    }

    /// Returns the visits so far. The counters of a connection are published while it is idle, so that the
    /// store and this function share one.
    async fn visited(&self) -> Visits {
        let connection = self.pool.get().await.unwrap();
        connection.batch_execute("SELECT pg_stat_force_next_flush()").await.unwrap();
        let sql = format!(
            "SELECT idx_tup_read, heap_blks_read + heap_blks_hit + pages.idx_blks_read \
             + pages.idx_blks_hit FROM pg_stat_user_indexes AS entries \
             JOIN pg_statio_user_tables AS pages USING (relid) \
             WHERE entries.relname = '{}_messages'",
            self.prefix
        );
        let row = connection.query_one(&sql, &[]).await.unwrap();
        Visits { entries: row.get(0), pages: row.get(1) }
    }

    /// Returns the visits of `work`.
    async fn visits_of(&self, work: impl AsyncFn()) -> Visits {
        let before = self.visited().await;
        work().await;
        let after = self.visited().await;
        Visits { entries: after.entries - before.entries, pages: after.pages - before.pages }
    }
}

fn window() -> Vec<ChatMessage> {
    (0..WINDOW).map(|number| ChatMessage::user(number.to_string())).collect()
}

/// Asserts that the visits do not depend on the number of evicted rows, apart from a level of the index and the
/// rows of the last turns.
fn assert_bounded(few: &Visits, many: &Visits) {
    let window = WINDOW as i64;
    assert!(few.entries >= window, "the visits were not counted: {few:?}");
    let is_bounded = many.entries <= few.entries + window && many.pages <= few.pages + window;
    assert!(is_bounded, "{few:?}, {many:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn load_does_not_visit_evicted_rows() {
    let Some(server) = server::shared() else { return };
    let system = vec![ChatMessage::system("Be brief.")];
    for (front, messages) in [(0, window()), (1, [system, window()].concat())] {
        let fixture = Fixture::new(server, messages).await;
        let load = async || {
            assert_eq!(
                fixture.store.load(&fixture.id).await.unwrap().messages().len(),
                front + WINDOW
            );
        };
        fixture.turn(front).await;
        let few = fixture.visits_of(load).await;
        for _ in 0..300 {
            fixture.turn(front).await;
        }
        assert_bounded(&few, &fixture.visits_of(load).await);
        // Bounds may be too low, which a load without them shows.
        let no_bounds = "SET oldest = 0, second_oldest = 0";
        let sql = format!("UPDATE {}_conversations {no_bounds}", fixture.prefix);
        raw(server).await.execute(&sql, &[]).await.unwrap();
        assert!(fixture.visits_of(load).await.entries > 600);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replacement_does_not_visit_evicted_rows() {
    let Some(server) = server::shared() else { return };
    let fixture = Fixture::new(server, window()).await;
    let replace = async || fixture.replace().await;
    replace().await;
    let few = fixture.visits_of(replace).await;
    for _ in 0..300 {
        replace().await;
    }
    assert_bounded(&few, &fixture.visits_of(replace).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn bounds_follow_the_oldest_messages() {
    let Some(server) = server::shared() else { return };
    let fixture = Fixture::new(server, window()).await;
    let bounds = async || {
        let sql = format!(
            "SELECT oldest, second_oldest, version - messages + 1 FROM {}_conversations",
            fixture.prefix
        );
        let row = raw(server).await.query_one(&sql, &[]).await.unwrap();
        let first: i64 = row.get(2);
        (row.get::<_, i64>(0), row.get::<_, i64>(1), first)
    };
    assert!(matches!(bounds().await, (0, 0, 1..)));
    fixture.turn(0).await;
    let (oldest, second, first) = bounds().await;
    assert_eq!((oldest, second), (first, first));
    // Two messages behind the first one are evicted.
    fixture.turn(1).await;
    assert_eq!(bounds().await, (first, first + 3, first + 2));
    // All messages are evicted.
    let loaded = fixture.store.load(&fixture.id).await.unwrap();
    fixture.store.commit(&fixture.id, loaded.change(0..WINDOW, Vec::new())).await.unwrap();
    let (oldest, second, next) = bounds().await;
    assert_eq!((oldest, second), (next - 1, next - 1));
    fixture.store.update_messages(&fixture.id, &window()).await.unwrap();
    assert_eq!(fixture.store.get_messages(&fixture.id).await.unwrap(), window());
}

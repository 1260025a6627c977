//! Checks of the stored turns.

use super::play::{WINDOW, answer, uses_tool};
use ai_services::Result;
use ai_services::memory::{CommitState, ConversationStore, HistoryPosition, MemoryId, RequestId};
use ai_services::message::ChatMessage;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Number of messages per read.
const PAGE: usize = 1_000;

/// Violations in the turns of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Acknowledged turns that are missing, or not in the order of their client.
    pub lost: u64,
    /// Duplicate turns.
    pub duplicated: u64,
    /// Incomplete turns.
    pub partial: u64,
    /// Turns that contain messages of another turn.
    pub interleaved: u64,
    /// Last turns of conversations that are stored but whose request is not found, or the other way round.
    pub misreported: u64,
    /// Stored turns without acknowledgement: the process ended in between.
    pub unacknowledged: u64,
    /// Descriptions of the first violations.
    pub examples: Vec<String>,
}

impl Verdict {
    /// Returns `true` if there are no violations.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.lost + self.duplicated + self.partial + self.interleaved + self.misreported == 0
    }

    fn note(&mut self, id: &str, what: &str) {
        if self.examples.len() < 10 {
            self.examples.push(format!("{id}: {what}"));
        }
    }
}

impl std::ops::AddAssign for Verdict {
    fn add_assign(&mut self, other: Self) {
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.partial += other.partial;
        self.interleaved += other.interleaved;
        self.misreported += other.misreported;
        self.unacknowledged += other.unacknowledged;
        self.examples.extend(other.examples);
        self.examples.truncate(10);
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lost, duplicated, partial, interleaved, .. } = self;
        let Self { misreported, unacknowledged, examples, .. } = self;
        write!(f, "{lost} lost, {duplicated} duplicated, {partial} partial, ")?;
        write!(
            f,
            "{interleaved} interleaved, {misreported} misreported ({unacknowledged} there but not acknowledged)"
        )?;
        examples.iter().try_for_each(|example| write!(f, "\n  {example}"))
    }
}

/// Returns the tag of turn `n` of a client.
#[must_use]
pub fn tag(client: &str, n: u64) -> String {
    format!("{client}/{n}")
}

/// The acknowledged tags, by conversation, in the order of their clients.
#[derive(Clone, Debug, Default)]
pub struct Acknowledged(BTreeMap<String, Vec<String>>);

impl Acknowledged {
    /// Adds an acknowledged turn.
    pub fn add(&mut self, id: &str, tag: &str) {
        self.0.entry(id.to_owned()).or_default().push(tag.to_owned());
    }

    /// Returns the number of acknowledged turns.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.values().map(|tags| tags.len() as u64).sum()
    }

    /// Adds the acknowledged turns of another process.
    pub fn extend(&mut self, other: Self) {
        for (id, tags) in other.0 {
            self.0.entry(id).or_default().extend(tags);
        }
    }

    /// Compares these conversations with the store.
    ///
    /// # Errors
    ///
    /// Fails if a conversation cannot be read.
    pub async fn check(
        &self,
        store: &dyn ConversationStore,
        ids: impl IntoIterator<Item = String>,
    ) -> Result<Verdict> {
        let mut verdict = Verdict::default();
        for id in ids {
            let memory_id = MemoryId::from(id.as_str());
            let remembered = store.load(&memory_id).await?;
            let mut ignored = Verdict::default();
            turns(&id, &remembered.messages().to_vec(), &mut ignored);
            verdict += ignored;

            let said = everything(store, &memory_id).await?;
            let present = turns(&id, &said, &mut verdict);
            let expected = self.0.get(&id).map(Vec::as_slice).unwrap_or_default();
            compare(&id, expected, &present, &mut verdict);
            check_requests(store, &memory_id, &present, &mut verdict).await?;
            check_journal(store, &memory_id, &present, &mut verdict).await?;
        }
        Ok(verdict)
    }
}

/// The tags of the earlier turns in the request of each turn, by its tag.
#[derive(Clone, Debug, Default)]
pub struct Requests(BTreeMap<String, Vec<String>>);

impl Requests {
    /// Adds the request of a turn.
    pub fn add(&mut self, tag: &str, earlier: Vec<String>) {
        self.0.insert(tag.to_owned(), earlier);
    }

    /// Adds the requests of another process.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Returns the number of stored turns whose request did not contain exactly the turns that were committed
    /// before, as many as fit into the window; with examples.
    ///
    /// # Errors
    ///
    /// Fails if a conversation cannot be read.
    pub async fn stale(
        &self,
        store: &dyn ConversationStore,
        ids: impl IntoIterator<Item = String>,
    ) -> Result<(u64, Vec<String>)> {
        let (mut stale, mut examples) = (0, Vec::new());
        for id in ids {
            let messages = everything(store, &MemoryId::from(id.as_str())).await?;
            let present = turns(&id, &messages, &mut Verdict::default());
            for (place, tag) in present.iter().enumerate() {
                let Some(earlier) = self.0.get(tag) else { continue };
                let expected = before(&present, place);
                if earlier != expected {
                    stale += 1;
                    examples.push(format!("{id}: {tag} after {earlier:?}, not {expected:?}"));
                    examples.truncate(10);
                }
            }
        }
        Ok((stale, examples))
    }
}

/// Returns the turns before this place that fit into the window with the turn there.
fn before(present: &[String], place: usize) -> &[String] {
    let length = |tag: &String| if uses_tool(tag) { 4 } else { 2 };
    let mut free = WINDOW.saturating_sub(present.get(place).map_or(0, length));
    let all = present.get(..place).unwrap_or_default();
    let fitting = all.iter().rev().take_while(|tag| {
        let rest = free.checked_sub(length(tag));
        free = rest.unwrap_or(0);
        rest.is_some()
    });
    all.get(place - fitting.count()..).unwrap_or_default()
}

/// Checks that the request of the newest turn is found, and that of the next turn of its client only if that turn
/// is stored. The id of a request is the tag of its turn.
async fn check_requests(
    store: &dyn ConversationStore,
    id: &MemoryId,
    present: &[String],
    verdict: &mut Verdict,
) -> Result<()> {
    let Some(newest) = present.last() else { return Ok(()) };
    let next = newest
        .rsplit_once('/')
        .and_then(|(client, n)| Some(tag(client, n.parse::<u64>().ok()? + 1)));
    for tag in [Some(newest), next.as_ref()].into_iter().flatten() {
        let state = store.commit_state(id, &RequestId::new(tag.as_str())?).await?;
        if (state == CommitState::Committed) != present.contains(tag) {
            verdict.misreported += 1;
            verdict.note(id.as_str(), &format!("the state of {tag} is {state:?}"));
        }
    }
    Ok(())
}

/// Checks that an open journal has whole appends of a turn that is not stored. Each record is the tag of the
/// turn; the first append has one record, the second one three.
async fn check_journal(
    store: &dyn ConversationStore,
    id: &MemoryId,
    present: &[String],
    verdict: &mut Verdict,
) -> Result<()> {
    let Some(journals) = store.journals() else { return Ok(()) };
    let Some(journal) = journals.journal(id).await? else { return Ok(()) };
    let is_whole = [1, 4].contains(&journal.records.len());
    if !is_whole || journal.records.iter().any(|tag| present.contains(tag)) {
        verdict.partial += 1;
        verdict.note(id.as_str(), &format!("the journal {:?} is open", journal.records));
    }
    Ok(())
}

/// Returns all messages of a conversation, including evicted ones.
///
/// # Errors
///
/// Fails if the conversation cannot be read.
pub async fn everything(store: &dyn ConversationStore, id: &MemoryId) -> Result<Vec<ChatMessage>> {
    let (mut messages, mut position) = (Vec::new(), HistoryPosition::Oldest);
    loop {
        let page = store.history(id, position, PAGE).await?;
        let Some(last) = page.last() else { return Ok(messages) };
        position = HistoryPosition::After(last.position);
        messages.extend(page.into_iter().map(|entry| entry.message));
    }
}

/// Returns the tags of the complete turns, in order.
fn turns(id: &str, messages: &[ChatMessage], verdict: &mut Verdict) -> Vec<String> {
    let mut present = Vec::new();
    let mut rest = messages.iter().peekable();
    while let Some(first) = rest.next() {
        if !first.is_user() {
            verdict.partial += 1;
            verdict.note(id, "a turn has lost its beginning");
            continue;
        }
        let tag = first.text().unwrap_or_default().to_owned();
        let mut turn = Vec::new();
        while let Some(next) = rest.next_if(|next| !next.is_user()) {
            turn.push(next);
        }
        match turn.as_slice() {
            [reply] if !uses_tool(&tag) && says(reply, &answer(&tag)) => present.push(tag),
            [call, result, reply]
                if uses_tool(&tag)
                    && !call.tool_calls().is_empty()
                    && says(result, &tag)
                    && says(reply, &answer(&tag)) =>
            {
                present.push(tag);
            }
            [.., reply] if says(reply, &answer(&tag)) => {
                verdict.partial += 1;
                verdict.note(id, &format!("turn {tag} is incomplete"));
            }
            [] => {
                verdict.partial += 1;
                verdict.note(id, &format!("turn {tag} has no answer"));
            }
            _ => {
                verdict.interleaved += 1;
                verdict.note(id, &format!("turn {tag} has messages of another one"));
            }
        }
    }
    present
}

fn says(message: &ChatMessage, text: &str) -> bool {
    message.text().is_some_and(|said| said == text)
}

/// Checks that every acknowledged turn is stored once, in the order of each client.
fn compare(id: &str, expected: &[String], present: &[String], verdict: &mut Verdict) {
    let mut seen = BTreeMap::new();
    for (place, tag) in present.iter().enumerate() {
        if seen.insert(tag.as_str(), place).is_some() {
            verdict.duplicated += 1;
            verdict.note(id, &format!("turn {tag} is there twice"));
        }
    }
    let mut last_of_client = BTreeMap::new();
    for tag in expected {
        let client = tag.split_once('/').map_or("", |(client, _)| client);
        match seen.get(tag.as_str()) {
            Some(place)
                if last_of_client.insert(client, *place).is_none_or(|last| last < *place) => {}
            Some(_) => {
                verdict.lost += 1;
                verdict.note(id, &format!("turn {tag} is out of order"));
            }
            None => {
                verdict.lost += 1;
                verdict.note(id, &format!("turn {tag} was acknowledged and is not there"));
            }
        }
    }
    let expected: BTreeSet<_> = expected.iter().map(String::as_str).collect();
    verdict.unacknowledged += seen.keys().filter(|tag| !expected.contains(*tag)).count() as u64;
}

#[cfg(test)]
mod tests {
    use super::super::play::messages as turn;
    use super::*;
    use ai_services::memory::{Change, ChatMemoryStore, InMemoryChatMemoryStore};

    async fn verdict(messages: Vec<ChatMessage>, acknowledged: &[&str]) -> Verdict {
        let store = InMemoryChatMemoryStore::new();
        let tag = messages.iter().rfind(|message| message.is_user()).and_then(ChatMessage::text);
        let request = RequestId::new(tag.unwrap_or("none")).unwrap();
        let change = Change::replace(None, messages.into()).with_request(request);
        store.commit(&"id".into(), change).await.unwrap();
        let mut known = Acknowledged::default();
        acknowledged.iter().for_each(|tag| known.add("id", tag));
        known.check(&store, ["id".to_owned()]).await.unwrap()
    }

    fn both(first: &str, second: &str) -> Vec<ChatMessage> {
        [turn(first), turn(second)].concat()
    }

    #[tokio::test]
    async fn complete_turns_are_clean() {
        let tags = ["a/0", "a/1", "a/2", "a/3"];
        let messages = tags.iter().flat_map(|tag| turn(tag)).collect();
        let found = verdict(messages, &tags).await;
        assert!(found.is_clean(), "{found}");
        assert_eq!(found.unacknowledged, 0);
    }

    #[tokio::test]
    async fn lost_turn_is_found() {
        assert_eq!(verdict(turn("a/0"), &["a/0", "a/1"]).await.lost, 1);
    }

    #[tokio::test]
    async fn turns_out_of_order_are_found() {
        assert_eq!(verdict(both("a/1", "a/0"), &["a/0", "a/1"]).await.lost, 1);
    }

    #[tokio::test]
    async fn duplicated_turn_is_found() {
        assert_eq!(verdict(both("a/0", "a/0"), &["a/0"]).await.duplicated, 1);
    }

    #[tokio::test]
    async fn turn_that_nobody_was_told_of_is_counted() {
        let found = verdict(both("a/0", "a/1"), &["a/0"]).await;
        assert_eq!((found.unacknowledged, found.is_clean()), (1, true));
    }

    #[tokio::test]
    async fn request_without_the_newest_turn_is_stale() {
        let store = InMemoryChatMemoryStore::new();
        // Turns with and without a tool.
        let tags: Vec<String> = (0..12).map(|n| tag("a", n)).collect();
        let all: Vec<_> = tags.iter().flat_map(|tag| turn(tag)).collect();
        store.update_messages(&"id".into(), &all).await.unwrap();
        let mut requests = Requests::default();
        for (place, tag) in tags.iter().enumerate() {
            requests.add(tag, before(&tags, place).to_vec());
        }
        let stale =
            async |requests: &Requests| requests.stale(&store, ["id".to_owned()]).await.unwrap().0;
        assert_eq!(stale(&requests).await, 0);
        for changed in [&tags[7..9], &tags[9..9], &tags[8..11]] {
            let mut requests = requests.clone();
            requests.add(&tags[10], changed.to_vec());
            assert_eq!(stale(&requests).await, 1, "{changed:?}");
        }
    }

    #[tokio::test]
    async fn half_a_turn_is_found() {
        for tag in ["a/0", "a/1", "a/2"] {
            let whole = turn(tag);
            for missing in 0..whole.len() {
                let mut half = whole.clone();
                half.remove(missing);
                let found = verdict(half, &[]).await;
                assert!(found.partial + found.interleaved > 0, "{tag} without {missing}");
            }
        }
    }

    #[tokio::test]
    async fn interleaved_turns_are_found() {
        let (one, two) = (turn("a/0"), turn("b/0"));
        let mixed = vec![one[0].clone(), two[0].clone(), one.last().unwrap().clone()];
        let mixed = [mixed, vec![two.last().unwrap().clone()]].concat();
        assert!(!verdict(mixed, &[]).await.is_clean());
    }
}

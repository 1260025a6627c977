//! A small complete store with one configurable fault.

use ai_services_core::document::{Metadata, MetadataValue, TextSegment};
use ai_services_core::embedding::{
    Comparison, EmbeddingEntry, EmbeddingStore, Filter, Replace, SearchMatch, TextSearch,
    VectorSearch,
};
use ai_services_core::{Error, ErrorKind, Result};
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use tokio::task::yield_now;

/// A fault of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    HasNoTextSearch,
    // Vectors.
    CountsOneMore,
    WorstFirst,
    ScoreIsCosine,
    ReturnsOneMore,
    TiesByAge,
    TiesIgnoreCase,
    IgnoresMinScore,
    SquaresInSinglePrecision,
    AcceptsAnyVector,
    // Entries.
    StoresSinglePrecision,
    WholeFloatsAreIntegers,
    MergesMetadata,
    KeepsTheOldVector,
    KeepsTheFirstOfABatch,
    AddsOneByOne,
    RemovesBeforeChecking,
    AddsBeforeRemoving,
    ReplaceNothingRemovesAll,
    RemovesOnlyTheFirst,
    RemovesEverything,
    ClearKeepsOneEntry,
    CountIgnoresFilter,
    ValuesAreTexts,
    TruncatesAtTenThousand,
    // Filters.
    ComparesAsTexts,
    IgnoresCaseOfValues,
    ComparesAsFloats,
    NotRequiresTheKey,
    AnyOfNoneIsTrue,
    TreatsAllAsAny,
    AcceptsAnyFilter,
    FiltersAfterTheSearch,
    // Text search.
    FindsPartsOfWords,
    WordsAreCaseSensitive,
    IgnoresTheNumberOfWords,
    MinusIsAnOperator,
    StarIsAnOperator,
    TextSearchIgnoresFilter,
    KeepsOldWords,
    // Unusual values.
    TrimsIds,
    RemovesByPattern,
    KeysArePaths,
    ValuesArePatterns,
    TrimsTexts,
    NormalizesLines,
    TruncatesAtNul,
    TruncatesLongKeys,
    TruncatesLongValues,
    // Concurrency.
    ReplacesInTwoSteps,
    ReadsThenWrites,
}

pub(super) struct FaultyStore {
    fault: Fault,
    entries: Mutex<Entries>,
    /// The first text of each id; never updated.
    texts: Mutex<BTreeMap<Box<str>, String>>,
}

type Entries = BTreeMap<Box<str>, Entry>;

#[derive(Clone)]
struct Entry {
    age: usize,
    vector: Vec<f32>,
    segment: TextSegment,
}

impl FaultyStore {
    pub(super) fn new(fault: Fault) -> Self {
        Self { fault, entries: Mutex::default(), texts: Mutex::default() }
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn entries(&self) -> Entries {
        self.entries.lock().unwrap().clone()
    }

    fn check(&self, entry: &EmbeddingEntry, entries: &Entries) -> Result<()> {
        if self.is(Fault::AcceptsAnyVector) {
            return Ok(());
        }
        entry.check()?;
        self.check_length(&entry.vector, entries)
    }

    fn check_length(&self, vector: &[f32], entries: &Entries) -> Result<()> {
        match entries.values().next() {
            Some(first) if first.vector.len() != vector.len() => {
                Err(Error::new(ErrorKind::InvalidRequest, "the vector has other dimensions"))
            }
            _ => Ok(()),
        }
    }

    fn check_filter(&self, filter: Option<&Filter>) -> Result<()> {
        match filter {
            Some(filter) if !self.is(Fault::AcceptsAnyFilter) => filter.check(),
            _ => Ok(()),
        }
    }

    fn id(&self, id: &str) -> Box<str> {
        match self.fault {
            Fault::TrimsIds => id.trim_end().into(),
            Fault::TruncatesAtNul => id.split('\0').next().unwrap().into(),
            _ => id.into(),
        }
    }

    fn key(&self, key: &str) -> Box<str> {
        match self.fault {
            Fault::KeysArePaths => key.split('.').next_back().unwrap().into(),
            Fault::TruncatesAtNul => key.split('\0').next().unwrap().into(),
            Fault::TruncatesLongKeys => key.chars().take(1_000).collect::<String>().into(),
            _ => key.into(),
        }
    }

    fn written(&self, segment: &TextSegment) -> TextSegment {
        let value = |value: &MetadataValue| match (self.fault, value) {
            (Fault::StoresSinglePrecision, MetadataValue::Float(number)) => (*number as f32).into(),
            (Fault::WholeFloatsAreIntegers, MetadataValue::Float(number))
                if number.fract() == 0.0 && number.abs() < 1e15 =>
            {
                (*number as i64).into()
            }
            (Fault::TruncatesLongValues, MetadataValue::Text(text)) => {
                text.chars().take(8_192).collect::<String>().into()
            }
            (_, value) => value.clone(),
        };
        let metadata: Metadata =
            segment.metadata().iter().map(|(key, own)| (self.key(key), value(own))).collect();
        let text = match self.fault {
            Fault::TrimsTexts => segment.text().trim().to_owned(),
            Fault::NormalizesLines => segment.text().replace("\r\n", "\n"),
            Fault::TruncatesAtNul => segment.text().split('\0').next().unwrap().to_owned(),
            _ => segment.text().to_owned(),
        };
        TextSegment::new(text).with_metadata(metadata)
    }

    fn put(&self, entries: &mut Entries, entry: &EmbeddingEntry) {
        let id = self.id(&entry.id);
        let mut segment = self.written(&entry.segment);
        let mut vector = entry.vector.clone();
        if let Some(old) = entries.get(&id) {
            if self.is(Fault::MergesMetadata) {
                let both = old.segment.metadata().iter().chain(segment.metadata().iter());
                let both = both.map(|(key, value)| (key, value.clone())).collect();
                segment = segment.with_metadata(both);
            }
            if self.is(Fault::KeepsTheOldVector) {
                vector = old.vector.clone();
            }
        }
        let text = segment.text().to_owned();
        self.texts.lock().unwrap().entry(id.clone()).or_insert(text);
        let age = entries.len();
        entries.insert(id, Entry { age, vector, segment });
    }

    fn accepts(&self, filter: &Filter, metadata: &Metadata) -> bool {
        match filter {
            Filter::Compare { key, comparison, value } => {
                let own = metadata.get(&self.key(key));
                own.is_some_and(|own| self.compares(*comparison, own, value))
            }
            Filter::In { key, values } => metadata.get(&self.key(key)).is_some_and(|own| {
                values.iter().any(|value| self.compares(Comparison::Equal, own, value))
            }),
            Filter::Exists(key) => metadata.get(&self.key(key)).is_some(),
            Filter::All(all) if self.is(Fault::TreatsAllAsAny) && all.len() > 1 => {
                all.iter().any(|filter| self.accepts(filter, metadata))
            }
            Filter::All(all) => all.iter().all(|filter| self.accepts(filter, metadata)),
            Filter::Any(any) if any.is_empty() => self.is(Fault::AnyOfNoneIsTrue),
            Filter::Any(any) => any.iter().any(|filter| self.accepts(filter, metadata)),
            Filter::Not(filter) => match &**filter {
                Filter::Compare { key, .. } | Filter::In { key, .. }
                    if self.is(Fault::NotRequiresTheKey) && metadata.get(key).is_none() =>
                {
                    false
                }
                filter => !self.accepts(filter, metadata),
            },
        }
    }

    fn compares(&self, comparison: Comparison, own: &MetadataValue, with: &MetadataValue) -> bool {
        let float = |value: &MetadataValue| value.as_float().map(MetadataValue::from);
        let (own, with) = match self.fault {
            Fault::ComparesAsTexts => (own.to_string().into(), with.to_string().into()),
            Fault::ComparesAsFloats => (
                float(own).unwrap_or_else(|| own.clone()),
                float(with).unwrap_or_else(|| with.clone()),
            ),
            Fault::IgnoresCaseOfValues => match (own.as_text(), with.as_text()) {
                (Some(own), Some(with)) => (own.to_lowercase().into(), with.to_lowercase().into()),
                _ => (own.clone(), with.clone()),
            },
            Fault::ValuesArePatterns => match (own.as_text(), with.as_text()) {
                (Some(own), Some("%")) => (own.into(), own.into()),
                _ => (own.clone(), with.clone()),
            },
            Fault::TruncatesAtNul => match with.as_text() {
                Some(with) => (own.clone(), with.split('\0').next().unwrap().into()),
                None => (own.clone(), with.clone()),
            },
            _ => (own.clone(), with.clone()),
        };
        let filter = Filter::Compare { key: "key".into(), comparison, value: with };
        filter.accepts(&Metadata::new().with("key", own))
    }

    fn accepted(&self, filter: Option<&Filter>) -> Entries {
        let accepts = |entry: &Entry| {
            filter.is_none_or(|filter| self.accepts(filter, entry.segment.metadata()))
        };
        self.entries().into_iter().filter(|(_, entry)| accepts(entry)).collect()
    }

    fn score(&self, a: &[f32], b: &[f32]) -> f64 {
        let product = |a: &[f32], b: &[f32]| -> f64 {
            a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        let length = |a: &[f32]| match self.fault {
            Fault::SquaresInSinglePrecision => {
                f64::from(a.iter().map(|a| a * a).sum::<f32>().sqrt())
            }
            _ => product(a, a).sqrt(),
        };
        let cosine = product(a, b) / (length(a) * length(b));
        if self.is(Fault::ScoreIsCosine) { cosine } else { f64::midpoint(1.0, cosine) }
    }

    /// Sorts the entries, best first, and truncates them.
    fn sorted(&self, mut found: Vec<(f64, Box<str>, Entry)>, max: usize) -> Vec<SearchMatch> {
        found.sort_by(|(a_score, a_id, a), (b_score, b_id, b)| {
            let ties = match self.fault {
                Fault::TiesByAge => a.age.cmp(&b.age),
                Fault::TiesIgnoreCase => a_id.to_lowercase().cmp(&b_id.to_lowercase()),
                _ => a_id.cmp(b_id),
            };
            b_score.total_cmp(a_score).then(ties)
        });
        if self.is(Fault::WorstFirst) {
            found.reverse();
        }
        let max = if self.is(Fault::ReturnsOneMore) { max.saturating_add(1) } else { max };
        found.truncate(max);
        found.into_iter().map(|(score, id, e)| SearchMatch::new(id, score, e.segment)).collect()
    }

    /// Returns the entries after a replacement.
    fn replaced(
        &self,
        mut entries: Entries,
        removed: Replace<'_>,
        added: &[EmbeddingEntry],
    ) -> Entries {
        let is_addition = removed == Replace::Nothing;
        if is_addition && added.len() == 1 && self.is(Fault::ReplaceNothingRemovesAll) {
            entries.clear();
        }
        let remove = |entries: &mut Entries| {
            if let Replace::Matching(filter) = removed {
                entries.retain(|_, entry| !self.accepts(filter, entry.segment.metadata()));
            }
        };
        if !self.is(Fault::AddsBeforeRemoving) {
            remove(&mut entries);
        }
        let at_most = if self.is(Fault::TruncatesAtTenThousand) { 10_000 } else { usize::MAX };
        let mut seen = BTreeSet::new();
        for entry in added.iter().take(at_most) {
            if seen.insert(&entry.id) || !self.is(Fault::KeepsTheFirstOfABatch) {
                self.put(&mut entries, entry);
            }
        }
        if self.is(Fault::AddsBeforeRemoving) {
            remove(&mut entries);
        }
        entries
    }

    fn words(&self, text: &str) -> BTreeSet<String> {
        let text = if self.is(Fault::WordsAreCaseSensitive) {
            text.to_owned()
        } else {
            text.to_lowercase()
        };
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    }

    /// Returns the number of words of a query that a text has.
    fn common(&self, searched: &str, text: &str) -> usize {
        let (queried, own) = (self.words(searched), self.words(text));
        if self.is(Fault::MinusIsAnOperator) {
            let forbidden = |word: &&String| searched.contains(&format!("-{word}"));
            if queried.iter().filter(forbidden).any(|word| own.contains(word)) {
                return 0;
            }
        }
        let prefix = searched.strip_suffix('*').filter(|_| self.is(Fault::StarIsAnOperator));
        let has = |word: &&String| match self.fault {
            Fault::FindsPartsOfWords => text.to_lowercase().contains(&***word),
            _ => {
                let begins = |own: &String| prefix.is_some_and(|prefix| own.starts_with(prefix));
                own.contains(*word) || own.iter().any(begins)
            }
        };
        let count = queried.iter().filter(has).count();
        if self.is(Fault::IgnoresTheNumberOfWords) { count.min(1) } else { count }
    }
}

#[async_trait]
impl EmbeddingStore for FaultyStore {
    async fn replace(&self, removed: Replace<'_>, added: Vec<EmbeddingEntry>) -> Result<()> {
        if let Replace::Matching(filter) = removed {
            self.check_filter(Some(filter))?;
        }
        let before = self.entries();
        if self.is(Fault::RemovesBeforeChecking) {
            *self.entries.lock().unwrap() = self.replaced(before.clone(), removed, &[]);
        }
        for (at, entry) in added.iter().enumerate() {
            let checked = self.check(entry, &before);
            if checked.is_err() && self.is(Fault::AddsOneByOne) {
                let after = self.replaced(before, removed, &added[..at]);
                *self.entries.lock().unwrap() = after;
                return checked;
            }
            checked?;
        }
        if self.is(Fault::ReplacesInTwoSteps) {
            let between = self.replaced(before, removed, &[]);
            *self.entries.lock().unwrap() = between;
            yield_now().await;
            yield_now().await;
        }
        let before = self.entries();
        if self.is(Fault::ReadsThenWrites) {
            yield_now().await;
        }
        let after = self.replaced(before, removed, &added);
        *self.entries.lock().unwrap() = after;
        Ok(())
    }

    async fn search(&self, search: &VectorSearch<'_>) -> Result<Vec<SearchMatch>> {
        if self.is(Fault::AcceptsAnyVector) {
            self.check_filter(search.filter)?;
        } else if self.is(Fault::AcceptsAnyFilter) {
            let mut unfiltered = search.clone();
            unfiltered.filter = None;
            unfiltered.check()?;
        } else {
            search.check()?;
        }
        self.check_length(search.vector, &self.entries())?;
        let is_late = self.is(Fault::FiltersAfterTheSearch);
        let filter = search.filter.filter(|_| !is_late);
        let scored = self
            .accepted(filter)
            .into_iter()
            .map(|(id, entry)| (self.score(search.vector, &entry.vector), id, entry));
        let is_good = |score: f64| score >= search.min_score || self.is(Fault::IgnoresMinScore);
        let found = scored.filter(|(score, ..)| is_good(*score)).collect();
        let mut found = self.sorted(found, search.max_results);
        if let (Some(filter), true) = (search.filter, is_late) {
            found.retain(|found| filter.accepts(found.segment.metadata()));
        }
        Ok(found)
    }

    async fn search_text(&self, search: &TextSearch<'_>) -> Result<Vec<SearchMatch>> {
        if self.is(Fault::HasNoTextSearch) {
            return Err(Error::new(ErrorKind::Unsupported, "no text search"));
        }
        self.check_filter(search.filter)?;
        let filter = search.filter.filter(|_| !self.is(Fault::TextSearchIgnoresFilter));
        let found = self.accepted(filter).into_iter().filter_map(|(id, entry)| {
            let old = self.texts.lock().unwrap().get(&id).cloned();
            let text = match old.filter(|_| self.is(Fault::KeepsOldWords)) {
                Some(old) => old,
                None => entry.segment.text().to_owned(),
            };
            let count = self.common(search.text, &text);
            (count > 0).then_some((count as f64, id, entry))
        });
        Ok(self.sorted(found.collect(), search.max_results))
    }

    async fn remove(&self, ids: &[&str]) -> Result<()> {
        let ids = if self.is(Fault::RemovesOnlyTheFirst) { &ids[..ids.len().min(1)] } else { ids };
        let mut entries = self.entries.lock().unwrap();
        for id in ids {
            if self.is(Fault::RemovesByPattern) && *id == "%" {
                entries.clear();
            }
            entries.remove(&self.id(id));
        }
        Ok(())
    }

    async fn remove_matching(&self, filter: &Filter) -> Result<()> {
        self.check_filter(Some(filter))?;
        let accepts = |entry: &Entry| {
            self.is(Fault::RemovesEverything) || self.accepts(filter, entry.segment.metadata())
        };
        self.entries.lock().unwrap().retain(|_, entry| !accepts(entry));
        Ok(())
    }

    async fn clear(&self) -> Result<()> {
        let mut entries = self.entries.lock().unwrap();
        let kept = entries.pop_first().filter(|_| self.is(Fault::ClearKeepsOneEntry));
        *entries = kept.into_iter().collect();
        Ok(())
    }

    async fn count(&self) -> Result<u64> {
        let count = self.entries().len() as u64;
        Ok(if self.is(Fault::CountsOneMore) { count + 1 } else { count })
    }

    async fn count_matching(&self, filter: &Filter) -> Result<u64> {
        self.check_filter(Some(filter))?;
        let filter = Some(filter).filter(|_| !self.is(Fault::CountIgnoresFilter));
        Ok(self.accepted(filter).len() as u64)
    }

    async fn values(&self, key: &str, filter: Option<&Filter>) -> Result<Vec<MetadataValue>> {
        self.check_filter(filter)?;
        let mut values: Vec<MetadataValue> = Vec::new();
        for entry in self.accepted(filter).into_values() {
            let Some(value) = entry.segment.metadata().get(&self.key(key)) else { continue };
            let is_same = |other: &MetadataValue| match self.fault {
                Fault::ValuesAreTexts => other.to_string() == value.to_string(),
                _ => other == value,
            };
            if !values.iter().any(is_same) {
                values.push(value.clone());
            }
        }
        Ok(values)
    }
}

//! A store and a model that record their calls.

use ai_services::document::{
    Document, DocumentSplitter, LoadError, Metadata, MetadataValue, TextSegment, key,
};
use ai_services::embedding::{
    EmbeddingEntry, EmbeddingModel, EmbeddingPurpose, EmbeddingStore, Embeddings, Filter, Replace,
    SearchMatch, VectorSearch,
};
use ai_services::ingestion::{EmbeddingStoreIngestor, EmbeddingStoreIngestorBuilder};
use ai_services::model::TokenUsage;
use ai_services::{Error, ErrorKind, Result, async_trait};
use futures_util::stream::{self, Iter};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;

pub(crate) type Loaded = std::result::Result<Document, LoadError>;

/// A splitter with one segment per line.
pub(crate) struct Lines;

impl DocumentSplitter for Lines {
    fn split(&self, document: &Document) -> Vec<TextSegment> {
        let segment =
            |line: &str| TextSegment::new(line).with_metadata(document.metadata().clone());
        document.text().lines().map(segment).collect()
    }
}

/// A model that embeds a text as its length and rejects texts with the word "poison".
pub(crate) struct Model {
    pub(crate) requests: Mutex<Vec<Vec<String>>>,
    pub(crate) name: &'static str,
    /// Number of running requests, and its maximum.
    pub(crate) busy: Mutex<(usize, usize)>,
    /// One permit for each request that may finish.
    pub(crate) gate: Semaphore,
    pub(crate) failure: Mutex<ErrorKind>,
}

impl Model {
    pub(crate) fn new(name: &'static str) -> Arc<Self> {
        Arc::new(Self {
            requests: Mutex::default(),
            name,
            busy: Mutex::default(),
            gate: Semaphore::new(Semaphore::MAX_PERMITS),
            failure: Mutex::new(ErrorKind::InvalidRequest),
        })
    }

    /// Returns the texts of each request since the last call, with the requests sorted by their texts.
    pub(crate) fn take(&self) -> Vec<Vec<String>> {
        let mut requests = std::mem::take(&mut *self.requests.lock().unwrap());
        requests.sort();
        requests
    }
}

#[async_trait]
impl EmbeddingModel for Model {
    async fn embed(&self, texts: &[&str], purpose: EmbeddingPurpose) -> Result<Embeddings> {
        assert_eq!(purpose, EmbeddingPurpose::Document);
        let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
        self.requests.lock().unwrap().push(texts.clone());
        {
            let mut busy = self.busy.lock().unwrap();
            busy.0 += 1;
            busy.1 = busy.1.max(busy.0);
        }
        self.gate.acquire().await.unwrap().forget();
        tokio::task::yield_now().await;
        self.busy.lock().unwrap().0 -= 1;
        if texts.iter().any(|text| text.contains("poison")) {
            let kind = *self.failure.lock().unwrap();
            return Err(Error::new(kind, "refused").with_usage(TokenUsage::new(1, 0)));
        }
        let vectors = texts.iter().map(|text| vec![1.0, text.len() as f32]);
        Ok(Embeddings::new(vectors).with_usage(TokenUsage::new(10 * texts.len() as u64, 0)))
    }

    fn name(&self) -> &str {
        self.name
    }
}

/// A store with writes that can fail.
#[derive(Default)]
pub(crate) struct Store {
    pub(crate) entries: Mutex<BTreeMap<Box<str>, EmbeddingEntry>>,
    /// Number of writes.
    pub(crate) writes: Mutex<usize>,
    /// Writes fail if an entry contains this text.
    pub(crate) refused: Mutex<Option<&'static str>>,
}

impl Store {
    /// Returns the texts of each source, sorted.
    pub(crate) fn texts(&self) -> BTreeMap<String, Vec<String>> {
        let mut texts: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for entry in self.entries.lock().unwrap().values() {
            let source = entry.segment.metadata().get(key::SOURCE).unwrap().to_string();
            texts.entry(source).or_default().push(entry.segment.text().to_owned());
        }
        texts.values_mut().for_each(|texts| texts.sort());
        texts
    }

    pub(crate) fn writes(&self) -> usize {
        *self.writes.lock().unwrap()
    }

    /// Returns all entries as text, for comparison.
    pub(crate) fn dump(&self) -> String {
        format!("{:#?}", self.entries.lock().unwrap())
    }
}

fn accepts(filter: Option<&Filter>, entry: &EmbeddingEntry) -> bool {
    filter.is_none_or(|filter| filter.accepts(entry.segment.metadata()))
}

#[async_trait]
impl EmbeddingStore for Store {
    async fn replace(&self, removed: Replace<'_>, added: Vec<EmbeddingEntry>) -> Result<()> {
        if let Some(refused) = *self.refused.lock().unwrap()
            && added.iter().any(|entry| entry.segment.text().contains(refused))
        {
            return Err(Error::new(ErrorKind::Unavailable, "the disk is full"));
        }
        *self.writes.lock().unwrap() += 1;
        let mut entries = self.entries.lock().unwrap();
        if let Replace::Matching(filter) = removed {
            entries.retain(|_, entry| !accepts(Some(filter), entry));
        }
        entries.extend(added.into_iter().map(|entry| (entry.id.clone(), entry)));
        Ok(())
    }

    async fn search(&self, _: &VectorSearch<'_>) -> Result<Vec<SearchMatch>> {
        panic!("the ingestor does not search")
    }

    async fn remove(&self, _: &[&str]) -> Result<()> {
        panic!("the ingestor does not remove by id")
    }

    async fn remove_matching(&self, filter: &Filter) -> Result<()> {
        self.entries.lock().unwrap().retain(|_, entry| !accepts(Some(filter), entry));
        Ok(())
    }

    async fn clear(&self) -> Result<()> {
        panic!("the ingestor does not clear the store")
    }

    async fn count(&self) -> Result<u64> {
        Ok(self.entries.lock().unwrap().len() as u64)
    }

    async fn count_matching(&self, filter: &Filter) -> Result<u64> {
        let entries = self.entries.lock().unwrap();
        Ok(entries.values().filter(|entry| accepts(Some(filter), entry)).count() as u64)
    }

    async fn values(&self, key: &str, filter: Option<&Filter>) -> Result<Vec<MetadataValue>> {
        let entries = self.entries.lock().unwrap();
        let mut values = Vec::new();
        for entry in entries.values().filter(|entry| accepts(filter, entry)) {
            let value = entry.segment.metadata().get(key).cloned();
            values.extend(value.filter(|value| !values.contains(value)));
        }
        Ok(values)
    }
}

/// A store and a model for an ingestor.
pub(crate) struct Fixture {
    pub(crate) store: Arc<Store>,
    pub(crate) model: Arc<Model>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self { store: Arc::default(), model: Model::new("lengths-1") }
    }

    pub(crate) fn builder(&self) -> EmbeddingStoreIngestorBuilder {
        let (store, model) = (self.store.clone(), self.model.clone());
        EmbeddingStoreIngestor::builder().store(store).model(model).splitter(Lines)
    }

    pub(crate) fn ingestor(&self) -> EmbeddingStoreIngestor {
        self.builder().build().unwrap()
    }
}

/// Returns a document for each pair of source and text.
pub(crate) fn documents<const N: usize>(of: [(&str, &str); N]) -> Iter<std::vec::IntoIter<Loaded>> {
    let document = |(source, text): (&str, &str)| {
        Ok(Document::new(text, Metadata::new().with(key::SOURCE, source)))
    };
    stream::iter(of.map(document).into_iter().collect::<Vec<_>>())
}

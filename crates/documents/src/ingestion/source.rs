//! Groups of documents with one source, and their digests.

use super::IngestionFailure;
use crate::LoadError;
use ai_services_core::document::{Document, Metadata, MetadataValue, TextSegment, key};
use ai_services_core::embedding::EmbeddingModel;
use ai_services_core::{Error, ErrorKind};
use futures_util::{Stream, StreamExt};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;

/// Version of the digest. Change it to have all sources embedded again.
const VERSION: &str = "ai-services ingestion 1";

/// A source with all its documents.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) name: Box<str>,
    pub(super) documents: Vec<Document>,
}

/// Documents that cannot be ingested, with the failure.
pub(super) struct Unusable {
    pub(super) failure: IngestionFailure,
    /// Number of documents; an error in the stream counts as one.
    pub(super) documents: u64,
}

/// Groups consecutive documents of the same source.
pub(super) struct Sources<'a> {
    documents: Pin<Box<dyn Stream<Item = Result<Document, LoadError>> + Send + 'a>>,
    /// The source that is being read.
    open: Option<Source>,
    /// Digests of the names of all sources of the stream, including those that could not be loaded.
    seen: HashSet<[u8; 32]>,
    /// `true` if the open source appeared earlier in the stream.
    is_repeated: bool,
    /// Folders that could not be read, as prefixes of the names of the sources in them.
    unread: Vec<Box<str>>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(
        documents: impl Stream<Item = Result<Document, LoadError>> + Send + 'a,
    ) -> Self {
        Self {
            // Fused because it is polled again after its end, to return the last source.
            documents: Box::pin(documents.fuse()),
            open: None,
            seen: HashSet::new(),
            is_repeated: false,
            unread: Vec::new(),
        }
    }

    /// Returns the next source or failure. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Result<Source, Unusable>> {
        loop {
            let Some(next) = self.documents.next().await else {
                return self.close();
            };
            let document = match next {
                Ok(document) => document,
                Err(error) => return Some(Err(self.unreadable(error))),
            };
            let Some(name) = document.metadata().get(key::SOURCE).and_then(MetadataValue::as_text)
            else {
                return Some(Err(nameless()));
            };
            if let Some(open) = self.open.as_mut().filter(|open| *open.name == *name) {
                open.documents.push(document);
                continue;
            }
            let before = self.close();
            self.is_repeated = !self.seen.insert(fingerprint(name));
            self.open = Some(Source { name: name.into(), documents: vec![document] });
            if before.is_some() {
                return before;
            }
        }
    }

    /// Returns whether a source may still exist: it was in the stream, or its folder could not be read.
    pub(super) fn may_have(&self, source: &str) -> bool {
        self.seen.contains(&fingerprint(source))
            || self.unread.iter().any(|folder| source.starts_with(&**folder))
    }

    fn close(&mut self) -> Option<Result<Source, Unusable>> {
        let source = self.open.take()?;
        if !mem::take(&mut self.is_repeated) {
            return Some(Ok(source));
        }
        let message = format!(
            "the source `{}` appears twice; its documents must be consecutive in the stream",
            source.name
        );
        let error = Arc::new(Error::new(ErrorKind::InvalidRequest, message));
        let documents = source.documents.len() as u64;
        Some(Err(Unusable { failure: IngestionFailure { source: source.name, error }, documents }))
    }

    fn unreadable(&mut self, error: LoadError) -> Unusable {
        // An incomplete source must not replace the complete one in the store.
        let incomplete = self.open.take_if(|open| error.covers(&open.name));
        let documents = 1 + incomplete.map_or(0, |source| source.documents.len() as u64);
        let source: Box<str> = error.name().into();
        if source.is_empty() || source.ends_with('/') {
            self.unread.push(source.clone());
        } else {
            self.seen.insert(fingerprint(&source));
        }
        let failure = IngestionFailure { source, error: Arc::new(Error::from(error)) };
        Unusable { failure, documents }
    }
}

fn nameless() -> Unusable {
    let message = "a document has no `source`; set it in its metadata";
    let error = Arc::new(Error::new(ErrorKind::InvalidRequest, message));
    Unusable { failure: IngestionFailure { source: "".into(), error }, documents: 1 }
}

/// Returns the digest of the segments of a source, of the model and of the collection: 128 bits in
/// hexadecimal.
pub(super) fn digest(
    model: &dyn EmbeddingModel,
    collection: Option<&str>,
    segments: &[TextSegment],
) -> String {
    let mut bytes = Vec::new();
    field(&mut bytes, VERSION);
    field(&mut bytes, model.name());
    bytes.extend((model.dimensions().unwrap_or_default() as u64).to_be_bytes());
    field(&mut bytes, collection.unwrap_or_default());
    for segment in segments {
        field(&mut bytes, segment.text());
        write_metadata(&mut bytes, segment.metadata());
    }
    hex(&bytes)
}

/// Returns the id of a segment in the store.
pub(super) fn id(collection: Option<&str>, source: &str, digest: &str, number: usize) -> String {
    let mut bytes = Vec::new();
    field(&mut bytes, collection.unwrap_or_default());
    field(&mut bytes, source);
    field(&mut bytes, digest);
    bytes.extend((number as u64).to_be_bytes());
    hex(&bytes)
}

/// Writes a text with its length, so that adjacent fields cannot be confused.
fn field(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_be_bytes());
    bytes.extend(text.as_bytes());
}

/// Writes metadata sorted by key, so that equal metadata have equal digests.
fn write_metadata(bytes: &mut Vec<u8>, metadata: &Metadata) {
    let mut entries: Vec<_> = metadata.iter().collect();
    entries.sort_by_key(|(key, _)| *key);
    bytes.extend((entries.len() as u64).to_be_bytes());
    for (key, value) in entries {
        field(bytes, key);
        match value {
            MetadataValue::Text(text) => {
                bytes.push(b't');
                field(bytes, text);
            }
            MetadataValue::Integer(number) => {
                bytes.push(b'i');
                bytes.extend(number.to_be_bytes());
            }
            MetadataValue::Float(number) => {
                bytes.push(b'f');
                bytes.extend(number.to_be_bytes());
            }
            MetadataValue::Boolean(value) => bytes.extend([b'b', u8::from(*value)]),
        }
    }
}

/// The SHA-256 digest of the name of a source.
fn fingerprint(source: &str) -> [u8; 32] {
    Sha256::digest(source.as_bytes()).into()
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LoadErrorKind;
    use ai_services_core::embedding::{EmbeddingPurpose, Embeddings};
    use async_trait::async_trait;
    use futures_util::stream;

    fn page(source: &str, text: &str) -> Result<Document, LoadError> {
        Ok(Document::new(text, Metadata::new().with(key::SOURCE, source)))
    }

    async fn read(documents: Vec<Result<Document, LoadError>>) -> Vec<String> {
        let mut sources = Sources::new(stream::iter(documents));
        let mut all = Vec::new();
        while let Some(next) = sources.next().await {
            all.push(match next {
                Ok(source) => format!("{} {}", source.name, source.documents.len()),
                Err(Unusable { failure, documents }) => format!("{} ({documents})", failure.error),
            });
        }
        all
    }

    #[tokio::test]
    async fn consecutive_documents_of_a_source_are_grouped() {
        let all = read(vec![page("a", "1"), page("a", "2"), page("b", "3"), page("a", "4")]).await;
        let again =
            "the source `a` appears twice; its documents must be consecutive in the stream (1)";
        assert_eq!(all, ["a 2", "b 1", again]);
    }

    #[tokio::test]
    async fn incomplete_source_is_not_returned() {
        let error = || Err(LoadError::new("a", LoadErrorKind::Damaged, "is damaged"));
        assert_eq!(read(vec![page("a", "1"), error()]).await, ["`a` is damaged (2)"]);
        let nameless = Ok(Document::new("x", Metadata::new()));
        let all = read(vec![page("b", "1"), error(), nameless, page("b", "2")]).await;
        let no_name = "a document has no `source`; set it in its metadata (1)";
        assert_eq!(all, ["`a` is damaged (1)", no_name, "b 2"]);
    }

    #[tokio::test]
    async fn unreadable_sources_may_exist() {
        let folder = Err(LoadError::new("x/", LoadErrorKind::Read, "is locked"));
        let file = Err(LoadError::new("y", LoadErrorKind::Read, "is locked"));
        let mut sources = Sources::new(stream::iter([page("a", ""), folder, file]));
        while sources.next().await.is_some() {}
        assert!(["a", "x/b", "y"].iter().all(|source| sources.may_have(source)));
        assert!(!sources.may_have("b") && !sources.may_have("y/b"));
    }

    struct Model(&'static str, Option<usize>);

    #[async_trait]
    impl EmbeddingModel for Model {
        async fn embed(&self, _: &[&str], _: EmbeddingPurpose) -> Result<Embeddings, Error> {
            Ok(Embeddings::default())
        }

        fn dimensions(&self) -> Option<usize> {
            self.1
        }

        fn name(&self) -> &str {
            self.0
        }
    }

    #[test]
    fn digest_reflects_every_difference() {
        let named = |model, collection, segments: &[TextSegment]| {
            digest(&Model(model, None), collection, segments)
        };
        let segment =
            |text: &str, metadata: Metadata| TextSegment::new(text).with_metadata(metadata);
        let plain = || Metadata::new().with("a", "1").with("b", 2);
        let turned = Metadata::new().with("b", 2).with("a", "1");
        let one = named("m", None, &[segment("x", plain())]);
        assert_eq!(one, named("m", None, &[segment("x", turned)]));
        let others = [
            named("n", None, &[segment("x", plain())]),
            named("m", Some("c"), &[segment("x", plain())]),
            named("m", None, &[segment("y", plain())]),
            named("m", None, &[segment("x", plain().with("b", 2.0))]),
            named("m", None, &[segment("x", plain().with("b", "2"))]),
            named("m", None, &[segment("x", plain()), segment("", Metadata::new())]),
            named("m", None, &[]),
            digest(&Model("m", Some(256)), None, &[segment("x", plain())]),
        ];
        for (number, other) in others.iter().enumerate() {
            assert_ne!(&one, other, "{number}");
        }
        assert_eq!(one.len(), 32);
        assert_ne!(id(None, "a", &one, 0), id(None, "a", &one, 1));
    }
}

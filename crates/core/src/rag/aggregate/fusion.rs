//! Reciprocal rank fusion: merging rankings by rank alone.

use super::ContentAggregator;
use crate::document::MetadataValue;
use crate::embedding::{DEFAULT_K, reciprocal_rank_fusion};
use crate::error::{Error, Result};
use crate::rag::{Query, RetrievedContent};
use async_trait::async_trait;
use std::hash::{BuildHasher, RandomState};

/// An aggregator that ranks contents by their places in several lists.
///
/// The lists of each query are fused first, then the fused lists of all queries. The weight of a content is
/// the sum of `1 / (k + rank)` over the lists that contain it, with ranks from 1 (Cormack, Clarke, Büttcher:
/// "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009). Default
/// for `k`: 60, as in the paper. Scores of retrievers are ignored, because they cannot be compared with each
/// other.
///
/// Contents with equal segments, text and metadata, are duplicates. The first of them is kept, with its score
/// and id. A duplicate within one list counts once, at its first place. Contents of equal weight stay in the
/// order in which they appeared.
///
/// # Examples
///
/// ```
/// use ai_services::rag::ReciprocalRankFusion;
///
/// let (words, vectors) = (vec!["a".into(), "b".into()], vec!["b".into(), "c".into()]);
/// let fused = ReciprocalRankFusion::new().fuse([words, vectors]);
/// let texts: Vec<_> = fused.iter().map(|content| content.segment.text()).collect();
/// assert_eq!(texts, ["b", "a", "c"]);
/// ```
///
/// # Differences from LangChain4j
///
/// There, a content that occurs twice in one list gets twice the weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "DefaultContentAggregator")]
#[doc(alias = "ReciprocalRankFuser")]
pub struct ReciprocalRankFusion {
    k: u32,
}

impl ReciprocalRankFusion {
    /// Creates a fusion with a `k` of 60.
    #[must_use]
    pub const fn new() -> Self {
        Self { k: DEFAULT_K }
    }

    /// Creates a fusion with another `k`. The smaller it is, the more weight the first places of each list
    /// get.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if `k` is 0.
    pub fn with_k(k: u32) -> Result<Self> {
        match k {
            0 => Err(Error::configuration("the `k` of reciprocal rank fusion must be at least 1")),
            k => Ok(Self { k }),
        }
    }

    /// Merges several lists into one.
    #[must_use]
    pub fn fuse(
        &self,
        lists: impl IntoIterator<Item = Vec<RetrievedContent>>,
    ) -> Vec<RetrievedContent> {
        let is_same =
            |one: &RetrievedContent, other: &RetrievedContent| one.segment == other.segment;
        let fused = reciprocal_rank_fusion(lists, self.k, hash, is_same);
        fused.into_iter().map(|(content, _)| content).collect()
    }

    /// Merges the lists of each query, then the merged lists of all queries.
    pub(super) fn fuse_all(
        &self,
        found: impl IntoIterator<Item = (Query, Vec<Vec<RetrievedContent>>)>,
    ) -> Vec<RetrievedContent> {
        self.fuse(found.into_iter().map(|(_, lists)| self.fuse(lists)))
    }
}

/// Hashes the segment of a content: the text, and the metadata in any order.
fn hash(content: &RetrievedContent, hasher: &RandomState) -> u64 {
    let of_entry = |(key, value): (&str, &MetadataValue)| match value {
        MetadataValue::Text(text) => hasher.hash_one((key, text)),
        MetadataValue::Integer(number) => hasher.hash_one((key, number)),
        // 0.0 and -0.0 are equal and need equal hashes.
        MetadataValue::Float(number) => hasher.hash_one((key, (number + 0.0).to_bits())),
        MetadataValue::Boolean(value) => hasher.hash_one((key, value)),
    };
    let entries = content.segment.metadata().iter().map(of_entry);
    entries.fold(hasher.hash_one(content.segment.text()), u64::wrapping_add)
}

impl Default for ReciprocalRankFusion {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl ContentAggregator for ReciprocalRankFusion {
    async fn aggregate(
        &self,
        found: Vec<(Query, Vec<Vec<RetrievedContent>>)>,
    ) -> Result<Vec<RetrievedContent>> {
        Ok(self.fuse_all(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Metadata, TextSegment};

    #[test]
    fn equal_contents_have_equal_hashes() {
        let hasher = RandomState::new();
        let of = |metadata| {
            let segment = TextSegment::new("a").with_metadata(metadata);
            hash(&RetrievedContent::new(segment), &hasher)
        };
        let metadata = Metadata::new;
        let one = of(metadata().with("a", 0.0).with("b", "x"));
        assert_eq!(one, of(metadata().with("b", "x").with("a", -0.0)));
        let others = [
            metadata(),
            metadata().with("a", 0.0),
            metadata().with("a", 0).with("b", "y"),
            metadata().with("a", "x").with("b", 0.0),
            metadata().with("a", 1.0).with("b", "x"),
        ];
        for other in others {
            assert_ne!(one, of(other.clone()), "{other:?}");
        }
    }
}

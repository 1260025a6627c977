//! Putting rankings together by ranks alone.

use super::ContentAggregator;
use crate::document::MetadataValue;
use crate::embedding::{DEFAULT_K, reciprocal_rank_fusion};
use crate::error::{Error, Result};
use crate::rag::{Query, RetrievedContent};
use async_trait::async_trait;
use std::hash::{BuildHasher, RandomState};

/// Puts first what several lists have near their beginning.
///
/// The lists of each query are fused, then those of all queries. A content is worth the sum of
/// `1 / (k + rank)` over the lists that have it, with ranks from 1 (Cormack, Clarke, Büttcher: "Reciprocal Rank
/// Fusion outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009); `k` is 60 as in the paper.
/// Scores of retrievers, which cannot be compared with each other, make no difference.
///
/// Contents are the same if their segments are, text and metadata. Of those the first is kept as it is, with its
/// score and id. In one list it counts once, at its first place. Equally good ones stay in the order in which
/// they appeared.
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
/// There, a content that one list has twice is worth twice as much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "DefaultContentAggregator")]
#[doc(alias = "ReciprocalRankFuser")]
pub struct ReciprocalRankFusion {
    k: u32,
}

impl ReciprocalRankFusion {
    /// Fusion with the `k` of 60.
    #[must_use]
    pub const fn new() -> Self {
        Self { k: DEFAULT_K }
    }

    /// Fusion with another `k`. The smaller it is, the more the first places of each list are worth.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if it is 0.
    pub fn with_k(k: u32) -> Result<Self> {
        match k {
            0 => Err(Error::configuration("the `k` of reciprocal rank fusion must be at least 1")),
            k => Ok(Self { k }),
        }
    }

    /// One list out of several.
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

    /// The lists of each query, then those of all queries.
    pub(super) fn fuse_all(
        &self,
        found: impl IntoIterator<Item = (Query, Vec<Vec<RetrievedContent>>)>,
    ) -> Vec<RetrievedContent> {
        self.fuse(found.into_iter().map(|(_, lists)| self.fuse(lists)))
    }
}

/// A hash of what makes a content the same: text and metadata, which are equal in any order.
fn hash(content: &RetrievedContent, hasher: &RandomState) -> u64 {
    let of_entry = |(key, value): (&str, &MetadataValue)| match value {
        MetadataValue::Text(text) => hasher.hash_one((key, text)),
        MetadataValue::Integer(number) => hasher.hash_one((key, number)),
        // There are two zeros, which are equal.
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
    fn same_contents_have_one_hash_and_others_do_not() {
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

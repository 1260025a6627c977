//! Tests of the checks: every check has to detect a faulty store.

use super::faulty_tests::{Fault, FaultyStore};
use super::unusual_values::UNUSUAL;
use super::{EmbeddingStoreSuite, GROUPS, Outcome};
use crate::report::Stop;
use ai_services_documents::InMemoryEmbeddingStore;
use std::collections::BTreeSet;

/// Each fault of a store, and the check that has to detect it.
#[rustfmt::skip]
const FAULTS: &[(Fault, &str)] = &[
    (Fault::CountsOneMore, "empty_store_returns_no_matches"),
    (Fault::WorstFirst, "nearest_entries_rank_first"),
    (Fault::ScoreIsCosine, "nearest_entries_rank_first"),
    (Fault::ReturnsOneMore, "number_of_matches_is_limited"),
    (Fault::TiesByAge, "equal_scores_are_ordered_by_id"),
    (Fault::TiesIgnoreCase, "equal_scores_are_ordered_by_id"),
    (Fault::IgnoresMinScore, "minimum_score_is_applied"),
    (Fault::SquaresInSinglePrecision, "vector_length_does_not_matter"),
    (Fault::AcceptsAnyVector, "invalid_vectors_are_rejected"),
    (Fault::StoresSinglePrecision, "entries_round_trip"),
    (Fault::WholeFloatsAreIntegers, "entries_round_trip"),
    (Fault::MergesMetadata, "entry_with_a_known_id_is_replaced"),
    (Fault::KeepsTheOldVector, "entry_with_a_known_id_is_replaced"),
    (Fault::KeepsTheFirstOfABatch, "last_entry_with_an_id_wins"),
    (Fault::AddsOneByOne, "batch_with_an_invalid_entry_changes_nothing"),
    (Fault::RemovesBeforeChecking, "batch_with_an_invalid_entry_changes_nothing"),
    (Fault::AddsBeforeRemoving, "replacement_removes_matching_entries"),
    (Fault::ReplaceNothingRemovesAll, "replacement_removes_matching_entries"),
    (Fault::RemovesOnlyTheFirst, "removed_entries_are_not_found"),
    (Fault::RemovesEverything, "remove_matching_removes_only_matching_entries"),
    (Fault::ClearKeepsOneEntry, "clear_removes_all_entries"),
    (Fault::CountIgnoresFilter, "entries_are_counted"),
    (Fault::ValuesAreTexts, "values_of_every_type_are_distinct"),
    (Fault::TruncatesAtTenThousand, "large_batches_are_accepted"),
    (Fault::ComparesAsTexts, "comparisons_of_every_type_are_correct"),
    (Fault::IgnoresCaseOfValues, "comparisons_of_every_type_are_correct"),
    (Fault::ComparesAsFloats, "numbers_are_compared_exactly"),
    (Fault::NotRequiresTheKey, "missing_keys_match_no_comparison"),
    (Fault::AnyOfNoneIsTrue, "filters_are_combined"),
    (Fault::TreatsAllAsAny, "filters_are_combined"),
    (Fault::AcceptsAnyFilter, "invalid_filters_are_rejected"),
    (Fault::FiltersAfterTheSearch, "filtered_search_returns_enough_matches"),
    (Fault::FindsPartsOfWords, "text_search_finds_words"),
    (Fault::WordsAreCaseSensitive, "text_search_finds_words"),
    (Fault::IgnoresTheNumberOfWords, "more_matching_words_rank_higher"),
    (Fault::MinusIsAnOperator, "query_syntax_is_not_interpreted"),
    (Fault::StarIsAnOperator, "query_syntax_is_not_interpreted"),
    (Fault::TextSearchIgnoresFilter, "text_search_is_limited_and_filtered"),
    (Fault::KeepsOldWords, "text_search_follows_changes"),
    (Fault::TrimsIds, "unusual_ids_are_distinct"),
    (Fault::RemovesByPattern, "unusual_ids_are_distinct"),
    (Fault::KeysArePaths, "unusual_keys_and_values_are_data"),
    (Fault::ValuesArePatterns, "unusual_keys_and_values_are_data"),
    (Fault::TrimsTexts, "texts_round_trip"),
    (Fault::NormalizesLines, "texts_round_trip"),
    (Fault::TruncatesAtNul, "nul_is_stored_or_rejected"),
    (Fault::TruncatesLongKeys, "large_entries_round_trip"),
    (Fault::TruncatesLongValues, "large_entries_round_trip"),
    (Fault::ReplacesInTwoSteps, "batches_are_atomic"),
    (Fault::ReplacesInTwoSteps, "dropped_change_is_atomic"),
    (Fault::ReadsThenWrites, "concurrent_writes_are_all_stored"),
];

fn suite(fault: Fault) -> EmbeddingStoreSuite {
    EmbeddingStoreSuite::new(move || async move { Ok(FaultyStore::new(fault)) })
}

#[tokio::test(start_paused = true)]
async fn correct_store_passes_every_check() {
    let report = suite(Fault::None).run().await;
    assert_eq!(report.failures().chain(report.skipped()).count(), 0, "{report}");
}

#[tokio::test(start_paused = true)]
async fn in_memory_store_passes_every_check() {
    let suite = EmbeddingStoreSuite::new(|| async { Ok(InMemoryEmbeddingStore::new()) });
    let report = suite.run().await;
    assert_eq!(report.failures().chain(report.skipped()).count(), 0, "{report}");
}

#[tokio::test(start_paused = true)]
async fn every_fault_is_detected() {
    let mut missed = Vec::new();
    for (fault, name) in FAULTS {
        let named = GROUPS.iter().copied().flatten().find(|check| check.name == *name).unwrap();
        let found = suite(*fault).check(named.check).await;
        if !matches!(found, Err(Stop::Failed(_))) {
            missed.push(format!("{fault:?} is not detected by {name}: {found:?}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn every_check_detects_a_fault() {
    let tested: BTreeSet<_> = FAULTS.iter().map(|(_, name)| *name).collect();
    let checks: BTreeSet<_> = GROUPS.iter().copied().flatten().map(|check| check.name).collect();
    assert_eq!(tested, checks);
}

#[test]
fn unusual_values_are_distinct() {
    let distinct: BTreeSet<_> = UNUSUAL.iter().collect();
    assert_eq!(distinct.len(), UNUSUAL.len());
}

#[tokio::test(start_paused = true)]
async fn unsupported_text_search_is_skipped() {
    let report = suite(Fault::HasNoTextSearch).run().await;
    assert!(report.is_passed(), "{report}");
    let skipped: Vec<_> = report.skipped().map(|check| check.name).collect();
    assert_eq!(skipped.len(), 5, "{skipped:?}");
}

#[tokio::test]
async fn failure_to_create_a_store_fails_every_check() {
    let suite =
        EmbeddingStoreSuite::new(|| async { Err::<InMemoryEmbeddingStore, _>("no server".into()) });
    let report = suite.run().await;
    assert_eq!(report.failures().count(), report.checks().len());
    let expected = Outcome::Failed("cannot create a store: no server".into());
    assert!(report.checks().iter().all(|check| check.outcome == expected), "{report}");
}

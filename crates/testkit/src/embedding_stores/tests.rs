//! A check that cannot fail is none: each has to find a fault.

use super::faulty_tests::{Fault, FaultyStore};
use super::odd::ODD;
use super::{EmbeddingStoreSuite, GROUPS, Outcome};
use crate::report::Stop;
use ai_services_documents::InMemoryEmbeddingStore;
use std::collections::BTreeSet;

/// What is wrong with a store, and the check that has to find it.
#[rustfmt::skip]
const FAULTS: &[(Fault, &str)] = &[
    (Fault::CountsOneMore, "empty_store_finds_nothing"),
    (Fault::WorstFirst, "nearest_entries_come_first"),
    (Fault::ScoreIsCosine, "nearest_entries_come_first"),
    (Fault::FindsOneMore, "as_many_as_wanted_are_found"),
    (Fault::TiesByAge, "equal_scores_are_ordered_by_id"),
    (Fault::TiesIgnoreCase, "equal_scores_are_ordered_by_id"),
    (Fault::IgnoresMinScore, "minimum_score_is_kept"),
    (Fault::SquaresInSinglePrecision, "length_of_vectors_makes_no_difference"),
    (Fault::TakesAnyVector, "wrong_vectors_are_refused"),
    (Fault::FloatsAreSingle, "entries_are_found_as_they_were_added"),
    (Fault::WholeFloatsAreIntegers, "entries_are_found_as_they_were_added"),
    (Fault::MergesMetadata, "entry_with_a_known_id_replaces_the_other"),
    (Fault::KeepsTheOldVector, "entry_with_a_known_id_replaces_the_other"),
    (Fault::KeepsTheFirstOfABatch, "last_of_one_id_in_a_batch_is_kept"),
    (Fault::AddsOneByOne, "batch_with_a_wrong_entry_changes_nothing"),
    (Fault::RemovesBeforeItChecks, "batch_with_a_wrong_entry_changes_nothing"),
    (Fault::AddsBeforeItRemoves, "replacement_removes_what_the_filter_accepts"),
    (Fault::NoFilterRemovesAll, "replacement_removes_what_the_filter_accepts"),
    (Fault::RemovesTheFirstOnly, "removed_entries_are_gone"),
    (Fault::RemovesEverything, "remove_all_spares_what_the_filter_refuses"),
    (Fault::CountIgnoresFilter, "entries_are_counted"),
    (Fault::ValuesAreTexts, "values_of_every_kind_are_different"),
    (Fault::TakesTenThousand, "many_entries_are_taken_at_once"),
    (Fault::ComparesAsTexts, "comparisons_of_every_kind_agree"),
    (Fault::IgnoresCaseOfValues, "comparisons_of_every_kind_agree"),
    (Fault::ComparesAsFloats, "numbers_are_compared_exactly"),
    (Fault::NotNeedsTheKey, "missing_keys_are_never_compared"),
    (Fault::AnyOfNoneIsTrue, "filters_are_combined"),
    (Fault::AllIsAny, "filters_are_combined"),
    (Fault::TakesAnyFilter, "wrong_filters_are_refused"),
    (Fault::FiltersWhatIsFound, "filtered_search_finds_as_many_as_wanted"),
    (Fault::FindsPartsOfWords, "entries_with_words_are_found"),
    (Fault::WordsHaveCase, "entries_with_words_are_found"),
    (Fault::WordsCountOnce, "entries_with_more_words_come_first"),
    (Fault::MinusIsAnOperator, "words_are_no_operators"),
    (Fault::StarIsAnOperator, "words_are_no_operators"),
    (Fault::WordsIgnoreFilter, "search_by_words_is_limited_and_filtered"),
    (Fault::OldWordsStay, "changed_entries_are_found_by_their_new_words"),
    (Fault::TrimsIds, "odd_ids_are_different_entries"),
    (Fault::RemovesByPattern, "odd_ids_are_different_entries"),
    (Fault::KeysArePaths, "odd_keys_and_values_are_data"),
    (Fault::ValuesArePatterns, "odd_keys_and_values_are_data"),
    (Fault::TrimsTexts, "texts_are_kept_exactly"),
    (Fault::NormalizesLines, "texts_are_kept_exactly"),
    (Fault::EndsAtNul, "nul_is_kept_or_refused"),
    (Fault::CutsLongKeys, "large_entries_are_kept"),
    (Fault::CutsLongValues, "large_entries_are_kept"),
    (Fault::ReplacesInTwoSteps, "batches_are_seen_whole"),
    (Fault::ReplacesInTwoSteps, "dropped_change_is_whole_or_nothing"),
    (Fault::ReadsThenWrites, "racing_writers_lose_nothing"),
];

fn suite(fault: Fault) -> EmbeddingStoreSuite {
    EmbeddingStoreSuite::new(move || async move { Ok(FaultyStore::new(fault)) })
}

#[tokio::test(start_paused = true)]
async fn store_without_a_fault_passes_every_check() {
    let report = suite(Fault::None).run().await;
    assert_eq!(report.failures().chain(report.skipped()).count(), 0, "{report}");
}

#[tokio::test(start_paused = true)]
async fn store_in_memory_passes_every_check() {
    let suite = EmbeddingStoreSuite::new(|| async { Ok(InMemoryEmbeddingStore::new()) });
    let report = suite.run().await;
    assert_eq!(report.failures().chain(report.skipped()).count(), 0, "{report}");
}

#[tokio::test(start_paused = true)]
async fn every_fault_is_found() {
    let mut missed = Vec::new();
    for (fault, name) in FAULTS {
        let named = GROUPS.iter().copied().flatten().find(|check| check.name == *name).unwrap();
        let found = suite(*fault).check(named.check).await;
        if !matches!(found, Err(Stop::Failed(_))) {
            missed.push(format!("{fault:?} is not found by {name}: {found:?}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn every_check_finds_a_fault() {
    let find: BTreeSet<_> = FAULTS.iter().map(|(_, name)| *name).collect();
    let checks: BTreeSet<_> = GROUPS.iter().copied().flatten().map(|check| check.name).collect();
    assert_eq!(find, checks);
}

#[test]
fn odd_names_are_all_different() {
    let different: BTreeSet<_> = ODD.iter().collect();
    assert_eq!(different.len(), ODD.len());
}

#[tokio::test(start_paused = true)]
async fn search_by_words_is_skipped_if_there_is_none() {
    let report = suite(Fault::HasNoWords).run().await;
    assert!(report.is_passed(), "{report}");
    let skipped: Vec<_> = report.skipped().map(|check| check.name).collect();
    assert_eq!(skipped.len(), 5, "{skipped:?}");
}

#[tokio::test]
async fn store_that_cannot_be_made_fails_every_check() {
    let suite =
        EmbeddingStoreSuite::new(|| async { Err::<InMemoryEmbeddingStore, _>("no server".into()) });
    let report = suite.run().await;
    assert_eq!(report.failures().count(), report.checks().len());
    let expected = Outcome::Failed("no store could be made: no server".into());
    assert!(report.checks().iter().all(|check| check.outcome == expected), "{report}");
}

//! Tests of the checks: every check has to detect a faulty store.

use super::faulty_tests::{Damage, Fault, FaultyStore};
use super::{GROUPS, Outcome, Report, StoreSuite};
use ai_services_core::Result;
use ai_services_core::memory::{ChatMemoryStore, EvictedMessages, MemoryId};
use ai_services_core::message::ChatMessage;
use async_trait::async_trait;
use std::collections::BTreeSet;
use std::time::Duration;

/// Each fault of a store, and the check that has to detect it.
#[rustfmt::skip]
const FAULTS: &[(Fault, &str)] = &[
    (Fault::AnswersForUnknownIds, "unknown_id_has_no_messages"),
    (Fault::AnswersForUnknownIds, "history_of_an_unknown_id_is_empty"),
    (Fault::LosesThinking, "messages_of_every_kind_round_trip"),
    (Fault::LosesProviderContent, "messages_of_every_kind_round_trip"),
    (Fault::TruncatesTextsAtNul, "texts_of_every_script_round_trip"),
    (Fault::LosesTheLastMessage, "order_is_kept_across_commits"),
    (Fault::ReversesAppends, "order_is_kept_across_commits"),
    (Fault::UpdateAppends, "update_replaces_all_messages"),
    (Fault::EvictsTheNewest, "eviction_removes_exactly_the_range"),
    (Fault::EvictsOneTooFew, "eviction_removes_exactly_the_range"),
    (Fault::CountsGaps, "eviction_range_ignores_gaps"),
    (Fault::DeletesEverything, "deletion_removes_one_conversation"),
    (Fault::DeletesNothing, "deletion_removes_one_conversation"),
    (Fault::IgnoresCase, "unusual_ids_are_distinct"),
    (Fault::TrimsIds, "unusual_ids_are_distinct"),
    (Fault::TruncatesIds, "unusual_ids_are_distinct"),
    (Fault::TruncatesIdsAtNul, "unusual_ids_are_distinct"),
    (Fault::AcceptsTheEmptyId, "empty_id_is_rejected"),
    (Fault::TruncatesAtNineHundred, "many_messages_round_trip"),
    (Fault::RejectsMegabytes, "large_message_round_trips"),
    (Fault::HasNoVersions, "every_commit_changes_the_version"),
    (Fault::AcceptsAnyFirstVersion, "first_commit_uses_the_version_of_an_unknown_id"),
    (Fault::EmptyCommitKeepsVersion, "every_commit_changes_the_version"),
    (Fault::IgnoresVersions, "stale_commit_is_rejected"),
    (Fault::AppliesConflicts, "stale_commit_is_rejected"),
    (Fault::AcceptsFutureVersions, "unknown_version_is_rejected"),
    (Fault::MissingVersionMeansNew, "commit_without_version_always_applies"),
    (Fault::VersionsRestart, "recreated_conversation_has_new_versions"),
    (Fault::ChecksThenWrites, "exactly_one_concurrent_commit_wins"),
    (Fault::ReadsThenRewrites, "concurrent_turns_are_all_stored"),
    (Fault::ReadsThenRewrites, "concurrent_appends_are_all_stored"),
    (Fault::RecordsNoRequests, "commit_of_a_request_is_found"),
    (Fault::FindsRequestsOfOthers, "commit_of_a_request_is_found"),
    (Fault::RemembersFewCommits, "commit_is_found_behind_31_others"),
    (Fault::AcceptsRepeatedRequests, "request_is_committed_once"),
    (Fault::RepeatedRequestsAreRetryable, "request_is_committed_once"),
    (Fault::ChecksRequestsThenWrites, "concurrent_commits_of_a_request_are_one"),
    (Fault::RecordsRefusedRequests, "refused_commit_is_not_found"),
    (Fault::CountsEvicted, "messages_are_counted"),
    (Fault::PagesOverlap, "conversations_are_listed_once"),
    (Fault::DeletedCursorIsTheEnd, "conversations_are_listed_once"),
    (Fault::ListsByLastUse, "conversations_are_listed_once"),
    (Fault::ListsEmptyConversations, "empty_conversation_is_not_listed"),
    (Fault::RoundsTimesToSeconds, "last_use_is_updated_by_changes"),
    (Fault::ReadUpdatesLastUse, "last_use_is_updated_by_changes"),
    (Fault::AcceptsEmptyPages, "page_size_zero_is_rejected"),
    (Fault::ExportsNothing, "export_contains_every_row"),
    (Fault::DeletionKeepsHistory, "export_contains_every_row"),
    (Fault::DeletesUsedConversations, "recently_used_conversations_are_kept"),
    (Fault::DeletesEqualTimes, "unused_conversations_are_deleted"),
    (Fault::KeepsUnusedConversations, "unused_conversations_are_deleted"),
    (Fault::ForgetsEvicted, "history_matches_the_eviction_policy"),
    (Fault::SetsNoFlags, "history_matches_the_eviction_policy"),
    (Fault::PositionsChange, "history_positions_are_stable"),
    (Fault::PagesStartAtTheOldest, "history_is_paged_from_both_ends"),
    (Fault::PagesAreLonger, "history_is_paged_from_both_ends"),
    (Fault::PagesRepeatTheCursor, "history_is_paged_from_both_ends"),
    (Fault::ReplacesEverything, "replacement_keeps_unchanged_messages"),
    (Fault::DeletionKeepsHistory, "deletion_clears_the_history"),
    (Fault::GrantsEveryLease, "lease_is_exclusive"),
    (Fault::ReleasesForeignLeases, "only_the_holder_releases_a_lease"),
    (Fault::LeaseBlocksOthers, "lease_blocks_only_other_leases"),
    (Fault::LeaseChangesVersion, "lease_blocks_only_other_leases"),
    (Fault::CommitKeepsLease, "commit_releases_the_lease"),
    (Fault::IgnoresLostLeases, "commit_with_a_lost_lease_is_rejected"),
    (Fault::ConflictReleases, "stale_commit_keeps_the_lease"),
    (Fault::LeasesNeverExpire, "lease_expires"),
    (Fault::DoesNotExtendLeases, "lease_expires"),
    (Fault::AcceptsExpiredLeases, "lease_expires"),
    (Fault::ReversesRecords, "records_round_trip"),
    (Fault::TruncatesRecordsAtNul, "records_round_trip"),
    (Fault::AppendChangesVersion, "journal_is_not_a_conversation"),
    (Fault::ListsJournalsAsConversations, "journal_is_not_a_conversation"),
    (Fault::IgnoresJournalLengths, "append_at_another_position_is_rejected"),
    (Fault::IgnoresJournalTurns, "append_at_another_position_is_rejected"),
    (Fault::ReopensJournals, "append_at_another_position_is_rejected"),
    (Fault::ContinuesClosedJournals, "append_at_another_position_is_rejected"),
    (Fault::AppliesRefusedAppends, "append_at_another_position_is_rejected"),
    (Fault::ChecksThenAppends, "exactly_one_concurrent_append_wins"),
    (Fault::DiscardsAnyPosition, "discard_deletes_the_journal_once"),
    (Fault::DiscardsTwice, "discard_deletes_the_journal_once"),
    (Fault::JournalIdsIgnoreCase, "journals_of_unusual_ids_are_separate"),
    (Fault::AcceptsTheEmptyId, "journals_of_unusual_ids_are_separate"),
    (Fault::AppendIgnoresLeases, "append_requires_its_lease"),
    (Fault::AppendReleasesLease, "append_requires_its_lease"),
    (Fault::LoadHidesJournals, "load_returns_the_position_of_the_journal"),
    (Fault::LoadKnowsTheFirstAppend, "load_returns_the_position_of_the_journal"),
    (Fault::ClosingKeepsJournal, "commit_closes_the_journal"),
    (Fault::ClosesInTwoSteps, "commit_and_closing_are_one_step"),
    (Fault::ClosesAnyPosition, "commit_closing_another_position_is_rejected"),
    (Fault::JournalConflictsAreRetryable, "commit_closing_another_position_is_rejected"),
    (Fault::AppliesConflicts, "commit_closing_another_position_is_rejected"),
    (Fault::ConflictReleases, "commit_closing_another_position_is_rejected"),
    (Fault::RecordsRefusedRequests, "commit_closing_another_position_is_rejected"),
    (Fault::CommitsDropJournals, "commit_that_closes_nothing_keeps_the_journal"),
    (Fault::CommitKeepsLease, "closing_commit_releases_the_lease"),
    (Fault::ListsClosedJournals, "open_journals_are_listed_once"),
    (Fault::JournalPagesOverlap, "open_journals_are_listed_once"),
    (Fault::JournalPagesAreLonger, "open_journals_are_listed_once"),
    (Fault::AcceptsEmptyPages, "open_journals_are_listed_once"),
    (Fault::JournalTimesAreThoseOfCommits, "times_of_journals_are_those_of_their_last_append"),
    (Fault::DeletionKeepsJournals, "deletion_removes_the_journal"),
    (Fault::ExportsNoJournals, "export_contains_the_journal"),
    (Fault::AppendsAreNoWrites, "append_counts_as_a_write"),
    (Fault::KeepsUnusedJournals, "append_counts_as_a_write"),
    (Fault::SkipsDamagedRows, "damaged_row_is_reported"),
    (Fault::HistorySkipsDamagedRows, "damaged_row_is_reported"),
    (Fault::ReportsWithoutDetail, "damaged_row_is_reported"),
    (Fault::OverwritesDamage, "damaged_conversation_is_not_overwritten"),
    (Fault::CannotExportDamage, "damaged_conversation_can_be_exported"),
    (Fault::CannotDeleteDamage, "damaged_conversation_can_be_deleted"),
    (Fault::DamageSpreads, "damage_does_not_affect_other_conversations"),
    (Fault::NewerIsCorrupt, "newer_row_format_is_reported"),
];

async fn check(fault: Fault, evicted_messages: EvictedMessages) -> Report {
    let store = FaultyStore::new(fault, evicted_messages);
    let (corrupt, newer) = (store.clone(), store.clone());
    StoreSuite::for_conversation_store(store.clone())
        .second(store)
        .evicted_messages(evicted_messages)
        .disposable()
        .damage(move |id| {
            corrupt.damage(&id, Damage::Corrupt);
            async { Ok(()) }
        })
        .newer_format(move |id| {
            newer.damage(&id, Damage::Newer);
            async { Ok(()) }
        })
        .run()
        .await
}

#[tokio::test(start_paused = true)]
async fn correct_store_passes_every_check() {
    for evicted_messages in [EvictedMessages::Delete, EvictedMessages::Keep] {
        let report = check(Fault::None, evicted_messages).await;
        assert_eq!(report.failures().chain(report.skipped()).count(), 0, "{report}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_fault_is_detected() {
    let mut missed = Vec::new();
    for (fault, name) in FAULTS {
        let report = check(*fault, EvictedMessages::Keep).await;
        if !report.failures().any(|failure| failure.name == *name) {
            missed.push(format!("{fault:?} is not detected by {name}:\n{report}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}

#[test]
fn every_check_detects_a_fault() {
    let tested: BTreeSet<_> = FAULTS.iter().map(|(_, name)| *name).collect();
    let checks: BTreeSet<_> = GROUPS.iter().copied().flatten().map(|check| check.name).collect();
    assert_eq!(tested, checks);
}

/// A store whose writes fail.
struct FullStore;

#[async_trait]
impl ChatMemoryStore for FullStore {
    async fn get_messages(&self, _: &MemoryId) -> Result<Vec<ChatMessage>> {
        Ok(Vec::new())
    }

    async fn update_messages(&self, _: &MemoryId, _: &[ChatMessage]) -> Result<()> {
        Err(ai_services_core::Error::new(ai_services_core::ErrorKind::Store, "the disk is full"))
    }

    async fn delete_messages(&self, _: &MemoryId) -> Result<()> {
        Ok(())
    }
}

/// A store that never answers.
struct SilentStore;

#[async_trait]
impl ChatMemoryStore for SilentStore {
    async fn get_messages(&self, _: &MemoryId) -> Result<Vec<ChatMessage>> {
        std::future::pending().await
    }

    async fn update_messages(&self, _: &MemoryId, _: &[ChatMessage]) -> Result<()> {
        std::future::pending().await
    }

    async fn delete_messages(&self, _: &MemoryId) -> Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn check_that_exceeds_the_time_limit_fails() {
    let usual = StoreSuite::for_memory_store(SilentStore);
    let short = StoreSuite::for_memory_store(SilentStore).time_limit(Duration::from_secs(7));
    for (suite, limit) in [(usual, 120), (short, 7)] {
        let report = suite.run().await;
        let expected = Outcome::Failed(format!("did not finish within {limit}s"));
        assert_eq!(report.checks()[0].outcome, expected);
    }
}

#[tokio::test]
async fn report_has_one_line_per_check() {
    let report = StoreSuite::for_memory_store(FullStore).run().await;
    let text = report.to_string();
    assert_eq!(text.lines().count(), report.checks().len() + 1);
    let first = "FAILED   unknown_id_has_no_messages: `update_messages`: Store: the disk is full";
    assert_eq!(text.lines().next(), Some(first));
    assert!(text.contains("skipped  stale_commit_is_rejected: "), "{text}");
    let skipped = |name| {
        let check = report.checks().iter().find(|check| check.name == name).unwrap();
        matches!(check.outcome, Outcome::Skipped(_))
    };
    assert!(skipped("lease_is_exclusive") && skipped("empty_id_is_rejected"));
}

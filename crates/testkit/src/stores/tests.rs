//! A check that cannot fail is none: each has to find a fault.

use super::faulty_tests::{Damage, Fault, FaultyStore};
use super::{GROUPS, Outcome, Report, StoreSuite};
use ai_services_core::Result;
use ai_services_core::memory::{ChatMemoryStore, EvictedMessages, MemoryId};
use ai_services_core::message::ChatMessage;
use async_trait::async_trait;
use std::collections::BTreeSet;
use std::time::Duration;

/// What is wrong with a store, and the check that has to find it.
#[rustfmt::skip]
const FAULTS: &[(Fault, &str)] = &[
    (Fault::AnswersForUnknownIds, "unknown_id_has_no_messages"),
    (Fault::AnswersForUnknownIds, "history_of_an_unknown_id_is_empty"),
    (Fault::LosesThinking, "messages_of_every_kind_are_read_back"),
    (Fault::LosesProviderContent, "messages_of_every_kind_are_read_back"),
    (Fault::CutsTextsAtNul, "texts_of_every_alphabet_are_read_back"),
    (Fault::LosesTheLastMessage, "order_stays_over_many_commits"),
    (Fault::ReversesAppends, "order_stays_over_many_commits"),
    (Fault::UpdateAppends, "update_replaces_all_messages"),
    (Fault::EvictsTheNewest, "eviction_removes_exactly_the_range"),
    (Fault::EvictsOneTooFew, "eviction_removes_exactly_the_range"),
    (Fault::CountsGaps, "eviction_counts_from_the_oldest_after_gaps"),
    (Fault::DeletesEverything, "deletion_forgets_one_id"),
    (Fault::DeletesNothing, "deletion_forgets_one_id"),
    (Fault::IgnoresCase, "odd_ids_are_different_conversations"),
    (Fault::TrimsIds, "odd_ids_are_different_conversations"),
    (Fault::CutsIds, "odd_ids_are_different_conversations"),
    (Fault::EndsIdsAtNul, "odd_ids_are_different_conversations"),
    (Fault::TakesTheEmptyId, "empty_id_is_refused"),
    (Fault::HoldsNineHundred, "many_messages_are_read_back"),
    (Fault::RefusesMegabytes, "large_message_is_read_back"),
    (Fault::HasNoVersions, "every_commit_changes_the_version"),
    (Fault::FirstVersionIsAny, "first_commit_expects_the_version_of_an_unknown_id"),
    (Fault::EmptyCommitKeepsVersion, "every_commit_changes_the_version"),
    (Fault::IgnoresVersions, "stale_commit_is_refused"),
    (Fault::AppliesConflicts, "stale_commit_is_refused"),
    (Fault::AcceptsFutureVersions, "version_that_never_was_is_refused"),
    (Fault::NoVersionMeansNew, "commit_without_version_always_applies"),
    (Fault::VersionsBeginAgain, "conversation_begun_again_has_another_version"),
    (Fault::ChecksThenWrites, "one_of_many_racers_wins"),
    (Fault::ReadsThenRewrites, "turns_of_racing_writers_are_all_kept"),
    (Fault::ReadsThenRewrites, "appends_of_racing_writers_are_all_kept"),
    (Fault::CountsEvicted, "conversation_is_counted"),
    (Fault::PagesOverlap, "conversations_are_listed_once"),
    (Fault::DeletedCursorIsTheEnd, "conversations_are_listed_once"),
    (Fault::ListsByLastUse, "conversations_are_listed_once"),
    (Fault::ListsEmptyOnes, "conversation_without_messages_is_not_listed"),
    (Fault::CountsSeconds, "last_use_follows_changes"),
    (Fault::ReadingIsUse, "last_use_follows_changes"),
    (Fault::TakesEmptyPages, "empty_page_is_refused"),
    (Fault::ExportsNothing, "export_gives_every_row"),
    (Fault::DeletionKeepsHistory, "export_gives_every_row"),
    (Fault::DeletesTheUsed, "used_conversations_are_not_deleted"),
    (Fault::DeletesWhatIsAsOld, "unused_conversations_are_deleted"),
    (Fault::DeletesNoUnused, "unused_conversations_are_deleted"),
    (Fault::ForgetsEvicted, "history_holds_what_is_kept"),
    (Fault::FlagsNothing, "history_holds_what_is_kept"),
    (Fault::PositionsMove, "positions_never_change"),
    (Fault::PagesBeginAtTheOldest, "history_is_paged_from_both_ends"),
    (Fault::PagesAreLonger, "history_is_paged_from_both_ends"),
    (Fault::PagesRepeatTheCursor, "history_is_paged_from_both_ends"),
    (Fault::ReplacesEverything, "replacement_keeps_what_stays"),
    (Fault::DeletionKeepsHistory, "deletion_clears_the_history"),
    (Fault::LeasesToEverybody, "lease_is_held_by_one"),
    (Fault::AnybodyReleases, "lease_is_released_by_its_holder_only"),
    (Fault::LeaseBlocksOthers, "lease_holds_up_its_own_conversation_only"),
    (Fault::LeaseChangesVersion, "lease_holds_up_its_own_conversation_only"),
    (Fault::CommitKeepsLease, "commit_gives_the_lease_back"),
    (Fault::IgnoresLostLeases, "commit_under_a_lost_lease_is_refused"),
    (Fault::ConflictReleases, "stale_commit_keeps_the_lease"),
    (Fault::LeasesNeverEnd, "lease_ends_by_itself"),
    (Fault::ProlongsNothing, "lease_ends_by_itself"),
    (Fault::ExpiredLeaseCommits, "lease_ends_by_itself"),
    (Fault::SkipsDamagedRows, "damaged_row_is_reported"),
    (Fault::HistorySkipsDamagedRows, "damaged_row_is_reported"),
    (Fault::ReportsWithoutDetail, "damaged_row_is_reported"),
    (Fault::WritesOverDamage, "damaged_conversation_is_not_written"),
    (Fault::CannotExportDamage, "damaged_conversation_can_be_exported"),
    (Fault::CannotDeleteDamage, "damaged_conversation_can_be_deleted"),
    (Fault::DamageSpreads, "damage_stays_in_its_conversation"),
    (Fault::NewerIsCorrupt, "row_of_a_newer_version_asks_for_an_update"),
];

async fn check(fault: Fault, evicted_messages: EvictedMessages) -> Report {
    let store = FaultyStore::new(fault, evicted_messages);
    let (corrupt, newer) = (store.clone(), store.clone());
    StoreSuite::of_conversations(store.clone())
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
async fn store_without_a_fault_passes_every_check() {
    for evicted_messages in [EvictedMessages::Forget, EvictedMessages::Keep] {
        let report = check(Fault::None, evicted_messages).await;
        assert_eq!(report.failures().chain(report.skipped()).count(), 0, "{report}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_fault_is_found() {
    let mut missed = Vec::new();
    for (fault, name) in FAULTS {
        let report = check(*fault, EvictedMessages::Keep).await;
        if !report.failures().any(|failure| failure.name == *name) {
            missed.push(format!("{fault:?} is not found by {name}:\n{report}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}

#[test]
fn every_check_finds_a_fault() {
    let find: BTreeSet<_> = FAULTS.iter().map(|(_, name)| *name).collect();
    let checks: BTreeSet<_> = GROUPS.iter().copied().flatten().map(|check| check.name).collect();
    assert_eq!(find, checks);
}

/// A store that gives up on the first write.
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
async fn check_that_takes_too_long_has_failed() {
    let usual = StoreSuite::of_memory(SilentStore);
    let short = StoreSuite::of_memory(SilentStore).time_limit(Duration::from_secs(7));
    for (suite, limit) in [(usual, 120), (short, 7)] {
        let report = suite.run().await;
        let expected = Outcome::Failed(format!("it did not end within {limit}s"));
        assert_eq!(report.checks()[0].outcome, expected);
    }
}

#[tokio::test]
async fn report_is_one_line_a_check() {
    let report = StoreSuite::of_memory(FullStore).run().await;
    let text = report.to_string();
    assert_eq!(text.lines().count(), report.checks().len() + 1);
    let first = "FAILED   unknown_id_has_no_messages: `update_messages`: Memory: the disk is full";
    assert_eq!(text.lines().next(), Some(first));
    assert!(text.contains("skipped  stale_commit_is_refused: "), "{text}");
    let skipped = |name| {
        let check = report.checks().iter().find(|check| check.name == name).unwrap();
        matches!(check.outcome, Outcome::Skipped(_))
    };
    assert!(skipped("lease_is_held_by_one") && skipped("empty_id_is_refused"));
}

//! Checks of adding, replacing, removing and counting entries.

use super::case::{
    Case, CheckResult, direction, ensure, entry, entry_with, entry_with_text, rejected,
};
use ai_services_core::ErrorKind;
use ai_services_core::document::{Metadata, MetadataValue, TextSegment};
use ai_services_core::embedding::{EmbeddingEntry, Filter, Replace, VectorSearch};

super::checks![
    entries_round_trip,
    entry_with_a_known_id_is_replaced,
    last_entry_with_an_id_wins,
    batch_with_an_invalid_entry_changes_nothing,
    replacement_removes_matching_entries,
    removed_entries_are_not_found,
    remove_matching_removes_only_matching_entries,
    clear_removes_all_entries,
    entries_are_counted,
    values_of_every_type_are_distinct,
    large_batches_are_accepted,
];

async fn entries_round_trip(case: &Case) -> CheckResult {
    let metadata = Metadata::new()
        .with("text", "1")
        .with("empty", "")
        .with("integer", 1)
        .with("largest", i64::MAX)
        .with("smallest", i64::MIN)
        .with("whole float", 1.0)
        .with("third", 1.0 / 3.0)
        .with("huge", f64::MAX)
        .with("tiny", 5e-324)
        .with("exact", 0.1 + 0.2)
        .with("true", true)
        .with("false", false);
    let full = TextSegment::new("A text\nof two lines.").with_metadata(metadata);
    let entries = [
        EmbeddingEntry::new("full", direction(0.1), full),
        EmbeddingEntry::new("bare", direction(0.2), TextSegment::new("")),
    ];
    case.add(entries.clone()).await?;
    case.expect(&entries).await
}

async fn entry_with_a_known_id_is_replaced(case: &Case) -> CheckResult {
    let (other, old) = (entry("other"), entry_with("id", "old", 1));
    case.add([old, other.clone()]).await?;
    let segment = TextSegment::new("new").with_metadata(Metadata::new().with("new", 2));
    let new = EmbeddingEntry::new("id", direction(3.0), segment);
    case.add([new.clone()]).await?;
    case.expect(&[new, other]).await?;
    let old = case.ids(Some(&Filter::key("old").exists())).await?;
    ensure(old.is_empty(), || format!("the old metadata of {old:?} is still stored"))?;
    let vector = direction(3.0);
    let found = case.store().search(&VectorSearch::new(&vector).max_results(1)).await?;
    let is_moved = found.first().is_some_and(|found| *found.id == *"id" && found.score > 0.999);
    ensure(is_moved, || format!("the new vector finds {found:?}"))
}

async fn last_entry_with_an_id_wins(case: &Case) -> CheckResult {
    let [first, second, last] = ["first", "second", "last"].map(|text| entry_with_text("a", text));
    case.add([first, entry("b"), second, last.clone()]).await?;
    case.expect(&[last, entry("b")]).await
}

async fn batch_with_an_invalid_entry_changes_nothing(case: &Case) -> CheckResult {
    let kept = [entry_with("a", "group", "x"), entry_with("b", "group", "y")];
    case.add(kept.clone()).await?;
    let wrong = [
        ("an empty id", entry("")),
        ("a long id", entry("i".repeat(EmbeddingEntry::MAX_ID_BYTES + 1))),
        ("an empty key", entry_with("c", "", 1)),
        ("a long key", entry_with("c", &"k".repeat(EmbeddingEntry::MAX_KEY_BYTES + 1), 1)),
        ("NaN in metadata", entry_with("c", "key", f64::NAN)),
        ("infinity in metadata", entry_with("c", "key", f64::INFINITY)),
    ];
    let everything = Filter::key("group").exists();
    for (mistake, wrong) in wrong {
        // After valid entries, one of them with a known id.
        let batch = || vec![entry("new"), entry_with_text("a", "changed"), wrong.clone()];
        rejected(mistake, case.store().add(batch()).await, ErrorKind::InvalidRequest)?;
        case.expect(&kept).await?;
        let replaced = case.store().replace(Replace::Matching(&everything), batch()).await;
        rejected(mistake, replaced, ErrorKind::InvalidRequest)?;
        case.expect(&kept).await?;
    }
    Ok(())
}

async fn replacement_removes_matching_entries(case: &Case) -> CheckResult {
    let of = |id: &str, file: &str| entry_with(id, "file", file);
    case.add([of("a1", "a"), of("a2", "a"), of("b1", "b")]).await?;
    let file = |name: &str| Filter::key("file").is(name);
    // One removed entry is added again, one kept entry is changed, and added entries are not removed.
    let added = [of("a2", "a"), of("a3", "a"), entry_with("b1", "file", "b changed")];
    case.store().replace(Replace::Matching(&file("a")), added.clone().into()).await?;
    case.expect(&added).await?;
    case.store().replace(Replace::Matching(&file("none")), vec![of("c", "c")]).await?;
    case.store().replace(Replace::Nothing, vec![of("d", "d")]).await?;
    let [a2, a3, b1] = added;
    case.expect(&[a2, a3, b1.clone(), of("c", "c"), of("d", "d")]).await?;
    case.store().replace(Replace::Matching(&file("a")), Vec::new()).await?;
    case.expect(&[b1, of("c", "c"), of("d", "d")]).await
}

async fn removed_entries_are_not_found(case: &Case) -> CheckResult {
    let entries = ["a", "b", "c", "d", "e"].map(|id| entry_with(id, "key", id));
    let [a, _, c, _, e] = entries.clone();
    case.add(entries).await?;
    case.store().remove(&[]).await?;
    case.store().remove(&["b", "unknown", "d", "b"]).await?;
    let kept = [a, c, e];
    case.expect(&kept).await?;
    let values = case.store().values("key", None).await?.len();
    ensure(values == kept.len(), || {
        format!("the key has {values} values, expected {}", kept.len())
    })?;
    case.store().remove(&["b", "A", "a ", "%"]).await?;
    case.expect(&kept).await?;
    case.store().remove(&["a", "c", "e"]).await?;
    case.expect(&[]).await?;
    case.add([entry("a")]).await?;
    case.expect(&[entry("a")]).await
}

async fn remove_matching_removes_only_matching_entries(case: &Case) -> CheckResult {
    let entries: Vec<_> =
        (0..10).map(|number| entry_with(number.to_string(), "n", number)).collect();
    case.add(entries.clone()).await?;
    case.store().remove_matching(&Filter::key("n").less_than(4)).await?;
    let kept: Vec<_> = entries.into_iter().skip(4).collect();
    case.expect(&kept).await?;
    case.store().remove_matching(&Filter::key("n").less_than(4)).await?;
    case.expect(&kept).await
}

async fn clear_removes_all_entries(case: &Case) -> CheckResult {
    let entries = ["a", "b", "c"].map(|id| entry_with(id, "key", id));
    case.add(entries.clone()).await?;
    case.store().clear().await?;
    case.expect(&[]).await?;
    let values = case.store().values("key", None).await?;
    ensure(values.is_empty(), || format!("a cleared store has the values {values:?}"))?;
    case.store().clear().await?;
    case.add(entries.clone()).await?;
    case.expect(&entries).await
}

async fn entries_are_counted(case: &Case) -> CheckResult {
    let entry = |number: i32| match number % 3 {
        0 => entry(number.to_string()),
        rest => entry_with(number.to_string(), "rest", rest),
    };
    case.add((0..31).map(entry).collect::<Vec<_>>()).await?;
    let rest = || Filter::key("rest");
    let count = case.store().count().await?;
    ensure(count == 31, || format!("`count` returns {count}, expected 31"))?;
    let counts = [
        (Filter::All(Vec::new()), 31),
        (rest().is(1), 10),
        (rest().exists(), 20),
        (!rest().exists(), 11),
        (rest().is(7), 0),
    ];
    for (filter, expected) in counts {
        let count = case.store().count_matching(&filter).await?;
        ensure(count == expected, || {
            format!("`count_matching` returns {count} for {filter:?}, expected {expected}")
        })?;
    }
    Ok(())
}

async fn values_of_every_type_are_distinct(case: &Case) -> CheckResult {
    let values: [MetadataValue; 10] = [
        1.into(),
        1.0.into(),
        "1".into(),
        true.into(),
        "true".into(),
        "".into(),
        "a".into(),
        "A".into(),
        0.5.into(),
        i64::MAX.into(),
    ];
    let twice = values.iter().chain(&values).zip(0..);
    let entries = twice.map(|(value, number)| {
        let metadata = Metadata::new().with("key", value.clone()).with("number", number);
        let segment = TextSegment::new("").with_metadata(metadata);
        EmbeddingEntry::new(number.to_string(), direction(0.1), segment)
    });
    case.add(entries.collect::<Vec<_>>()).await?;
    case.add([entry_with("other", "other", 2)]).await?;
    let first_two = Filter::key("number").less_than(2);
    let expected = [
        ("key", None, &values[..]),
        ("key", Some(&first_two), &values[..2]),
        ("other", Some(&first_two), &[]),
        ("unknown", None, &[]),
    ];
    for (key, filter, expected) in expected {
        let found = case.store().values(key, filter).await?;
        let is_same = found.len() == expected.len() && expected.iter().all(|v| found.contains(v));
        ensure(is_same, || format!("the values of `{key}` are {found:?}, expected {expected:?}"))?;
    }
    Ok(())
}

/// More entries than the parameters of one database statement.
async fn large_batches_are_accepted(case: &Case) -> CheckResult {
    const COUNT: usize = 12_000;
    const REMOVED: usize = 11_000;
    let entries: Vec<_> =
        (0..COUNT).map(|number| entry_with(number.to_string(), "n", number as i64)).collect();
    case.add(entries.get(..10).unwrap_or_default()).await?;
    let even = Filter::key("n").is_in((0..9_000_i64).map(|number| number * 2));
    let count = case.store().count_matching(&even).await?;
    ensure(count == 5, || format!("{count} entries have one of 9,000 values, expected 5"))?;
    case.add(entries.clone()).await?;
    let count = case.store().count().await?;
    ensure(count == COUNT as u64, || format!("`count` returns {count}, expected {COUNT}"))?;
    let ids: Vec<_> = (0..REMOVED).map(|number| number.to_string()).collect();
    case.store().remove(&ids.iter().map(String::as_str).collect::<Vec<_>>()).await?;
    case.expect(entries.get(REMOVED..).unwrap_or_default()).await
}

//! Checks of vector search.

use super::EmbeddingStoreSuite;
use super::case::{ALL, Case, CheckResult, direction, ensure, entry, ids, rejected};
use ai_services_core::ErrorKind;
use ai_services_core::document::TextSegment;
use ai_services_core::embedding::{EmbeddingEntry, Replace, SearchMatch, VectorSearch};
use std::f32::consts::PI;

super::checks![
    empty_store_returns_no_matches,
    nearest_entries_rank_first,
    number_of_matches_is_limited,
    equal_scores_are_ordered_by_id,
    minimum_score_is_applied,
    vector_length_does_not_matter,
    invalid_vectors_are_rejected,
];

/// Maximum error of a score.
const TOLERANCE: f64 = 1e-4;

/// Number of entries on a half circle. Their scores differ by at least three tolerances.
const COUNT: usize = 50;

async fn empty_store_returns_no_matches(case: &Case) -> CheckResult {
    let store = case.store();
    case.expect(&[]).await?;
    ensure(store.values("key", None).await?.is_empty(), || "an empty store has values".into())?;
    store.remove(&[]).await?;
    store.remove(&["unknown"]).await?;
    store.clear().await?;
    store.add(Vec::new()).await?;
    store.replace(Replace::Nothing, Vec::new()).await?;
    case.expect(&[]).await
}

/// Returns the angle of an entry; neighbours are not added one after the other.
fn angle(number: usize) -> f32 {
    PI * ((number * 37) % COUNT) as f32 / COUNT as f32
}

fn half_circle() -> Vec<EmbeddingEntry> {
    let entry = |number: usize| {
        let segment = TextSegment::new(number.to_string());
        EmbeddingEntry::new(number.to_string(), direction(angle(number)), segment)
    };
    (0..COUNT).map(entry).collect()
}

/// Returns the score of two vectors in double precision.
fn score(a: &[f32], b: &[f32]) -> f64 {
    let product = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    f64::midpoint(1.0, product(a, b) / (product(a, a).sqrt() * product(b, b).sqrt()))
}

async fn nearest_entries_rank_first(case: &Case) -> CheckResult {
    let entries = half_circle();
    case.add(entries.clone()).await?;
    for from in [0.0, 0.019, 1.3, -1.0] {
        let vector = direction(from);
        let mut expected: Vec<_> =
            entries.iter().map(|entry| (score(&vector, &entry.vector), entry)).collect();
        expected.sort_by(|a, b| b.0.total_cmp(&a.0));
        for max in [1, 3, 10, COUNT] {
            let search = VectorSearch::new(&vector).max_results(max);
            let found = case.store().search(&search).await?;
            same(&found, expected.get(..max).unwrap_or(&expected))?;
        }
    }
    Ok(())
}

fn same(found: &[SearchMatch], expected: &[(f64, &EmbeddingEntry)]) -> CheckResult {
    let (count, expected_count) = (found.len(), expected.len());
    ensure(count == expected_count, || {
        format!("{count} entries are found, expected {expected_count}")
    })?;
    for (found, (score, entry)) in found.iter().zip(expected) {
        let is_near = (found.score - score).abs() < TOLERANCE;
        ensure(is_near && found.id == entry.id && found.segment == entry.segment, || {
            format!("{found:?} is found, expected {:?} with score {score}", entry.id)
        })?;
    }
    Ok(())
}

async fn number_of_matches_is_limited(case: &Case) -> CheckResult {
    const STORED: usize = 7;
    case.add((0..STORED).map(|number| entry(number.to_string())).collect::<Vec<_>>()).await?;
    let vector = direction(0.0);
    for max in [0, 1, STORED - 1, STORED, STORED + 1, usize::MAX] {
        let found = case.store().search(&VectorSearch::new(&vector).max_results(max)).await?.len();
        let expected = max.min(STORED);
        ensure(found == expected, || {
            format!("{found} entries are found with a maximum of {max}, expected {expected}")
        })?;
    }
    let found = case.store().search(&VectorSearch::new(&vector)).await?.len();
    ensure(found == 3, || format!("{found} entries are found by default, expected 3"))
}

async fn equal_scores_are_ordered_by_id(case: &Case) -> CheckResult {
    let names = ["b", "a", "Z", "é", "10", "9", "a b", "ab", "😀", "_", "\u{ffff}", "B"];
    let (first, second) = names.split_at(5);
    for names in [second, first] {
        case.add(names.iter().map(|name| entry(*name)).collect::<Vec<_>>()).await?;
    }
    let mut sorted = names;
    sorted.sort_unstable();
    let vector = direction(0.0);
    for max in [1, 4, names.len()] {
        let found = case.store().search(&VectorSearch::new(&vector).max_results(max)).await?;
        let (found, expected) = (ids(&found), sorted.get(..max).unwrap_or_default());
        ensure(found == expected, || format!("{found:?} are found, expected {expected:?}"))?;
    }
    Ok(())
}

async fn minimum_score_is_applied(case: &Case) -> CheckResult {
    let entries = half_circle();
    case.add(entries.clone()).await?;
    let vector = direction(0.0);
    for (min, max) in [(0.0, ALL), (0.3, ALL), (0.9001, ALL), (0.3, 5), (1.1, ALL), (-1.0, ALL)] {
        let search = VectorSearch::new(&vector).min_score(min).max_results(max);
        let found = case.store().search(&search).await?;
        let good = entries.iter().filter(|entry| score(&vector, &entry.vector) >= min).count();
        let expected = good.min(max);
        ensure(found.len() == expected && found.iter().all(|found| found.score >= min), || {
            format!(
                "{} entries are found with a minimum score of {min}, expected {expected}",
                found.len()
            )
        })?;
    }
    Ok(())
}

async fn vector_length_does_not_matter(case: &Case) -> CheckResult {
    let lengths = [1e-30, 1e-3, 1.0, 1e3, 1e30_f32];
    let scaled = |angle: f32, length: f32| -> Vec<f32> {
        direction(angle).iter().map(|number| number * length).collect()
    };
    let entries = lengths.iter().zip(1..).map(|(length, number)| {
        EmbeddingEntry::new(
            number.to_string(),
            scaled(0.2 * number as f32, *length),
            TextSegment::new(""),
        )
    });
    case.add(entries.collect::<Vec<_>>()).await?;
    for length in lengths {
        let vector = scaled(0.0, length);
        let found = case.store().search(&VectorSearch::new(&vector).max_results(ALL)).await?;
        for (found, number) in found.iter().zip(1..) {
            let expected = f64::midpoint(1.0, (0.2 * f64::from(number)).cos());
            let is_near = (found.score - expected).abs() < TOLERANCE;
            ensure(is_near && *found.id == *number.to_string(), || {
                format!("{found:?} is found, expected {number} with score {expected}")
            })?;
        }
        ensure(found.len() == lengths.len(), || {
            format!("{} entries are found, expected {}", found.len(), lengths.len())
        })?;
    }
    Ok(())
}

async fn invalid_vectors_are_rejected(case: &Case) -> CheckResult {
    const D: usize = EmbeddingStoreSuite::DIMENSIONS;
    let kept = [entry("kept")];
    case.add(kept.clone()).await?;
    let with = |number: f32| {
        let mut vector = direction(0.3);
        vector.pop();
        vector.push(number);
        vector
    };
    let wrong = [
        ("an empty vector", Vec::new()),
        ("a shorter vector", vec![1.0; D - 1]),
        ("a longer vector", vec![1.0; D + 1]),
        ("a zero vector", vec![0.0; D]),
        ("NaN", with(f32::NAN)),
        ("infinity", with(f32::INFINITY)),
        ("negative infinity", with(f32::NEG_INFINITY)),
    ];
    for (mistake, vector) in wrong {
        let found = case.store().search(&VectorSearch::new(&vector)).await;
        rejected(&format!("a search for {mistake}"), found, ErrorKind::InvalidRequest)?;
        let added = EmbeddingEntry::new("wrong", vector, TextSegment::new(""));
        let added = case.store().add(vec![entry("good"), added]).await;
        rejected(&format!("an entry with {mistake}"), added, ErrorKind::InvalidRequest)?;
        case.expect(&kept).await?;
    }
    let vector = direction(0.0);
    let found = case.store().search(&VectorSearch::new(&vector).min_score(f64::NAN)).await;
    rejected("a minimum score that is NaN", found, ErrorKind::InvalidRequest)?;
    Ok(())
}

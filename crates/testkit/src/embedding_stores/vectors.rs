//! What is found for a vector.

use super::EmbeddingStoreSuite;
use super::case::{ALL, Case, Verdict, direction, ensure, entry, ids, refused};
use ai_services_core::ErrorKind;
use ai_services_core::document::TextSegment;
use ai_services_core::embedding::{EmbeddingEntry, SearchMatch, VectorSearch};
use std::f32::consts::PI;

super::checks![
    empty_store_finds_nothing,
    nearest_entries_come_first,
    as_many_as_wanted_are_found,
    equal_scores_are_ordered_by_id,
    minimum_score_is_kept,
    length_of_vectors_makes_no_difference,
    wrong_vectors_are_refused,
];

/// How far a score may be off.
const TOLERANCE: f64 = 1e-4;

/// How many entries lie on a half circle. Their scores are at least three tolerances apart.
const COUNT: usize = 50;

async fn empty_store_finds_nothing(case: &Case) -> Verdict {
    let store = case.store();
    case.expect(&[]).await?;
    ensure(store.values("key", None).await?.is_empty(), || "there are values".into())?;
    store.remove(&[]).await?;
    store.remove(&["unknown"]).await?;
    store.remove_all(None).await?;
    store.add(Vec::new()).await?;
    store.replace(None, Vec::new()).await?;
    case.expect(&[]).await
}

/// The angle of an entry; near ones are not added behind each other.
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

/// The score of two vectors, slowly.
fn score(a: &[f32], b: &[f32]) -> f64 {
    let product = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    f64::midpoint(1.0, product(a, b) / (product(a, a).sqrt() * product(b, b).sqrt()))
}

async fn nearest_entries_come_first(case: &Case) -> Verdict {
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

fn same(found: &[SearchMatch], expected: &[(f64, &EmbeddingEntry)]) -> Verdict {
    let (count, wanted) = (found.len(), expected.len());
    ensure(count == wanted, || format!("{count} entries are found, expected {wanted}"))?;
    for (found, (score, entry)) in found.iter().zip(expected) {
        let is_near = (found.score - score).abs() < TOLERANCE;
        ensure(is_near && found.id == entry.id && found.segment == entry.segment, || {
            format!("{found:?} is found, expected {:?} with score {score}", entry.id)
        })?;
    }
    Ok(())
}

async fn as_many_as_wanted_are_found(case: &Case) -> Verdict {
    const THERE: usize = 7;
    case.add((0..THERE).map(|number| entry(number.to_string())).collect::<Vec<_>>()).await?;
    let vector = direction(0.0);
    for max in [0, 1, THERE - 1, THERE, THERE + 1, usize::MAX] {
        let found = case.store().search(&VectorSearch::new(&vector).max_results(max)).await?.len();
        let expected = max.min(THERE);
        ensure(found == expected, || format!("{found} of at most {max} are found"))?;
    }
    let found = case.store().search(&VectorSearch::new(&vector)).await?.len();
    ensure(found == 3, || format!("{found} are found by default, expected 3"))
}

async fn equal_scores_are_ordered_by_id(case: &Case) -> Verdict {
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

async fn minimum_score_is_kept(case: &Case) -> Verdict {
    let entries = half_circle();
    case.add(entries.clone()).await?;
    let vector = direction(0.0);
    for (min, max) in [(0.0, ALL), (0.3, ALL), (0.9001, ALL), (0.3, 5), (1.1, ALL), (-1.0, ALL)] {
        let search = VectorSearch::new(&vector).min_score(min).max_results(max);
        let found = case.store().search(&search).await?;
        let good = entries.iter().filter(|entry| score(&vector, &entry.vector) >= min).count();
        let expected = good.min(max);
        ensure(found.len() == expected && found.iter().all(|found| found.score >= min), || {
            format!("{} of {expected} are found with score {min}", found.len())
        })?;
    }
    Ok(())
}

async fn length_of_vectors_makes_no_difference(case: &Case) -> Verdict {
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
        ensure(found.len() == lengths.len(), || format!("{} are found", found.len()))?;
    }
    Ok(())
}

async fn wrong_vectors_are_refused(case: &Case) -> Verdict {
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
    for (what, vector) in wrong {
        let found = case.store().search(&VectorSearch::new(&vector)).await;
        refused(&format!("a search for {what}"), found, ErrorKind::InvalidRequest)?;
        let added = EmbeddingEntry::new("wrong", vector, TextSegment::new(""));
        let added = case.store().add(vec![entry("good"), added]).await;
        refused(&format!("an entry with {what}"), added, ErrorKind::InvalidRequest)?;
        case.expect(&kept).await?;
    }
    let vector = direction(0.0);
    let found = case.store().search(&VectorSearch::new(&vector).min_score(f64::NAN)).await;
    refused("a minimum score that is NaN", found, ErrorKind::InvalidRequest)?;
    Ok(())
}

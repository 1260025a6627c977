//! Filters have the same semantics in a database as in Rust.

use super::samples::{described, ids, nearest, with_words};
use ai_services::document::{Metadata, MetadataValue};
use ai_services::embedding::{Comparison, EmbeddingStore, Filter, Replace};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeSet;

/// Keys and texts with a special meaning in SQL, JSON or patterns.
const NASTY: [&str; 10] =
    ["a", "b", "a'b\"c", "$.a", "k\0", "ä", "%", "a\\", "'; DROP TABLE x; --", "1"];

fn key() -> impl Strategy<Value = &'static str> {
    // Few different keys, so that filters match entries.
    prop_oneof![4 => prop::sample::select(&NASTY[..2]), 1 => prop::sample::select(&NASTY[2..])]
}

fn value() -> impl Strategy<Value = MetadataValue> {
    let integers = vec![0, 1, -1, 7, 1 << 53, (1 << 53) + 1, (1 << 62) + 1, i64::MAX, i64::MIN];
    let floats = vec![
        0.0,
        -0.0,
        1.0,
        0.1,
        0.5,
        -1.5,
        9_007_199_254_740_992.0,
        9_007_199_254_740_994.0,
        4_611_686_018_427_387_904.0,
        9_223_372_036_854_775_808.0,
        -9_223_372_036_854_775_808.0,
        1e300,
        5e-324,
        f64::MAX,
        f64::MIN,
    ];
    let any_float = any::<f64>().prop_filter("finite", |number| number.is_finite());
    prop_oneof![
        prop::sample::select(&NASTY[..]).prop_map(MetadataValue::from),
        "[\0\u{1}\u{2}a1\u{e000}\u{10000}]{0,3}".prop_map(MetadataValue::from),
        prop::sample::select(integers).prop_map(MetadataValue::from),
        (-2_i64..3).prop_map(MetadataValue::from),
        prop::sample::select(floats).prop_map(MetadataValue::from),
        any_float.prop_map(MetadataValue::from),
        any::<bool>().prop_map(MetadataValue::from),
        Just(MetadataValue::from("true")),
    ]
}

fn metadata() -> impl Strategy<Value = Metadata> {
    vec((key(), value()), 0..5).prop_map(|entries| entries.into_iter().collect())
}

fn comparison() -> impl Strategy<Value = Comparison> {
    prop::sample::select(vec![
        Comparison::Equal,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ])
}

fn compare(key: &str, comparison: Comparison, value: MetadataValue) -> Filter {
    let key = Filter::key(key);
    match comparison {
        Comparison::Equal => key.is(value),
        Comparison::Less => key.less_than(value),
        Comparison::LessOrEqual => key.at_most(value),
        Comparison::Greater => key.greater_than(value),
        Comparison::GreaterOrEqual => key.at_least(value),
    }
}

fn filter() -> impl Strategy<Value = Filter> {
    let leaf = prop_oneof![
        6 => (key(), comparison(), value())
            .prop_map(|(key, comparison, value)| compare(key, comparison, value)),
        2 => (key(), vec(value(), 0..30)).prop_map(|(key, values)| Filter::key(key).is_in(values)),
        1 => key().prop_map(|key| Filter::key(key).exists()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Filter::All),
            vec(inner.clone(), 0..4).prop_map(Filter::Any),
            inner.prop_map(|filter| Filter::Not(Box::new(filter))),
        ]
    })
}

/// Checks that the store agrees with `Filter::accepts` for random entries and filters.
pub(crate) fn check_random_filters(runtime: &tokio::runtime::Runtime, store: &dyn EmbeddingStore) {
    let cases = (vec(metadata(), 0..9), vec(filter(), 1..4));
    let mut runner =
        TestRunner::new(Config { cases: 500, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&cases, |(all, filters)| {
        runtime.block_on(async {
            store.clear().await.unwrap();
            let named = |number: usize| format!("e{number}");
            let entries =
                all.iter().enumerate().map(|(number, it)| described(&named(number), it.clone()));
            store.add(entries.collect()).await.unwrap();
            for filter in &filters {
                let accepted: Vec<(String, &Metadata)> = (all.iter().enumerate())
                    .filter(|(_, it)| filter.accepts(it))
                    .map(|(number, it)| (named(number), it))
                    .collect();
                let expected: Vec<&str> = accepted.iter().map(|(id, _)| &**id).collect();
                let found = nearest(store, &[1.0, 0.0], Some(filter)).await;
                prop_assert_eq!(ids(&found), expected);
                for (found, (_, metadata)) in found.iter().zip(&accepted) {
                    prop_assert_eq!(found.segment.metadata(), *metadata);
                }
                let count = store.count_matching(filter).await.unwrap();
                prop_assert_eq!(count, accepted.len() as u64);
                for key in ["a", "k\0"] {
                    let values = store.values(key, Some(filter)).await.unwrap();
                    let expected = accepted.iter().filter_map(|(_, metadata)| metadata.get(key));
                    prop_assert_eq!(distinct(&values), distinct(expected));
                    prop_assert_eq!(distinct(&values).len(), values.len());
                }
            }
            let removed = &filters[0];
            store.replace(Replace::Matching(removed), vec![]).await.unwrap();
            let remaining = all.iter().filter(|metadata| !removed.accepts(metadata)).count();
            prop_assert_eq!(store.count().await.unwrap(), remaining as u64);
            prop_assert_eq!(with_words(store, "text").await.len(), remaining);
            Ok(())
        })
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

/// Returns the distinct values as texts that contain their kinds; 0 and -0 are one value.
fn distinct<'a>(values: impl IntoIterator<Item = &'a MetadataValue>) -> BTreeSet<String> {
    let named = |value: &MetadataValue| match value {
        MetadataValue::Float(number) if *number == 0.0 => "0.0".to_owned(),
        value => format!("{value:?}"),
    };
    values.into_iter().map(named).collect()
}

/// Checks filters of the maximum size and depth.
pub(crate) async fn check_large_filters(store: &dyn EmbeddingStore) {
    let numbered =
        |number: i64| described(&format!("{number:05}"), Metadata::new().with("n", number));
    store.add((0..100).map(numbered).collect()).await.unwrap();
    let any: Vec<Filter> =
        (0..4_000).map(|number| Filter::key("n").greater_than(number * 1_000 + 97)).collect();
    assert_eq!(store.count_matching(&Filter::Any(any)).await.unwrap(), 2);
    let every: Vec<Filter> = (0..4_000).map(|number| Filter::key("n").is_not(number + 1)).collect();
    assert_eq!(store.count_matching(&Filter::All(every)).await.unwrap(), 1);
    let one_of = Filter::key("n").is_in(50..5_000_i64);
    assert_eq!(store.count_matching(&one_of).await.unwrap(), 50);
    let deep = (1..Filter::MAX_DEPTH).fold(Filter::key("n").is(7), |inner, level| {
        if level % 2 == 0 { Filter::Not(Box::new(inner)) } else { Filter::Any(vec![inner]) }
    });
    let expected =
        if (1..Filter::MAX_DEPTH).filter(|level| level % 2 == 0).count() % 2 == 0 { 1 } else { 99 };
    assert_eq!(store.count_matching(&deep).await.unwrap(), expected);
}

//! Checks of filters.

use super::case::{Case, CheckResult, Stop, direction, ensure, entry, entry_with, ids, rejected};
use ai_services_core::ErrorKind;
use ai_services_core::document::{Metadata, MetadataValue, TextSegment};
use ai_services_core::embedding::{
    Comparison, EmbeddingEntry, Filter, Replace, TextSearch, VectorSearch,
};

super::checks![
    comparisons_of_every_type_are_correct,
    numbers_are_compared_exactly,
    missing_keys_match_no_comparison,
    filters_are_combined,
    invalid_filters_are_rejected,
    filtered_search_returns_enough_matches,
];

const COMPARISONS: [Comparison; 5] = [
    Comparison::Equal,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

/// Checks that the store agrees with [`Filter::accepts`].
async fn agrees(case: &Case, entries: &[EmbeddingEntry], filter: &Filter) -> CheckResult {
    let about = |stop: Stop| stop.about(format_args!("{filter:?}"));
    let accepted = entries.iter().filter(|entry| filter.accepts(entry.segment.metadata()));
    let mut expected: Vec<_> = accepted.map(|entry| entry.id.to_string()).collect();
    expected.sort_unstable();
    let found = case.ids(Some(filter)).await.map_err(about)?;
    ensure(found == expected, || format!("{filter:?} accepts {found:?}, expected {expected:?}"))?;
    let count = case.store().count_matching(filter).await.map_err(|error| about(error.into()))?;
    ensure(count == expected.len() as u64, || {
        format!("`count_matching` returns {count} for {filter:?}, expected {}", expected.len())
    })
}

/// Checks all comparisons of each value with each other value.
async fn all_agree(case: &Case, values: &[MetadataValue]) -> CheckResult {
    let with = |(number, value): (usize, &MetadataValue)| {
        entry_with(number.to_string(), "key", value.clone())
    };
    let mut entries: Vec<_> = values.iter().enumerate().map(with).collect();
    entries.push(entry("without"));
    case.add(entries.clone()).await?;
    for value in values {
        for comparison in COMPARISONS {
            let (key, value) = ("key".into(), value.clone());
            agrees(case, &entries, &Filter::Compare { key, comparison, value }).await?;
        }
        agrees(case, &entries, &Filter::key("key").is_in([value.clone()])).await?;
        agrees(case, &entries, &Filter::key("key").is_not(value.clone())).await?;
    }
    agrees(case, &entries, &Filter::key("key").is_in(values.to_vec())).await
}

async fn comparisons_of_every_type_are_correct(case: &Case) -> CheckResult {
    let values: [MetadataValue; 18] = [
        "".into(),
        " ".into(),
        "0".into(),
        "10".into(),
        "9".into(),
        "A".into(),
        "B".into(),
        "a".into(),
        "e\u{301}".into(),
        "é".into(),
        "true".into(),
        "\u{ffff}".into(),
        "😀".into(),
        0.into(),
        1.into(),
        9.5.into(),
        false.into(),
        true.into(),
    ];
    all_agree(case, &values).await
}

async fn numbers_are_compared_exactly(case: &Case) -> CheckResult {
    const LIMIT: i64 = 1 << 53;
    let integers = [0, 1, -1, LIMIT, LIMIT + 1, -LIMIT - 1, i64::MAX, i64::MAX - 1, i64::MIN];
    let floats = [
        0.0,
        -0.0,
        0.5,
        1.0,
        0.1,
        1e300,
        -1e300,
        5e-324,
        LIMIT as f64,
        -(LIMIT as f64),
        9_223_372_036_854_775_808.0,
        -9_223_372_036_854_775_808.0,
        9_223_372_036_854_774_784.0,
    ];
    let integers = integers.into_iter().map(MetadataValue::from);
    let values: Vec<_> = integers.chain(floats.into_iter().map(MetadataValue::from)).collect();
    all_agree(case, &values).await
}

async fn missing_keys_match_no_comparison(case: &Case) -> CheckResult {
    let entries = [entry_with("a", "key", 1), entry_with("b", "other", 1), entry("c")];
    case.add(entries.clone()).await?;
    let key = || Filter::key("key");
    let filters = [
        (key().is(1), &["a"][..]),
        (key().is_not(1), &["b", "c"]),
        (key().is_not(2), &["a", "b", "c"]),
        (key().less_than(9), &["a"]),
        (!key().less_than(0), &["a", "b", "c"]),
        (key().exists(), &["a"]),
        (!key().exists(), &["b", "c"]),
        (key().is_in([1, 2]), &["a"]),
        (!key().is_in([2, 3]), &["a", "b", "c"]),
        (Filter::key("Key").exists(), &[]),
        (Filter::key("$.key").exists(), &[]),
    ];
    for (filter, expected) in filters {
        let found = case.ids(Some(&filter)).await?;
        ensure(found == expected, || format!("{filter:?} accepts {found:?}"))?;
        agrees(case, &entries, &filter).await?;
    }
    Ok(())
}

async fn filters_are_combined(case: &Case) -> CheckResult {
    let entries: Vec<_> = (0..24)
        .map(|number| {
            let metadata = Metadata::new()
                .with("half", number / 2)
                .with("kind", ["a", "b", "c"].get(number as usize % 3).copied().unwrap_or_default())
                .with("is even", number % 2 == 0);
            let segment = TextSegment::new("").with_metadata(metadata);
            EmbeddingEntry::new(number.to_string(), direction(0.1), segment)
        })
        .collect();
    case.add(entries.clone()).await?;
    let (half, kind) = (|| Filter::key("half"), || Filter::key("kind"));
    let even = || Filter::key("is even").is(true);
    let deep = (2..Filter::MAX_DEPTH).fold(kind().is("a"), |inner, depth| match depth % 3 {
        0 => Filter::All(vec![inner]),
        1 => Filter::Not(Box::new(inner)),
        _ => Filter::Any(vec![inner]),
    });
    let filters = [
        Filter::All(Vec::new()),
        Filter::Any(Vec::new()),
        !Filter::All(Vec::new()),
        !Filter::Any(Vec::new()),
        kind().is_in([""; 0]),
        !kind().is_in([""; 0]),
        kind().is("a").and(even()),
        kind().is("a").or(even()),
        kind().is("a").and(even()).or(half().less_than(2)),
        kind().is("a").and(even().or(half().less_than(2))),
        !(kind().is("a").and(!even())).and(half().is_in([1, 3, 5])),
        !!even(),
        Filter::Not(Box::new(Filter::Not(Box::new(even())))),
        half().at_least(3).and(half().at_most(5)),
        half().greater_than(5).and(half().less_than(3)),
        Filter::Any((0..100).map(|number| half().is(number * 3)).collect()),
        Filter::All((0..100).map(|number| half().is_not(number * 3)).collect()),
        kind().is_in(["a", "c", "x"]).and(!half().is_in([1.0, 2.0, 2.5])),
        deep,
    ];
    for filter in filters {
        agrees(case, &entries, &filter).await?;
    }
    Ok(())
}

async fn invalid_filters_are_rejected(case: &Case) -> CheckResult {
    let kept = [entry_with("a", "key", 1), entry_with("b", "key", 2.0)];
    case.add(kept.clone()).await?;
    let deep = (0..Filter::MAX_DEPTH)
        .fold(Filter::key("key").exists(), |inner, _| Filter::Not(Box::new(inner)));
    let wrong = [
        ("a filter that is too deep", deep),
        ("a filter of too many parts", Filter::key("key").is_in(vec![1; Filter::MAX_PARTS + 1])),
        ("a filter of an empty key", Filter::key("").is(1)),
        ("a filter of a long key", !Filter::key("k".repeat(2_000)).exists()),
        ("a filter with NaN", Filter::key("key").is_not(f64::NAN)),
        ("a filter with infinity", Filter::key("key").is_in([1.0, f64::INFINITY])),
    ];
    let (store, vector) = (case.store(), direction(0.0));
    for (mistake, wrong) in &wrong {
        let kind = ErrorKind::InvalidRequest;
        let by = |operation: &str| format!("`{operation}` with {mistake}");
        let mut search = VectorSearch::new(&vector);
        search.filter = Some(wrong);
        rejected(&by("search"), store.search(&search).await, kind)?;
        rejected(&by("count_matching"), store.count_matching(wrong).await, kind)?;
        rejected(&by("values"), store.values("key", Some(wrong)).await, kind)?;
        rejected(&by("remove_matching"), store.remove_matching(wrong).await, kind)?;
        let replaced = store.replace(Replace::Matching(wrong), vec![entry("c")]).await;
        rejected(&by("replace"), replaced, kind)?;
        let mut search = TextSearch::new("text");
        search.filter = Some(wrong);
        let found = store.search_text(&search).await;
        if !matches!(&found, Err(error) if error.kind() == ErrorKind::Unsupported) {
            rejected(&by("search_text"), found, kind)?;
        }
        case.expect(&kept).await?;
    }
    Ok(())
}

async fn filtered_search_returns_enough_matches(case: &Case) -> CheckResult {
    const COUNT: usize = 300;
    // The filters accept only entries with low scores and reject the best ones.
    let entries: Vec<_> = (0..COUNT)
        .map(|number| {
            let angle = 3.0 * number as f32 / COUNT as f32;
            let metadata = Metadata::new().with("is rare", number % 100 == 99);
            let segment = TextSegment::new("").with_metadata(metadata.with("n", number as i64));
            EmbeddingEntry::new(format!("{number:03}"), direction(angle), segment)
        })
        .collect();
    case.add(entries).await?;
    let vector = direction(0.0);
    let filters = [
        (Filter::key("is rare").is(true), 2, vec!["099", "199"]),
        (Filter::key("is rare").is(true), 9, vec!["099", "199", "299"]),
        (Filter::key("n").at_least(290), 3, vec!["290", "291", "292"]),
        (Filter::key("n").greater_than(298).or(Filter::key("n").is(0)), 2, vec!["000", "299"]),
    ];
    for (filter, max, expected) in filters {
        let search = VectorSearch::new(&vector).filter(&filter).max_results(max);
        let found = ids(&case.store().search(&search).await?);
        ensure(found == expected, || {
            format!("a search with {filter:?} finds {found:?}, expected {expected:?}")
        })?;
    }
    Ok(())
}

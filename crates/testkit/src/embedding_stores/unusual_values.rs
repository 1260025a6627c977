//! Checks with ids, keys, values and texts that an incorrect store confuses or interprets.

use super::case::{
    ALL, Case, CheckResult, direction, ensure, entry, entry_with, entry_with_text, failed,
    with_segment,
};
use ai_services_core::ErrorKind;
use ai_services_core::document::{Metadata, MetadataValue, TextSegment};
use ai_services_core::embedding::{EmbeddingEntry, Filter, TextSearch, VectorSearch};
use std::collections::BTreeSet;

super::checks![
    unusual_ids_are_distinct,
    unusual_keys_and_values_are_data,
    texts_round_trip,
    nul_is_stored_or_rejected,
    large_entries_round_trip,
];

/// Distinct, non-empty texts.
#[rustfmt::skip]
pub(super) const UNUSUAL: &[&str] = &[
    // Case, white space and normalisation.
    "Klaus", "klaus", "klaus ", " klaus", "klaus\t", "klaus\n", "é", "e\u{301}", "ß", "ss", "İ", "i", "ｋ", "k",
    "k\u{200b}", "\u{feff}k", " ",
    // Values of other types.
    "1", "01", "1.0", "1e0", "true", "null", "NaN", "{}", "[]", "\"1\"", "{\"a\":1}",
    // Quotes, patterns, paths, separators, placeholders and comments of query languages.
    "'", "''", "\"", "\"\"", "`", "\\", "\\'", "\\\\", "\\u0041", "%", "_", "*", "?", "%s", "k%", "k_",
    "$", "$.a", "$.a.b", "$['a']", "a.b", "a->b", "a->>'b'", "a[0]", "a#>b", "@>", "||", "[a-z]", "^a$", ".*",
    "$1", "?1", ":name", "@name", "{a}", "{{id}}", "${id}", "a:b", "a/b", "a/../b", "a|b", "a,b", "a;b", "a=b",
    "--", "/*", "*/", "#", "; --", "' OR '1'='1", "'; DROP TABLE entries; --", "\"; DROP TABLE entries; --",
    "') OR 1=1 --", "1; SELECT pg_sleep(60)", "\r\nDEL x\r\n", "&amp;", "<script>", "%00", "\\0",
    // Names with a meaning in stores.
    "id", "key", "value", "rowid", "metadata", "vector", "text", "select", "_id", "__proto__",
    // Rare characters.
    "\u{1}", "\u{1f}", "\u{7f}", "\u{85}", "\u{2028}", "\u{202e}", "\u{fffd}", "\u{ffff}", "日本語", "😀", "😁",
    "👩\u{200d}👧", "\u{10ffff}",
];

async fn unusual_ids_are_distinct(case: &Case) -> CheckResult {
    let mut entries: Vec<_> = UNUSUAL.iter().map(|id| entry_with_text(*id, id)).collect();
    case.add(entries.clone()).await?;
    case.expect(&entries).await?;
    for entry in &mut entries {
        let changed = entry_with_text(entry.id.clone(), "changed");
        case.add([changed.clone()]).await?;
        *entry = changed;
    }
    case.expect(&entries).await?;
    while let Some(removed) = entries.pop() {
        case.store().remove(&[&removed.id]).await?;
        let (count, expected) = (case.store().count().await?, entries.len() as u64);
        ensure(count == expected, || {
            format!("{count} entries are left after removing {:?}, expected {expected}", removed.id)
        })?;
        if entries.len().is_multiple_of(16) {
            case.expect(&entries).await?;
        }
    }
    Ok(())
}

async fn unusual_keys_and_values_are_data(case: &Case) -> CheckResult {
    let with = |(number, text): (usize, &&str)| {
        let metadata = Metadata::new().with("v", *text).with(*text, number as i64);
        let segment = TextSegment::new("").with_metadata(metadata);
        EmbeddingEntry::new(number.to_string(), direction(0.1), segment)
    };
    let entries: Vec<_> = UNUSUAL.iter().enumerate().map(with).collect();
    case.add(entries.clone()).await?;
    case.expect(&entries).await?;
    for (number, text) in UNUSUAL.iter().enumerate() {
        let own = [number.to_string()];
        let filters = [
            Filter::key("v").is(*text),
            Filter::key("v").is_in([*text, "none of them"]),
            Filter::key(*text).exists(),
            Filter::key(*text).is(number as i64).and(Filter::key("v").is(*text)),
        ];
        for filter in filters {
            let found = case.ids(Some(&filter)).await?;
            ensure(found == own, || format!("{filter:?} accepts {found:?}, expected {own:?}"))?;
        }
        let values = case.store().values(text, None).await?;
        ensure(values == [MetadataValue::from(number as i64)], || {
            format!("the values of {text:?} are {values:?}")
        })?;
    }
    let values = case.store().values("v", None).await?;
    let values: BTreeSet<_> = values.iter().filter_map(|value| value.as_text()).collect();
    ensure(values == UNUSUAL.iter().copied().collect(), || format!("the values are {values:?}"))?;
    let first = Filter::key("v").is_in(UNUSUAL.iter().copied().take(UNUSUAL.len() / 2));
    case.store().remove_matching(&first).await?;
    case.expect(entries.get(UNUSUAL.len() / 2..).unwrap_or_default()).await
}

async fn texts_round_trip(case: &Case) -> CheckResult {
    let all = UNUSUAL.concat();
    let longer = ["", "\n", "  two  blanks  ", "a\r\nb\n\nc\r", "\ttab", "ends in a blank ", &all];
    let texts = UNUSUAL.iter().copied().chain(longer);
    let entries: Vec<_> =
        texts.enumerate().map(|(n, text)| entry_with_text(n.to_string(), text)).collect();
    case.add(entries.clone()).await?;
    case.expect(&entries).await
}

async fn nul_is_stored_or_rejected(case: &Case) -> CheckResult {
    let mut kept = vec![entry("kept")];
    case.add(kept.clone()).await?;
    let entries = [
        ("an id", entry("a\0b")),
        ("a key", entry_with("key", "a\0b", 1)),
        ("a value", entry_with("value", "key", "a\0b")),
        ("a text", entry_with_text("text", "\0a\0b\0")),
    ];
    for (place, entry) in entries {
        match case.store().add(vec![entry.clone()]).await {
            Ok(()) => kept.push(entry),
            Err(error) if error.kind() == ErrorKind::InvalidRequest => {}
            Err(error) => {
                let kind = error.kind();
                return Err(failed(format!("{place} with NUL is rejected with {kind:?}: {error}")));
            }
        }
        case.expect(&kept).await?;
    }
    let has = |id: &str| kept.iter().any(|entry| *entry.id == *id);
    let filters = [
        (Filter::key("a\0b").is(1), has("key").then_some("key")),
        (Filter::key("key").is("a\0b"), has("value").then_some("value")),
        (Filter::key("a").exists(), None),
        (Filter::key("key").is("a"), None),
    ];
    for (filter, expected) in filters {
        let vector = direction(0.0);
        let search = VectorSearch::new(&vector).max_results(ALL).filter(&filter);
        match case.store().search(&search).await {
            Ok(found) => ensure(found.iter().map(|found| &*found.id).eq(expected), || {
                format!("a search with {filter:?} finds {} entries", found.len())
            })?,
            Err(error) if error.kind() == ErrorKind::InvalidRequest => {}
            Err(error) => return Err(error.into()),
        }
    }
    match case.store().search_text(&TextSearch::new("zebra\0'")).await {
        Err(error)
            if !matches!(error.kind(), ErrorKind::InvalidRequest | ErrorKind::Unsupported) =>
        {
            return Err(error.into());
        }
        _ => {}
    }
    case.expect(&kept).await
}

async fn large_entries_round_trip(case: &Case) -> CheckResult {
    const LONG: usize = EmbeddingEntry::MAX_ID_BYTES - 1;
    let [long_a, long_b] = ["a", "b"].map(|end| "x".repeat(LONG) + end);
    let value = |end: &str| "Value \"of\" 10 KiB; ".repeat(600) + end;
    let text = "A text of a megabyte, with \u{1f600}. ".repeat(32 * 1024);
    let many: Metadata = (0..500).map(|n| (format!("key {n}"), format!("value {n}"))).collect();
    let entries = [
        entry(&*long_a),
        entry(&*long_b),
        entry_with("long key a", &long_a, 1),
        entry_with("long key b", &long_b, 1),
        entry_with("long value a", "key", value("a")),
        entry_with("long value b", "key", value("b")),
        entry_with_text("long text", &text),
        with_segment(entry("many keys"), TextSegment::new("").with_metadata(many)),
    ];
    case.add(entries.clone()).await?;
    case.expect(&entries).await?;
    let filters = [
        (Filter::key(&*long_a).is(1), "long key a"),
        (Filter::key(&*long_b).exists(), "long key b"),
        (Filter::key("key").is(value("b")), "long value b"),
        (Filter::key("key").less_than(value("b")), "long value a"),
        (Filter::key("key 499").is("value 499"), "many keys"),
    ];
    for (filter, expected) in filters {
        let found = case.ids(Some(&filter)).await?;
        ensure(found == [expected], || format!("{found:?} are found, expected {expected}"))?;
    }
    case.store().remove(&[&long_a]).await?;
    case.expect(entries.get(1..).unwrap_or_default()).await
}

//! Checks of text search, for stores that support it.

use super::case::{
    ALL, Case, CheckResult, Stop, ensure, entry_with, entry_with_text, ids, with_segment,
};
use super::unusual_values::UNUSUAL;
use ai_services_core::ErrorKind;
use ai_services_core::document::{Metadata, TextSegment};
use ai_services_core::embedding::{Filter, Replace, TextSearch};

super::checks![
    text_search_finds_words,
    more_matching_words_rank_higher,
    query_syntax_is_not_interpreted,
    text_search_is_limited_and_filtered,
    text_search_follows_changes,
];

/// Skips the check if the store does not support text search.
async fn supported(case: &Case) -> CheckResult {
    match case.store().search_text(&TextSearch::new("word")).await {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            Err(Stop::Skipped("the store does not support text search"))
        }
        found => {
            let found = found?.len();
            ensure(found == 0, || format!("{found} entries are found in an empty store"))
        }
    }
}

/// Checks the entries that are found for a text, in any order.
async fn finds(case: &Case, text: &str, expected: &[&str]) -> CheckResult {
    let mut found = case.ids_with(text).await?;
    found.sort_unstable();
    ensure(found == expected, || format!("{text:?} finds {found:?}, expected {expected:?}"))
}

async fn text_search_finds_words(case: &Case) -> CheckResult {
    supported(case).await?;
    let texts = [
        ("a", "Quick brown foxes jump over hedges."),
        ("b", "lazy dogs sleep"),
        ("c", "Brown bread, butter"),
        ("d", ""),
        ("e", "brownish"),
        ("f", "Grüße aus Köln"),
        ("g", "42 kilometres"),
    ];
    case.add(texts.map(|(id, text)| entry_with_text(id, text))).await?;
    let searches: [(&str, &[&str]); 12] = [
        ("brown", &["a", "c"]),
        ("BROWN", &["a", "c"]),
        ("butter!", &["c"]),
        ("sleep bread", &["b", "c"]),
        ("zebra sleep", &["b"]),
        ("zebra", &[]),
        ("row", &[]),
        ("köln", &["f"]),
        ("42", &["g"]),
        ("", &[]),
        (" \n\t", &[]),
        ("?!… -- 😀", &[]),
    ];
    for (text, expected) in searches {
        finds(case, text, expected).await?;
    }
    Ok(())
}

async fn more_matching_words_rank_higher(case: &Case) -> CheckResult {
    supported(case).await?;
    let texts = [
        ("1 none", "omega delta sigma"),
        ("2 one", "alpha delta gamma"),
        ("3 all", "alpha kappa lambda"),
        ("4 two", "alpha kappa gamma"),
    ];
    case.add(texts.map(|(id, text)| entry_with_text(id, text))).await?;
    let found = case.ids_with("lambda alpha kappa").await?;
    ensure(found == ["3 all", "4 two", "2 one"], || format!("the order is {found:?}"))?;
    let search = TextSearch::new("kappa alpha lambda").max_results(ALL);
    let scores: Vec<_> =
        case.store().search_text(&search).await?.iter().map(|found| found.score).collect();
    let is_falling = scores.is_sorted_by(|a, b| a >= b);
    ensure(is_falling, || format!("the scores are {scores:?}, expected descending scores"))
}

async fn query_syntax_is_not_interpreted(case: &Case) -> CheckResult {
    supported(case).await?;
    let texts = [("1", "apple banana"), ("2", "apple cherry"), ("3", "banana date"), ("4", "fig")];
    case.add(texts.map(|(id, text)| entry_with_text(id, text))).await?;
    // Each text has the two words, and an operator of some query language.
    let both = [
        "apple AND banana",
        "apple NOT banana",
        "apple OR banana",
        "apple and not banana",
        "\"apple banana\"",
        "\"banana apple\"",
        "apple -banana",
        "+apple +banana",
        "-apple -banana",
        "apple & !banana",
        "apple <-> banana",
        "apple | banana",
        "(apple (banana",
        "apple) banana",
        "apple:* banana:A",
        "^apple banana",
        "apple NEAR/1 banana",
        "{apple banana}: ",
        "'apple' banana",
        "apple\" banana",
        "\"apple banana",
        "apple\\ banana",
        "apple; banana --",
        "apple*banana",
        "apple && banana || zebra",
        "apple~2 banana^4",
        "[apple TO banana]",
        "apple ?banana",
    ];
    for text in both {
        finds(case, text, &["1", "2", "3"]).await?;
    }
    // Parts of words do not match.
    for text in ["app*", "app%", "a*", "*", "%", "app?", "_pple", "ap:*", "[a-z]*", "^ap", ".*"] {
        finds(case, text, &[]).await?;
    }
    for text in UNUSUAL {
        case.ids_with(text).await?;
    }
    finds(case, &"zebra ".repeat(2_000), &[]).await?;
    let long: Vec<_> = (0..2_000).map(|number| format!("w{number}")).collect();
    case.ids_with(&long.join(" ")).await?;
    finds(case, "fig", &["4"]).await
}

async fn text_search_is_limited_and_filtered(case: &Case) -> CheckResult {
    supported(case).await?;
    let entries = (0..30).map(|number| {
        let metadata = Metadata::new().with("n", number);
        let segment = TextSegment::new("the same words").with_metadata(metadata);
        with_segment(entry_with_text(format!("{number:02}"), ""), segment)
    });
    // Added in reverse order: equal scores are ordered by id.
    case.add(entries.rev().collect::<Vec<_>>()).await?;
    let expected: Vec<_> = (0..30).map(|number| format!("{number:02}")).collect();
    for max in [0, 1, 5, 30, ALL] {
        let search = TextSearch::new("words").max_results(max);
        let found = ids(&case.store().search_text(&search).await?);
        let expected = expected.get(..max).unwrap_or(&expected);
        ensure(found == expected, || format!("{found:?} are found with a maximum of {max}"))?;
    }
    let found = case.store().search_text(&TextSearch::new("words")).await?.len();
    ensure(found == 3, || format!("{found} entries are found by default, expected 3"))?;
    let late = Filter::key("n").at_least(20).and(Filter::key("n").is_not(22));
    let search = TextSearch::new("words").max_results(4).filter(&late);
    let found = ids(&case.store().search_text(&search).await?);
    ensure(found == ["20", "21", "23", "24"], || format!("the filter accepts {found:?}"))
}

async fn text_search_follows_changes(case: &Case) -> CheckResult {
    supported(case).await?;
    let [a, b, c] = ["a", "b", "c"].map(|id| {
        with_segment(entry_with(id, "key", id), TextSegment::new(format!("first {id}{id}")))
    });
    case.add([a, b, c]).await?;
    finds(case, "first", &["a", "b", "c"]).await?;
    case.add([entry_with_text("a", "second")]).await?;
    finds(case, "first", &["b", "c"]).await?;
    finds(case, "aa", &[]).await?;
    case.store().remove(&["b"]).await?;
    finds(case, "first", &["c"]).await?;
    let has_key = Filter::key("key").exists();
    let added = vec![entry_with("d", "key", "d"), entry_with_text("e", "second")];
    case.store().replace(Replace::Matching(&!has_key), added).await?;
    finds(case, "second", &["e"]).await?;
    case.store().clear().await?;
    finds(case, "first second text", &[]).await
}

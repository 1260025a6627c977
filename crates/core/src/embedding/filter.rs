//! Metadata filters for searches.

use super::check::{check_key, check_value, wrong};
use crate::document::{Metadata, MetadataValue};
use crate::error::Result;
use std::cmp::Ordering;
use std::ops::Not;

/// A condition on metadata, with the same meaning in every store.
///
/// A comparison is false if the entry does not have the key, or if the values have different types: a
/// text is never equal to a number. Integers and floats are compared by value, exactly, at any size.
/// Texts are ordered by their code points; `false` is less than `true`. The negation of a comparison is
/// true for entries without the key.
///
/// Keys and values are data: quotes, wildcards and paths in them have no special meaning. Stores reject
/// a filter for which [`check`](Self::check) fails.
///
/// # Examples
///
/// ```
/// use ai_services::document::Metadata;
/// use ai_services::embedding::Filter;
///
/// let filter = Filter::key("lang").is("en").and(Filter::key("year").at_least(2020))
///     .and(!Filter::key("state").is_in(["draft", "withdrawn"]));
/// assert!(filter.accepts(&Metadata::new().with("lang", "en").with("year", 2024)));
/// assert!(!filter.accepts(&Metadata::new().with("lang", "en")));
/// ```
///
/// # Differences from LangChain4j
///
/// The negation of a comparison is true for entries without the key, in every store. A comparison of
/// values of different types is false; LangChain4j throws. Integers are not rounded to floats.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// A comparison of the value of a key.
    Compare {
        /// The key.
        key: Box<str>,
        /// The operator.
        comparison: Comparison,
        /// The value to compare with.
        value: MetadataValue,
    },
    /// True if the value of a key is one of these. An empty list is never matched.
    In {
        /// The key.
        key: Box<str>,
        /// The values.
        values: Vec<MetadataValue>,
    },
    /// True if the key exists.
    Exists(Box<str>),
    /// True if all conditions are true. An empty list is true.
    All(Vec<Self>),
    /// True if at least one condition is true. An empty list is false.
    Any(Vec<Self>),
    /// True if the condition is false.
    Not(Box<Self>),
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The values are equal.
    Equal,
    /// The entry's value is smaller.
    Less,
    /// The entry's value is smaller or equal.
    LessOrEqual,
    /// The entry's value is greater.
    Greater,
    /// The entry's value is greater or equal.
    GreaterOrEqual,
}

/// The key of a [`Filter`] that is being built; created by [`Filter::key`].
#[derive(Clone, Debug)]
#[must_use]
pub struct Key(Box<str>);

impl Filter {
    /// Maximum nesting depth of conditions. A single comparison has depth 1.
    pub const MAX_DEPTH: usize = 64;

    /// Maximum number of conditions and values of [`In`](Self::In) in a filter.
    pub const MAX_PARTS: usize = 10_000;

    /// Starts a condition on the value of a key.
    pub fn key(key: impl Into<Box<str>>) -> Key {
        Key(key.into())
    }

    /// Returns a filter that is true if both filters are true.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::All(mut all) => {
                all.push(other);
                Self::All(all)
            }
            first => Self::All(vec![first, other]),
        }
    }

    /// Returns a filter that is true if at least one of both filters is true.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match self {
            Self::Any(mut any) => {
                any.push(other);
                Self::Any(any)
            }
            first => Self::Any(vec![first, other]),
        }
    }

    /// Returns `true` if this metadata matches the filter.
    #[must_use]
    pub fn accepts(&self, metadata: &Metadata) -> bool {
        match self {
            Self::Compare { key, comparison, value } => metadata
                .get(key)
                .and_then(|own| compare(own, value))
                .is_some_and(|order| comparison.accepts(order)),
            Self::In { key, values } => metadata.get(key).is_some_and(|own| {
                values.iter().any(|value| compare(own, value) == Some(Ordering::Equal))
            }),
            Self::Exists(key) => metadata.get(key).is_some(),
            Self::All(all) => all.iter().all(|filter| filter.accepts(metadata)),
            Self::Any(any) => any.iter().any(|filter| filter.accepts(metadata)),
            Self::Not(filter) => !filter.accepts(metadata),
        }
    }

    /// Checks a filter against the rules of every store. Stores call this method before they search.
    /// Filters that are built from untrusted input can be checked earlier.
    ///
    /// # Errors
    ///
    /// [`InvalidRequest`](crate::ErrorKind::InvalidRequest) if the filter is deeper than
    /// [`MAX_DEPTH`](Self::MAX_DEPTH) or has more than [`MAX_PARTS`](Self::MAX_PARTS) conditions and values,
    /// or if it contains a float that is not finite, an empty key, or a key longer than
    /// [`MAX_KEY_BYTES`](super::EmbeddingEntry::MAX_KEY_BYTES).
    pub fn check(&self) -> Result<()> {
        self.check_part(1, &mut 0)
    }

    fn check_part(&self, depth: usize, parts: &mut usize) -> Result<()> {
        if depth > Self::MAX_DEPTH {
            let max = Self::MAX_DEPTH;
            return Err(wrong(format!(
                "a filter is at most {max} conditions deep; flatten the filter"
            )));
        }
        *parts += match self {
            Self::In { values, .. } => values.len().max(1),
            _ => 1,
        };
        if *parts > Self::MAX_PARTS {
            let max = Self::MAX_PARTS;
            return Err(wrong(format!(
                "a filter has at most {max} conditions and values; split the search"
            )));
        }
        match self {
            Self::Compare { key, value, .. } => check_key(key).and(check_value(key, value)),
            Self::In { key, values } => {
                check_key(key)?;
                values.iter().try_for_each(|value| check_value(key, value))
            }
            Self::Exists(key) => check_key(key),
            Self::All(filters) | Self::Any(filters) => {
                filters.iter().try_for_each(|filter| filter.check_part(depth + 1, parts))
            }
            Self::Not(filter) => filter.check_part(depth + 1, parts),
        }
    }
}

impl Not for Filter {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::Not(filter) => *filter,
            filter => Self::Not(Box::new(filter)),
        }
    }
}

impl Comparison {
    fn accepts(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

impl Key {
    /// Returns a filter that is true if the values are equal.
    #[must_use]
    pub fn is(self, value: impl Into<MetadataValue>) -> Filter {
        self.compare(Comparison::Equal, value)
    }

    /// Returns a filter that is true if the value differs or is missing.
    #[must_use]
    pub fn is_not(self, value: impl Into<MetadataValue>) -> Filter {
        !self.is(value)
    }

    /// Returns a filter that is true if the entry's value is less than this one.
    #[must_use]
    pub fn less_than(self, value: impl Into<MetadataValue>) -> Filter {
        self.compare(Comparison::Less, value)
    }

    /// Returns a filter that is true if the entry's value is less than or equal to this one.
    #[must_use]
    pub fn at_most(self, value: impl Into<MetadataValue>) -> Filter {
        self.compare(Comparison::LessOrEqual, value)
    }

    /// Returns a filter that is true if the entry's value is greater than this one.
    #[must_use]
    pub fn greater_than(self, value: impl Into<MetadataValue>) -> Filter {
        self.compare(Comparison::Greater, value)
    }

    /// Returns a filter that is true if the entry's value is greater than or equal to this one.
    #[must_use]
    pub fn at_least(self, value: impl Into<MetadataValue>) -> Filter {
        self.compare(Comparison::GreaterOrEqual, value)
    }

    /// Returns a filter that is true if the entry's value is one of these.
    #[must_use]
    pub fn is_in<V: Into<MetadataValue>>(self, values: impl IntoIterator<Item = V>) -> Filter {
        Filter::In { key: self.0, values: values.into_iter().map(Into::into).collect() }
    }

    /// Returns a filter that is true if the entry has the key.
    #[must_use]
    pub fn exists(self) -> Filter {
        Filter::Exists(self.0)
    }

    fn compare(self, comparison: Comparison, value: impl Into<MetadataValue>) -> Filter {
        Filter::Compare { key: self.0, comparison, value: value.into() }
    }
}

/// Returns the order of two values, or `None` if they cannot be compared.
#[doc(hidden)]
pub fn compare(own: &MetadataValue, other: &MetadataValue) -> Option<Ordering> {
    match (own, other) {
        (MetadataValue::Text(own), MetadataValue::Text(other)) => Some(own.cmp(other)),
        (MetadataValue::Integer(own), MetadataValue::Integer(other)) => Some(own.cmp(other)),
        (MetadataValue::Boolean(own), MetadataValue::Boolean(other)) => Some(own.cmp(other)),
        (MetadataValue::Float(own), MetadataValue::Float(other)) => own.partial_cmp(other),
        (MetadataValue::Integer(own), MetadataValue::Float(other)) => {
            compare_with_float(*own, *other)
        }
        (MetadataValue::Float(own), MetadataValue::Integer(other)) => {
            compare_with_float(*other, *own).map(Ordering::reverse)
        }
        _ => None,
    }
}

/// Compares an integer and a float exactly. Integers above 2^53 cannot be converted to floats without
/// rounding.
fn compare_with_float(integer: i64, float: f64) -> Option<Ordering> {
    /// 2^63, the first float above all integers.
    const END: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() {
        return None;
    }
    if float >= END {
        return Some(Ordering::Less);
    }
    if float < -END {
        return Some(Ordering::Greater);
    }
    // This cast is exact: the whole part is in the range of `i64`.
    let whole = integer.cmp(&(float.trunc() as i64));
    Some(whole.then_with(|| 0.0_f64.total_cmp(&(float.fract() + 0.0))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Returns twice a number as an integer. Exact for multiples of one half.
    fn twice(value: &MetadataValue) -> Option<i128> {
        match value {
            MetadataValue::Integer(number) => Some(2 * i128::from(*number)),
            MetadataValue::Float(number) => Some((number * 2.0) as i128),
            _ => None,
        }
    }

    /// Returns the float at an integer, or one near it: 0.5 per step, or the adjacent float.
    fn near(integer: i64, step: i32) -> f64 {
        let float = integer as f64;
        match step {
            _ if integer.unsigned_abs() < 1 << 51 => float + 0.5 * f64::from(step),
            ..0 => float.next_down(),
            0 => float,
            1.. => float.next_up(),
        }
    }

    fn number() -> impl Strategy<Value = MetadataValue> {
        let integer = prop_oneof![any::<i64>(), -3..3_i64, Just(i64::MAX), Just(i64::MIN)];
        prop_oneof![
            integer.clone().prop_map(MetadataValue::Integer),
            (integer, -2..3_i32).prop_map(|(integer, step)| near(integer, step).into()),
        ]
    }

    fn value() -> impl Strategy<Value = MetadataValue> {
        prop_oneof![
            number(),
            "[ab1]{0,2}".prop_map(MetadataValue::from),
            any::<bool>().prop_map(MetadataValue::from),
        ]
    }

    fn metadata() -> impl Strategy<Value = Metadata> {
        vec(("[abc]", value()), 0..4).prop_map(|entries| entries.into_iter().collect())
    }

    fn filter() -> impl Strategy<Value = Filter> {
        let comparison = prop_oneof![
            Just(Comparison::Equal),
            Just(Comparison::Less),
            Just(Comparison::LessOrEqual),
            Just(Comparison::Greater),
            Just(Comparison::GreaterOrEqual),
        ];
        let leaf = prop_oneof![
            ("[abc]", comparison, value())
                .prop_map(|(key, comparison, value)| Filter::key(key).compare(comparison, value)),
            ("[abc]", vec(value(), 0..4)).prop_map(|(key, values)| Filter::key(key).is_in(values)),
            "[abc]".prop_map(|key| Filter::key(key).exists()),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Filter::All),
                vec(inner.clone(), 0..4).prop_map(Filter::Any),
                inner.prop_map(|filter| Filter::Not(Box::new(filter))),
            ]
        })
    }

    proptest! {
        #[test]
        fn numbers_are_compared_by_value(own in number(), other in number()) {
            let expected = twice(&own).unwrap().cmp(&twice(&other).unwrap());
            prop_assert_eq!(compare(&own, &other), Some(expected), "{:?} {:?}", own, other);
        }

        #[test]
        fn exactly_one_comparison_is_true_within_a_type(own in value(), other in value()) {
            let metadata = Metadata::new().with("key", own.clone());
            let key = || Filter::key("key");
            let matches = [key().less_than(other.clone()), key().is(other.clone()), key().greater_than(other.clone())]
                .iter()
                .filter(|filter| filter.accepts(&metadata))
                .count();
            let is_comparable = twice(&own).is_some() == twice(&other).is_some()
                && own.as_text().is_some() == other.as_text().is_some();
            prop_assert_eq!(matches, usize::from(is_comparable));
            let at_most = key().at_most(other.clone()).accepts(&metadata);
            let at_least = key().at_least(other.clone()).accepts(&metadata);
            prop_assert_eq!(at_most, key().less_than(other.clone()).or(key().is(other.clone())).accepts(&metadata));
            prop_assert_eq!(at_least, key().greater_than(other.clone()).or(key().is(other)).accepts(&metadata));
        }

        #[test]
        fn filters_obey_the_laws_of_logic(filters in vec(filter(), 0..4), metadata in metadata()) {
            let denied: Vec<_> = filters.iter().map(|filter| Filter::Not(Box::new(filter.clone()))).collect();
            let (all, any) = (Filter::All(filters.clone()), Filter::Any(filters.clone()));
            prop_assert_eq!(all.accepts(&metadata), !Filter::Any(denied.clone()).accepts(&metadata));
            prop_assert_eq!(any.accepts(&metadata), !Filter::All(denied).accepts(&metadata));
            prop_assert_ne!(all.accepts(&metadata), (!all.clone()).accepts(&metadata));
            let chained = filters.into_iter().fold(Filter::All(Vec::new()), Filter::and);
            prop_assert_eq!(chained.accepts(&metadata), all.accepts(&metadata));
            prop_assert!(chained.check().is_ok());
        }

        #[test]
        fn is_in_equals_any_of_the_comparisons(values in vec(value(), 0..5), metadata in metadata()) {
            let each = values.iter().map(|value| Filter::key("a").is(value.clone())).collect();
            let one_of = Filter::key("a").is_in(values);
            prop_assert_eq!(one_of.accepts(&metadata), Filter::Any(each).accepts(&metadata));
        }
    }

    #[test]
    fn nan_is_not_comparable() {
        for other in [MetadataValue::Integer(0), MetadataValue::Float(f64::NAN)] {
            assert_eq!(compare(&MetadataValue::Float(f64::NAN), &other), None);
        }
        let infinite = MetadataValue::Float(f64::INFINITY);
        assert_eq!(compare(&infinite, &i64::MAX.into()), Some(Ordering::Greater));
    }

    fn nested(depth: usize) -> Filter {
        (1..depth).fold(Filter::key("a").exists(), |inner, _| Filter::All(vec![inner]))
    }

    #[test]
    fn filters_are_limited() {
        let rejection = |filter: Filter| {
            let error = filter.check().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRequest);
            error.to_string()
        };
        assert!(nested(Filter::MAX_DEPTH).check().is_ok());
        assert!(rejection(nested(Filter::MAX_DEPTH + 1)).contains("64 conditions deep"));
        assert!(Filter::key("a").is_in(vec![1; Filter::MAX_PARTS]).check().is_ok());
        assert!(
            rejection(Filter::key("a").is_in(vec![1; Filter::MAX_PARTS + 1])).contains("10000")
        );
        let wide = Filter::Any(vec![Filter::key("a").exists(); Filter::MAX_PARTS]);
        assert!(rejection(wide).contains("split the search"));
        assert!(rejection(Filter::key("").exists()).contains("empty"));
        assert!(rejection(!Filter::key("k".repeat(1025)).is(1)).contains("1024 bytes"));
        assert!(rejection(Filter::key("a").is_in([1.0, f64::NAN])).contains("not finite"));
        assert!(rejection(Filter::key("a").less_than(f64::INFINITY)).contains("not finite"));
    }
}

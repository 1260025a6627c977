//! Which entries a search considers, by their metadata.

use crate::document::{Metadata, MetadataValue};
use std::cmp::Ordering;
use std::ops::Not;

/// A condition on metadata. Every store gives it the same meaning.
///
/// A comparison with a key that an entry does not have is false, and so is one of values of different
/// kinds: a text is never equal to a number. Integers and floats are compared by value. Texts are
/// ordered by their code points, `false` comes before `true`. "Not" means just that: the negation of a
/// comparison is true for entries without the key.
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
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Filter {
    /// A comparison of the value of a key.
    Compare {
        /// The key.
        key: Box<str>,
        /// How.
        comparison: Comparison,
        /// With what.
        value: MetadataValue,
    },
    /// Whether the value of a key is one of these. Of none it never is.
    In {
        /// The key.
        key: Box<str>,
        /// The values.
        values: Vec<MetadataValue>,
    },
    /// Whether there is such a key.
    Exists(Box<str>),
    /// All of these. Without any it is true.
    All(Vec<Self>),
    /// At least one of these. Without any it is false.
    Any(Vec<Self>),
    /// The opposite.
    Not(Box<Self>),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Comparison {
    /// They are equal.
    Equal,
    /// The entry's value is smaller.
    Less,
    /// The entry's value is smaller, or they are equal.
    LessOrEqual,
    /// The entry's value is greater.
    Greater,
    /// The entry's value is greater, or they are equal.
    GreaterOrEqual,
}

/// A key that a [`Filter`] is made of.
#[derive(Clone, Debug)]
#[must_use]
pub struct Key(Box<str>);

impl Filter {
    /// Begins a condition on the value of a key.
    pub fn key(key: impl Into<Box<str>>) -> Key {
        Key(key.into())
    }

    /// This and another one.
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

    /// This or another one.
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

    /// Whether it is true of this metadata.
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
    /// Whether the value is this one.
    #[must_use]
    pub fn is(self, value: impl Into<MetadataValue>) -> Filter {
        self.compare(Comparison::Equal, value)
    }

    /// Whether the value is another one, or missing.
    #[must_use]
    pub fn is_not(self, value: impl Into<MetadataValue>) -> Filter {
        !self.is(value)
    }

    /// Whether the value is less than this one.
    #[must_use]
    pub fn less_than(self, value: impl Into<MetadataValue>) -> Filter {
        self.compare(Comparison::Less, value)
    }

    /// Whether the value is this one or less.
    #[must_use]
    pub fn at_most(self, value: impl Into<MetadataValue>) -> Filter {
        self.compare(Comparison::LessOrEqual, value)
    }

    /// Whether the value is greater than this one.
    #[must_use]
    pub fn greater_than(self, value: impl Into<MetadataValue>) -> Filter {
        self.compare(Comparison::Greater, value)
    }

    /// Whether the value is this one or greater.
    #[must_use]
    pub fn at_least(self, value: impl Into<MetadataValue>) -> Filter {
        self.compare(Comparison::GreaterOrEqual, value)
    }

    /// Whether the value is one of these.
    #[must_use]
    pub fn is_in<V: Into<MetadataValue>>(self, values: impl IntoIterator<Item = V>) -> Filter {
        Filter::In { key: self.0, values: values.into_iter().map(Into::into).collect() }
    }

    /// Whether there is a value.
    #[must_use]
    pub fn exists(self) -> Filter {
        Filter::Exists(self.0)
    }

    fn compare(self, comparison: Comparison, value: impl Into<MetadataValue>) -> Filter {
        Filter::Compare { key: self.0, comparison, value: value.into() }
    }
}

/// The order of two values, if they have one.
fn compare(own: &MetadataValue, other: &MetadataValue) -> Option<Ordering> {
    match (own, other) {
        (MetadataValue::Text(own), MetadataValue::Text(other)) => Some(own.cmp(other)),
        (MetadataValue::Integer(own), MetadataValue::Integer(other)) => Some(own.cmp(other)),
        (MetadataValue::Boolean(own), MetadataValue::Boolean(other)) => Some(own.cmp(other)),
        (own, other) => own.as_float()?.partial_cmp(&other.as_float()?),
    }
}

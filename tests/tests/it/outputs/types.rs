//! Return types of service methods.

use proptest::collection::{btree_map, btree_set, hash_map, hash_set, vec};
use proptest::option;
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

macro_rules! data {
    ($($item:item)*) => {$(
        #[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
        $item
    )*};
}

data! {
    pub(super) enum Plain { Red, Green, #[serde(rename = "dark blue")] Blue }

    pub(super) enum Described {
        /// Warm.
        Red,
        /// Cold,
        /// or blue.
        Blue,
        Other,
    }

    pub(super) enum External {
        Unit,
        New(u8),
        Tuple(u8, String),
        /// With members.
        Struct { name: String, on: bool },
        Boxed(Box<Self>),
    }

    #[serde(tag = "kind", rename_all = "snake_case")]
    pub(super) enum Internal {
        UnitLike,
        Struct { name: String, size: Option<u16> },
        New(Person),
    }

    #[serde(tag = "t", content = "c")]
    pub(super) enum Adjacent { Unit, New(String), Tuple(i8, bool), Struct { a: Vec<u8> } }

    #[serde(untagged)]
    pub(super) enum Untagged { Number(i64), Flag(bool), Person(Person), Words(Vec<String>), Text(String) }

    /// A person.
    #[serde(rename_all = "camelCase")]
    pub(super) struct Person {
        pub(super) first_name: String,
        /// In years.
        pub(super) age: u8,
        #[serde(rename = "e-mail", skip_serializing_if = "Option::is_none")]
        pub(super) mail: Option<String>,
    }

    pub(super) struct Defaults {
        #[serde(default = "seven")]
        count: u32,
        #[serde(default)]
        tags: Vec<String>,
        #[serde(skip)]
        hidden: u8,
        colour: Option<Plain>,
    }

    #[serde(deny_unknown_fields)]
    pub(super) struct Closed { a: Option<Option<i32>>, b: (i8, char), c: [u16; 3] }

    pub(super) struct Tree { label: String, children: Vec<Self> }

    pub(super) struct Chain { item: u8, next: Option<Box<Self>> }

    pub(super) struct Page<T> { items: Vec<T>, next: Option<u64> }

    pub(super) struct Flat { id: u32, #[serde(flatten)] person: Person }

    pub(super) struct FlatTagged { id: u32, #[serde(flatten)] rest: Internal }

    pub(super) struct FlatMap { id: u32, #[serde(flatten)] rest: BTreeMap<String, bool> }

    #[serde(transparent)]
    pub(super) struct Meters(f64);

    pub(super) struct Pair(String, u8);

    pub(super) struct Deep { one: Vec<Two> }

    pub(super) struct Two { two: BTreeMap<String, Three>, kind: Plain }

    pub(super) struct Three { three: Option<Vec<Person>>, at: (f64, f64) }

    pub(super) struct Times {
        day: jiff::civil::Date,
        time: jiff::civil::Time,
        both: jiff::civil::DateTime,
        at: jiff::Timestamp,
        id: uuid::Uuid,
        chrono_day: chrono::NaiveDate,
        chrono_both: chrono::NaiveDateTime,
    }
}

fn seven() -> u32 {
    7
}

/// Generates texts with all characters that JSON has to escape.
pub(super) fn text() -> BoxedStrategy<String> {
    prop_oneof![".{0,8}", r#"[\\"\[\]{}`,: \n\tä😀]{0,8}"#, "[a-z]{1,6}"].boxed()
}

/// Generates numbers that all decimal parsers read identically.
pub(super) fn float() -> BoxedStrategy<f64> {
    any::<i32>().prop_map(|number| f64::from(number) / 64.0).boxed()
}

pub(super) fn small_float() -> BoxedStrategy<f32> {
    use proptest::num::f32::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    (POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO).boxed()
}

pub(super) fn plain() -> BoxedStrategy<Plain> {
    prop_oneof![Just(Plain::Red), Just(Plain::Green), Just(Plain::Blue)].boxed()
}

pub(super) fn described() -> BoxedStrategy<Described> {
    prop_oneof![Just(Described::Red), Just(Described::Blue), Just(Described::Other)].boxed()
}

pub(super) fn external() -> BoxedStrategy<External> {
    let leaf = prop_oneof![
        Just(External::Unit),
        any::<u8>().prop_map(External::New),
        (any::<u8>(), text()).prop_map(|(a, b)| External::Tuple(a, b)),
        (text(), any::<bool>()).prop_map(|(name, on)| External::Struct { name, on }),
    ];
    leaf.prop_recursive(3, 4, 1, |inner| inner.prop_map(|inner| External::Boxed(Box::new(inner))))
        .boxed()
}

pub(super) fn person() -> BoxedStrategy<Person> {
    (text(), any::<u8>(), option::of(text()))
        .prop_map(|(first_name, age, mail)| Person { first_name, age, mail })
        .boxed()
}

pub(super) fn internal() -> BoxedStrategy<Internal> {
    prop_oneof![
        Just(Internal::UnitLike),
        (text(), option::of(any::<u16>())).prop_map(|(name, size)| Internal::Struct { name, size }),
        person().prop_map(Internal::New),
    ]
    .boxed()
}

pub(super) fn adjacent() -> BoxedStrategy<Adjacent> {
    prop_oneof![
        Just(Adjacent::Unit),
        text().prop_map(Adjacent::New),
        any::<(i8, bool)>().prop_map(|(a, b)| Adjacent::Tuple(a, b)),
        vec(any::<u8>(), 0..4).prop_map(|a| Adjacent::Struct { a }),
    ]
    .boxed()
}

pub(super) fn untagged() -> BoxedStrategy<Untagged> {
    prop_oneof![
        any::<i64>().prop_map(Untagged::Number),
        any::<bool>().prop_map(Untagged::Flag),
        person().prop_map(Untagged::Person),
        vec(text(), 0..3).prop_map(Untagged::Words),
        text().prop_map(Untagged::Text),
    ]
    .boxed()
}

pub(super) fn defaults() -> BoxedStrategy<Defaults> {
    (any::<u32>(), vec(text(), 0..3), option::of(plain()))
        .prop_map(|(count, tags, colour)| Defaults { count, tags, hidden: 0, colour })
        .boxed()
}

pub(super) fn closed() -> BoxedStrategy<Closed> {
    // The inner and the outer `None` are both written as null.
    (option::of(any::<i32>().prop_map(Some)), any::<(i8, char)>(), any::<[u16; 3]>())
        .prop_map(|(a, b, c)| Closed { a, b, c })
        .boxed()
}

pub(super) fn tree() -> BoxedStrategy<Tree> {
    text()
        .prop_map(|label| Tree { label, children: Vec::new() })
        .prop_recursive(4, 12, 3, |inner| {
            (text(), vec(inner, 0..3)).prop_map(|(label, children)| Tree { label, children })
        })
        .boxed()
}

pub(super) fn chain() -> BoxedStrategy<Chain> {
    vec(any::<u8>(), 1..6)
        .prop_map(|items| {
            let mut items = items.into_iter();
            let last = Chain { item: items.next().unwrap(), next: None };
            items.fold(last, |next, item| Chain { item, next: Some(Box::new(next)) })
        })
        .boxed()
}

pub(super) fn page<T: std::fmt::Debug>(item: BoxedStrategy<T>) -> impl Strategy<Value = Page<T>> {
    (vec(item, 0..4), option::of(any::<u64>())).prop_map(|(items, next)| Page { items, next })
}

pub(super) fn flat() -> impl Strategy<Value = Flat> {
    (any::<u32>(), person()).prop_map(|(id, person)| Flat { id, person })
}

pub(super) fn flat_tagged() -> impl Strategy<Value = FlatTagged> {
    (any::<u32>(), internal()).prop_map(|(id, rest)| FlatTagged { id, rest })
}

pub(super) fn flat_map() -> impl Strategy<Value = FlatMap> {
    (any::<u32>(), btree_map("[a-h]{3}", any::<bool>(), 0..4))
        .prop_map(|(id, rest)| FlatMap { id, rest })
}

pub(super) fn meters() -> impl Strategy<Value = Meters> {
    float().prop_map(Meters)
}

pub(super) fn pair() -> impl Strategy<Value = Pair> {
    (text(), any::<u8>()).prop_map(|(a, b)| Pair(a, b))
}

pub(super) fn deep() -> impl Strategy<Value = Deep> {
    let three = (option::of(vec(person(), 0..3)), float(), float())
        .prop_map(|(three, x, y)| Three { three, at: (x, y) });
    let two = (btree_map(text(), three, 0..3), plain()).prop_map(|(two, kind)| Two { two, kind });
    vec(two, 0..3).prop_map(|one| Deep { one })
}

pub(super) fn times() -> impl Strategy<Value = Times> {
    (-100_000_000_000..200_000_000_000i64, 0..1_000_000_000i32, any::<u128>()).prop_map(
        |(second, nanosecond, id)| {
            let at = jiff::Timestamp::new(second.clamp(0, i64::MAX), nanosecond).unwrap();
            let both = at.to_zoned(jiff::tz::TimeZone::UTC).datetime();
            let chrono_at = chrono::DateTime::from_timestamp(second, nanosecond as u32).unwrap();
            Times {
                day: both.date(),
                time: both.time(),
                both,
                at,
                id: uuid::Uuid::from_u128(id),
                chrono_day: chrono_at.date_naive(),
                chrono_both: chrono_at.naive_utc(),
            }
        },
    )
}

/// Generates maps.
pub(super) fn numbers_by_text() -> impl Strategy<Value = HashMap<String, i64>> {
    hash_map(text(), any::<i64>(), 0..5)
}

pub(super) fn texts_by_number() -> impl Strategy<Value = BTreeMap<u32, String>> {
    btree_map(any::<u32>(), text(), 0..5)
}

pub(super) fn texts_by_signed() -> impl Strategy<Value = BTreeMap<i64, String>> {
    btree_map(any::<i64>(), text(), 0..5)
}

pub(super) fn texts() -> impl Strategy<Value = std::collections::HashSet<String>> {
    hash_set(text(), 0..5)
}

pub(super) fn sorted() -> impl Strategy<Value = std::collections::BTreeSet<i16>> {
    btree_set(any::<i16>(), 0..5)
}

/// Calls `$check::<T>(name, values)` for every type.
macro_rules! every_type {
    ($check:ident) => {{
        use super::types::*;
        use proptest::collection::{btree_map, vec};
        use proptest::prelude::*;
        use std::collections::BTreeMap;
        every_type!(@ $check
            bool => any::<bool>(), i8 => any::<i8>(), i16 => any::<i16>(), i32 => any::<i32>(),
            i64 => any::<i64>(), i128 => any::<i64>().prop_map(i128::from), isize => any::<isize>(),
            u8 => any::<u8>(), u16 => any::<u16>(), u32 => any::<u32>(), u64 => any::<u64>(),
            u128 => any::<u64>().prop_map(u128::from), usize => any::<usize>(),
            std::num::NonZeroU8 => (1..=u8::MAX).prop_map(|n| n.try_into().unwrap()),
            f32 => small_float(), f64 => float(), char => any::<char>(),
            Option<u8> => any::<Option<u8>>(),
            Option<String> => proptest::option::of(text()),
            Option<Vec<Option<bool>>> => proptest::option::of(vec(any::<Option<bool>>(), 0..6)),
            Vec<String> => vec(text(), 0..5),
            Vec<Plain> => vec(plain(), 0..5),
            Vec<Person> => vec(person(), 0..4),
            Vec<Vec<i8>> => vec(vec(any::<i8>(), 0..4), 0..4),
            (u8, String, Option<bool>) => (any::<u8>(), text(), any::<Option<bool>>()),
            [Option<u8>; 4] => any::<[Option<u8>; 4]>(),
            Plain => plain(), Described => described(), External => external(),
            Internal => internal(), Adjacent => adjacent(), Untagged => untagged(),
            Person => person(), Option<Person> => proptest::option::of(person()),
            Closed => closed(), Tree => tree(), Chain => chain(),
            Page<u8> => page(any::<u8>().boxed()), Page<Person> => page(person()),
            Page<Internal> => page(internal()), Page<External> => page(external()),
            Flat => flat(), FlatTagged => flat_tagged(), FlatMap => flat_map(),
            Meters => meters(), Pair => pair(), Deep => deep(), Times => times(),
            std::collections::HashMap<String, i64> => numbers_by_text(),
            BTreeMap<u32, String> => texts_by_number(),
            BTreeMap<i64, String> => texts_by_signed(),
            BTreeMap<String, Vec<External>> => btree_map(text(), vec(external(), 0..3), 0..3),
        );
    }};
    (@ $check:ident $($type:ty => $values:expr,)*) => {
        $($check::<$type>(stringify!($type), $values);)*
    };
}

pub(super) use every_type;

//! JSON objects that are read in place.
//!
//! A derived `Deserialize` returns the object, so each level of nesting moves all levels below. In
//! the events of a stream, which are wide and deeply nested, moving takes as long as parsing. An
//! [`Object`] is filled member by member where it is stored.

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use std::fmt;

/// A value that is read in place. Before reading, it is the default value.
pub(crate) trait InPlace<'de> {
    /// Reads the value. After an error, a part of it may have been read.
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error>;
}

/// A JSON object that is read in place. Defined with [`object!`](object).
pub(crate) trait Object<'de> {
    /// Reads the members.
    fn read_members<A: MapAccess<'de>>(&mut self, map: A) -> Result<(), A::Error>;
}

/// Reads a document into `value`.
pub(crate) fn read_str<'de>(
    json: &'de str,
    value: &mut impl InPlace<'de>,
) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    value.read(&mut deserializer)?;
    deserializer.end()
}

/// Reads a document into `value`.
pub(crate) fn read_slice<'de>(
    json: &'de [u8],
    value: &mut impl InPlace<'de>,
) -> Result<(), serde_json::Error> {
    // Checking the whole text once is faster than checking each string.
    if let Ok(text) = std::str::from_utf8(json) {
        return read_str(text, value);
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    value.read(&mut deserializer)?;
    deserializer.end()
}

/// Defines objects by their members: `field: Type = "name"`. Each type is [`InPlace`] and has a
/// default, the value of members that are absent. Unknown members are ignored.
macro_rules! object {
    () => {};
    (
        $(#[$meta:meta])*
        $vis:vis struct $Name:ident<$de:lifetime> {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $Type:ty = $name:literal,)*
        }
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[derive(Default)]
        $vis struct $Name<$de> {
            $($(#[$field_meta])* $field_vis $field: $Type,)*
        }

        impl<$de> $crate::protocol::in_place::Object<$de> for $Name<$de> {
            $crate::protocol::in_place::read_members!($de, $($field = $name,)*);
        }

        $crate::protocol::in_place::object!($($rest)*);
    };
    (
        $(#[$meta:meta])*
        $vis:vis struct $Name:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $Type:ty = $name:literal,)*
        }
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[derive(Default)]
        $vis struct $Name {
            $($(#[$field_meta])* $field_vis $field: $Type,)*
        }

        impl<'de> $crate::protocol::in_place::Object<'de> for $Name {
            $crate::protocol::in_place::read_members!('de, $($field = $name,)*);
        }

        $crate::protocol::in_place::object!($($rest)*);
    };
}

/// The method of an [`Object`] with these members.
macro_rules! read_members {
    ($de:lifetime, $($field:ident = $name:literal,)*) => {
        fn read_members<A: serde::de::MapAccess<$de>>(
            &mut self,
            mut map: A,
        ) -> Result<(), A::Error> {
            use $crate::protocol::in_place::{Place, check_unique, member};

            #[allow(non_camel_case_types, reason = "the names of the fields")]
            enum Member {
                $($field,)*
                Other,
            }

            let find = |name: &str| match name {
                $($name => Member::$field,)*
                _ => Member::Other,
            };
            let mut seen = 0;
            while let Some(found) = member(&mut map, find)? {
                match found {
                    $(Member::$field => {
                        check_unique::<A::Error>(&mut seen, Member::$field as u32, $name)?;
                        map.next_value_seed(Place(&mut self.$field))?;
                    })*
                    Member::Other => drop(map.next_value::<serde::de::IgnoredAny>()?),
                }
            }
            Ok(())
        }
    };
}

pub(crate) use {object, read_members};

/// Returns the next member of an object, as `find` translates its name.
pub(crate) fn member<'de, A: MapAccess<'de>, M>(
    map: &mut A,
    find: impl FnOnce(&str) -> M,
) -> Result<Option<M>, A::Error> {
    map.next_key_seed(Name(find))
}

/// Fails if the member with this number was read before. `seen` has a bit for each member.
#[inline]
pub(crate) fn check_unique<E: serde::de::Error>(
    seen: &mut u32,
    number: u32,
    name: &'static str,
) -> Result<(), E> {
    let bit = 1 << number;
    if *seen & bit != 0 {
        return Err(E::duplicate_field(name));
    }
    *seen |= bit;
    Ok(())
}

/// The name of a member, translated by a function.
struct Name<F>(F);

impl<'de, M, F: FnOnce(&str) -> M> DeserializeSeed<'de> for Name<F> {
    type Value = M;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<M, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<M, F: FnOnce(&str) -> M> Visitor<'_> for Name<F> {
    type Value = M;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<M, E> {
        Ok((self.0)(name))
    }
}

/// A place that a value is read into.
pub(crate) struct Place<'p, T>(pub(crate) &'p mut T);

impl<'de, T: InPlace<'de>> DeserializeSeed<'de> for Place<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.read(deserializer)
    }
}

/// A place for a value that is present if it is read.
pub(crate) struct PlaceOfSome<'p, T>(pub(crate) &'p mut Option<T>);

impl<'de, T: InPlace<'de> + Default> DeserializeSeed<'de> for PlaceOfSome<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.insert(T::default()).read(deserializer)
    }
}

impl<'de, T: Object<'de>> InPlace<'de> for T {
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(Members(self))
    }
}

impl<'de, T: Object<'de>> Object<'de> for Box<T> {
    fn read_members<A: MapAccess<'de>>(&mut self, map: A) -> Result<(), A::Error> {
        (**self).read_members(map)
    }
}

struct Members<'p, T>(&'p mut T);

impl<'de, T: Object<'de>> Visitor<'de> for Members<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.0.read_members(map)
    }
}

impl<'de, T: Object<'de> + Default> InPlace<'de> for Option<T> {
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_option(OptionVisitor(self))
    }
}

struct OptionVisitor<'p, T>(&'p mut Option<T>);

impl<'de, T: Object<'de> + Default> Visitor<'de> for OptionVisitor<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        PlaceOfSome(self.0).deserialize(deserializer)
    }
}

/// Implements [`InPlace`] for values that are small enough to be moved.
macro_rules! read_by_value {
    ($($Type:ty),*) => {$(
        impl<'de> InPlace<'de> for $Type {
            fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
                *self = Deserialize::deserialize(deserializer)?;
                Ok(())
            }
        }
    )*};
}

read_by_value!(Option<bool>, Option<&'de RawValue>, Option<Vec<&'de RawValue>>);

/// The first element of a list that may be `null`. Other elements are answers that were not
/// requested.
#[derive(Debug)]
pub(crate) struct First<T>(pub(crate) Option<T>);

impl<T> Default for First<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: InPlace<'de> + Default> InPlace<'de> for First<T> {
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(FirstVisitor(&mut self.0))
    }
}

struct FirstVisitor<'p, T>(&'p mut Option<T>);

impl<'de, T: InPlace<'de> + Default> Visitor<'de> for FirstVisitor<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        list.next_element_seed(PlaceOfSome(self.0))?;
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// A list that may be `null`. In streams it usually has one element, which needs no allocation.
#[derive(Debug)]
pub(crate) struct List<T> {
    first: Option<T>,
    rest: Vec<T>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { first: None, rest: Vec::new() }
    }
}

impl<T> List<T> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.rest)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.first.iter_mut().chain(&mut self.rest)
    }
}

impl<'de, T: InPlace<'de> + Default> InPlace<'de> for List<T> {
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(ListVisitor(self))
    }
}

struct ListVisitor<'p, T>(&'p mut List<T>);

impl<'de, T: InPlace<'de> + Default> Visitor<'de> for ListVisitor<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let List { first, rest } = self.0;
        if elements.next_element_seed(PlaceOfSome(first))?.is_none() {
            return Ok(());
        }
        let mut next = None;
        while elements.next_element_seed(PlaceOfSome(&mut next))?.is_some() {
            rest.extend(next.take());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    object! {
        #[derive(Debug)]
        struct Outer<'a> {
            raw: Option<&'a RawValue> = "raw",
            inner: Option<Inner> = "in ner",
            boxed: Option<Box<Inner>> = "boxed",
            list: First<Inner> = "list",
        }

        #[derive(Debug, PartialEq)]
        struct Inner {
            flag: Option<bool> = "flag",
        }
    }

    fn read(json: &str) -> Result<Outer<'_>, String> {
        let (mut outer, mut of_slice) = (Outer::default(), Outer::default());
        let result = read_str(json, &mut outer).map_err(|error| error.to_string());
        let result_of_slice = read_slice(json.as_bytes(), &mut of_slice);
        assert_eq!(result_of_slice.map_err(|error| error.to_string()), result);
        result.map(|()| outer)
    }

    fn flag(flag: bool) -> Inner {
        Inner { flag: Some(flag) }
    }

    #[test]
    fn members_are_read_by_name() {
        let json = r#"{"x":[{"flag":1}],"in\u0020ner":{"flag":true},"raw": [1] ,"boxed":{"flag":false},
            "list":[{"flag":true},7]}"#;
        let outer = read(json).unwrap();
        assert_eq!(outer.raw.map(RawValue::get), Some("[1]"));
        assert_eq!(outer.inner, Some(flag(true)));
        assert_eq!(outer.boxed.as_deref(), Some(&flag(false)));
        assert_eq!(outer.list.0, Some(flag(true)));
    }

    #[test]
    fn absent_members_and_null_are_the_default() {
        for json in ["{}", r#"{"raw":null,"in ner":null,"boxed":null,"list":null}"#] {
            let outer = read(json).unwrap();
            assert!(outer.inner.is_none() && outer.boxed.is_none() && outer.list.0.is_none());
        }
        assert_eq!(read(r#"{"list":[]}"#).unwrap().list.0, None);
        assert_eq!(read(r#"{"in ner":{}}"#).unwrap().inner, Some(Inner::default()));
    }

    #[test]
    fn other_forms_are_errors() {
        for (json, expected) in [
            ("7", "invalid type: integer `7`, expected an object"),
            ("null", "invalid type: null, expected an object"),
            ("{} {}", "trailing characters"),
            (r#"{"raw":1,"raw":2}"#, "duplicate field `raw`"),
            (r#"{"list":{}}"#, "invalid type: map, expected a list"),
            (r#"{"list":[null]}"#, "invalid type: null, expected an object"),
        ] {
            let error = read(json).unwrap_err();
            assert_eq!(error.split(" at line").next(), Some(expected), "{json}");
        }
        let mut outer = Outer::default();
        let invalid = read_slice(b"{\"raw\": \"\xff\"}", &mut outer).unwrap_err();
        assert!(invalid.to_string().starts_with("invalid unicode code point"), "{invalid}");
    }
}

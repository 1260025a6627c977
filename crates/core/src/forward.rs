//! Traits that an `Arc` forwards to the value inside.

/// Implements a trait for [`Arc<T>`](std::sync::Arc) by calling the same methods of `T`.
///
/// The macro takes the signatures of the trait, without default bodies. An `async fn` names the
/// lifetime of each reference, in order: `#[async_trait]` turns every elided lifetime of the trait
/// into a parameter of the method, and an implementation must have the same parameters.
///
/// The generated methods return the boxed future of the inner value. An `async fn` in an
/// `#[async_trait]` implementation would put that future into a second box for every call.
///
/// ```text
/// forward_through_arc! {
///     ScoringModel {
///         async fn score<'a, 'b, 'c, 'd>(&'a self, query: &'b str, documents: &'c [&'d str]) -> Result<Scores>;
///         fn name(&self) -> &str;
///     }
/// }
/// ```
macro_rules! forward_through_arc {
    ($Trait:ident { $($methods:tt)* }) => {
        impl<T: $Trait + ?Sized> $Trait for std::sync::Arc<T> {
            $crate::forward::forward_through_arc!(@ $($methods)*);
        }
    };
    (@) => {};
    (@
        async fn $method:ident<$($lifetime:lifetime),+>(
            &$own:lifetime self $(, $name:ident: $Type:ty)* $(,)?
        ) -> $Output:ty;
        $($rest:tt)*
    ) => {
        fn $method<$($lifetime,)+ 'future>(
            &$own self $(, $name: $Type)*
        ) -> futures_util::future::BoxFuture<'future, $Output>
        where
            $($lifetime: 'future,)+
            Self: 'future,
        {
            T::$method(self $(, $name)*)
        }

        $crate::forward::forward_through_arc!(@ $($rest)*);
    };
    (@
        fn $method:ident $(<$($lifetime:lifetime),+>)? (
            & $($own:lifetime)? self $(, $name:ident: $Type:ty)* $(,)?
        ) -> $Output:ty;
        $($rest:tt)*
    ) => {
        fn $method $(<$($lifetime),+>)? (& $($own)? self $(, $name: $Type)*) -> $Output {
            T::$method(self $(, $name)*)
        }

        $crate::forward::forward_through_arc!(@ $($rest)*);
    };
}

pub(crate) use forward_through_arc;

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use futures_util::FutureExt;
    use std::sync::Arc;

    #[async_trait]
    trait Greeter: Send + Sync {
        async fn greet(&self, names: &[&str], times: usize) -> String;

        fn first<'a>(&'a self, names: &'a [String]) -> &'a str;
    }

    struct Polite(&'static str);

    #[async_trait]
    impl Greeter for Polite {
        async fn greet(&self, names: &[&str], times: usize) -> String {
            format!("{} {}. ", self.0, names.join(" and ")).repeat(times)
        }

        fn first<'a>(&'a self, names: &'a [String]) -> &'a str {
            names.first().map_or(self.0, String::as_str)
        }
    }

    forward_through_arc! {
        Greeter {
            async fn greet<'a, 'b, 'c>(&'a self, names: &'b [&'c str], times: usize) -> String;
            fn first<'a>(&'a self, names: &'a [String]) -> &'a str;
        }
    }

    fn as_greeter(greeter: &impl Greeter) -> &dyn Greeter {
        greeter
    }

    #[test]
    fn arc_of_a_trait_object_calls_the_inner_value() {
        let inner: Arc<dyn Greeter> = Arc::new(Polite("Dear"));
        let greeter = as_greeter(&inner);
        let answer = greeter.greet(&["Ann", "Bo"], 2).now_or_never();
        assert_eq!(answer.as_deref(), Some("Dear Ann and Bo. Dear Ann and Bo. "));
        assert_eq!(greeter.first(&["Cy".to_owned()]), "Cy");
        assert_eq!(greeter.first(&[]), "Dear");
    }

    #[test]
    fn future_of_the_inner_value_is_not_boxed_again() {
        let (direct, shared) = (Polite("Dear"), Arc::new(Polite("Dear")));
        let size = |greeter: &dyn Greeter| size_of_val(&*greeter.greet(&["Ann"], 1));
        assert_eq!(size(&shared), size(&direct));
    }
}

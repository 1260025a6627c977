//! Encoded parameters. They are cached, so that a schema is encoded once and not for every request.

use ai_services_core::model::{ChatRequest, ChatRequestParameters};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Maximum number of cached prefixes: one for each method of a large service with a type of its own.
const MAX_CACHED: usize = 64;

/// The form in which an answer is requested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Delivery {
    Whole,
    Stream,
}

/// The default parameters of a client, and the encoded prefixes of its requests.
pub(crate) struct RequestPrefixes<P> {
    defaults: ChatRequestParameters,
    whole: Arc<P>,
    stream: Arc<P>,
    cached: Mutex<Vec<CachedPrefix<P>>>,
}

struct CachedPrefix<P> {
    /// The `Weak` keeps the address from being reused. Shared parameters never change.
    parameters: Weak<ChatRequestParameters>,
    delivery: Delivery,
    prefix: Arc<P>,
}

impl<P> RequestPrefixes<P> {
    /// Creates the prefixes of a client with these parameters. `make` encodes them.
    pub(crate) fn new(
        defaults: ChatRequestParameters,
        make: impl Fn(&ChatRequestParameters, Delivery) -> P,
    ) -> Self {
        let [whole, stream] =
            [Delivery::Whole, Delivery::Stream].map(|delivery| Arc::new(make(&defaults, delivery)));
        Self { defaults, whole, stream, cached: Mutex::default() }
    }

    /// Returns the default parameters of the client.
    pub(crate) fn defaults(&self) -> &ChatRequestParameters {
        &self.defaults
    }

    /// Returns the prefix of a request. `make` encodes its parameters, merged with the defaults, if no
    /// prefix is cached.
    pub(crate) fn of(
        &self,
        request: &ChatRequest,
        delivery: Delivery,
        make: impl FnOnce(&ChatRequestParameters) -> P,
    ) -> Arc<P> {
        let parameters = &request.parameters;
        if **parameters == ChatRequestParameters::default() {
            return Arc::clone(match delivery {
                Delivery::Whole => &self.whole,
                Delivery::Stream => &self.stream,
            });
        }
        let make = || Arc::new(make(&parameters.or(&self.defaults)));
        // Parameters without another owner were made for a single call.
        if Arc::strong_count(parameters) == 1 {
            return make();
        }
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |cached: &&CachedPrefix<P>| {
            cached.delivery == delivery
                && std::ptr::eq(cached.parameters.as_ptr(), &raw const **parameters)
        };
        if let Some(entry) = cached.iter().find(is_same) {
            return Arc::clone(&entry.prefix);
        }
        cached.retain(|cached| cached.parameters.strong_count() > 0);
        if cached.len() >= MAX_CACHED {
            cached.remove(0);
        }
        let prefix = make();
        let parameters = Arc::downgrade(parameters);
        cached.push(CachedPrefix { parameters, delivery, prefix: Arc::clone(&prefix) });
        prefix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixes() -> RequestPrefixes<String> {
        let defaults = ChatRequestParameters::new().top_k(7);
        RequestPrefixes::new(defaults, |parameters, delivery| {
            format!("{:?} {delivery:?}", parameters.top_k)
        })
    }

    /// Parameters with a seed, which differ from those of the client.
    fn seeded(seed: i64) -> Arc<ChatRequestParameters> {
        Arc::new(ChatRequestParameters::new().seed(seed))
    }

    /// Returns the prefix of a request with these parameters; `text` if it is not cached.
    fn head(
        prefixes: &RequestPrefixes<String>,
        parameters: &Arc<ChatRequestParameters>,
        text: &str,
    ) -> String {
        let request = ChatRequest { parameters: Arc::clone(parameters), ..ChatRequest::default() };
        prefixes.of(&request, Delivery::Whole, |_| text.to_owned()).as_ref().clone()
    }

    #[test]
    fn request_without_parameters_has_the_prefix_of_the_client() {
        let (prefixes, request) = (prefixes(), ChatRequest::default());
        for delivery in [Delivery::Whole, Delivery::Stream] {
            let prefix = prefixes.of(&request, delivery, |_| unreachable!("the prefix is cached"));
            assert_eq!(*prefix, format!("Some(7) {delivery:?}"));
        }
    }

    #[test]
    fn parameters_of_a_request_are_merged_into_those_of_the_client() {
        let parameters = seeded(1);
        let request = ChatRequest { parameters, ..ChatRequest::default() };
        let prefix = prefixes().of(&request, Delivery::Whole, |parameters| {
            format!("{:?} {:?}", parameters.top_k, parameters.seed)
        });
        assert_eq!(*prefix, "Some(7) Some(1)");
    }

    #[test]
    fn prefix_of_shared_parameters_is_made_once() {
        let (prefixes, parameters) = (prefixes(), seeded(1));
        assert_eq!(head(&prefixes, &parameters, "a"), "a");
        assert_eq!(head(&prefixes, &parameters, "b"), "a");
        let request = ChatRequest { parameters: Arc::clone(&parameters), ..ChatRequest::default() };
        let streamed = prefixes.of(&request, Delivery::Stream, |_| "c".to_owned());
        assert_eq!(*streamed, "c");
    }

    #[test]
    fn prefix_of_a_single_call_is_not_cached() {
        let prefixes = prefixes();
        let request = ChatRequest { parameters: seeded(1), ..ChatRequest::default() };
        for text in ["a", "b"] {
            assert_eq!(*prefixes.of(&request, Delivery::Whole, |_| text.to_owned()), text);
        }
    }

    #[test]
    fn changed_parameters_have_a_new_prefix() {
        let (prefixes, mut parameters) = (prefixes(), seeded(1));
        assert_eq!(head(&prefixes, &parameters, "a"), "a");
        // The parameters are not shared any more, but the cache still has their address.
        Arc::make_mut(&mut parameters).seed = Some(2);
        assert_eq!(head(&prefixes, &parameters, "b"), "b");
    }

    #[test]
    fn oldest_prefix_is_evicted_first() {
        let prefixes = prefixes();
        let all: Vec<_> = (0..=MAX_CACHED).map(|number| seeded(number as i64)).collect();
        for parameters in &all {
            head(&prefixes, parameters, "old");
        }
        assert_eq!(head(&prefixes, &all[1], "new"), "old");
        assert_eq!(head(&prefixes, &all[0], "new"), "new");
    }
}

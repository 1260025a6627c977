//! Type checks whose errors are reported at the user's own span.

use super::service::{CallContext, CallParameters};
use crate::memory::ToMemoryId;
use crate::prompt::{JsonValue, TemplateValue};
use crate::service::{MethodReturn, StreamReturn};
use crate::tool::{FromToolInput, ToolParameter};
use std::marker::PhantomData;

pub const fn assert_return<T: MethodReturn>() {}
pub const fn assert_stream<T: StreamReturn>() {}
pub const fn assert_memory_id<T: ToMemoryId + ?Sized>() {}
pub const fn assert_variable<T: TemplateValue<K>, K>() {}
pub const fn assert_json_variable<T: JsonValue>() {}
pub const fn assert_parameters<T: CallParameters>() {}
pub const fn assert_context<T: CallContext>() {}
pub const fn assert_tool_parameter<T: ToolParameter>() {}
pub const fn assert_injected<'a, T: FromToolInput<'a>>() {}

/// Stands for the body of a function that a macro could not read.
///
/// rustc usually reports a syntax error then. If it does not, this function fails the build when it is used.
pub fn incomplete<T>() -> ! {
    struct Incomplete<T>(PhantomData<T>);

    impl<T> Incomplete<T> {
        const FAILS_THE_BUILD: () =
            panic!("an item with an attribute of `ai-services` could not be read");
    }

    let () = Incomplete::<T>::FAILS_THE_BUILD;
    unreachable!()
}

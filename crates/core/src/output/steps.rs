//! Counts the steps of loops, so that tests can assert linear time without a clock.
//!
//! Without `cfg(test)`, counting does nothing.

#[cfg(test)]
pub(in crate::output) use counter::{add, assert_linear};

/// Adds to the number of steps.
#[cfg(not(test))]
pub(in crate::output) const fn add(_steps: usize) {}

#[cfg(test)]
mod counter {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    /// Adds to the number of steps of this thread.
    pub(in crate::output) fn add(steps: usize) {
        STEPS.set(STEPS.get() + steps);
    }

    /// Asserts that the steps of `work` grow linearly with the size of its input.
    ///
    /// Four times the size may take six times the steps. Quadratic work would take sixteen times.
    pub(in crate::output) fn assert_linear(context: &str, size: usize, work: impl Fn(usize)) {
        let steps = |size| {
            STEPS.set(0);
            work(size);
            STEPS.get()
        };
        let (quarter, whole) = (steps(size / 4), steps(size));
        assert!(quarter > 0, "{context}: no step was counted");
        assert!(whole <= 6 * quarter, "{context}: {quarter} steps, then {whole}");
    }
}

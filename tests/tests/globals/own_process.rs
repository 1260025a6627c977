//! Runs a test in a process of its own.

use std::any::type_name;
use std::env;
use std::process::Command;

/// Names, in a child process, the test that runs there.
const CHILD: &str = "AI_SERVICES_TEST_IN_OWN_PROCESS";

/// Runs `body` in a new process, which is this test binary restricted to the calling test.
///
/// See [`in_own_process_with`].
pub(crate) fn in_own_process<B: AsyncFnOnce()>(body: B) {
    in_own_process_with(&[], body);
}

/// Runs `body` in a new process with these environment variables. The process is this test binary restricted
/// to the calling test.
///
/// Call it with a closure as the last statement of a `#[test]` function: the type of the closure names the test.
///
/// # Panics
///
/// Panics with the output of the child if the child fails, crashes, or does not run the test to its end.
#[allow(clippy::print_stdout, reason = "the parent process reads it")]
pub(crate) fn in_own_process_with<B: AsyncFnOnce()>(variables: &[(&str, &str)], body: B) {
    let test = test_of::<B>();
    if env::var(CHILD).is_ok_and(|child| child == test) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(body());
        println!("{}", end_mark(test));
        return;
    }
    if let Err(output) = run_child(test, variables) {
        panic!("`{test}` failed in its own process:\n{output}");
    }
}

/// The name by which libtest selects the test that contains the closure `B`.
fn test_of<B>() -> &'static str {
    let closure = type_name::<B>();
    let (_, path) = closure.split_once("::").unwrap();
    path.trim_end_matches("::{{closure}}")
}

/// The line that a child prints after the last statement of its test.
fn end_mark(test: &str) -> String {
    format!("end of {test}")
}

/// Returns the output of the child as an error unless it ran the whole test and succeeded.
fn run_child(test: &str, variables: &[(&str, &str)]) -> Result<(), String> {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture", "--include-ignored"]).env(CHILD, test);
    child.envs(variables.iter().copied());
    let output = child.output().unwrap();
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    // With `--nocapture`, libtest writes the name of the test in front of its first line.
    let has_ended = stdout.lines().any(|line| line.ends_with(&end_mark(test)));
    if output.status.success() && has_ended {
        return Ok(());
    }
    Err(format!("{}\n{stdout}{stderr}", output.status))
}

mod tests {
    use super::{in_own_process, run_child};

    #[test]
    #[ignore = "child of `failing_child_is_an_error_with_its_output`"]
    fn failing_child() {
        in_own_process(async || panic!("planted failure"));
    }

    #[test]
    fn failing_child_is_an_error_with_its_output() {
        let output = run_child("own_process::tests::failing_child", &[]).unwrap_err();
        assert!(output.contains("planted failure"), "{output}");
    }

    #[test]
    #[ignore = "child of `crashing_child_is_an_error`"]
    fn crashing_child() {
        in_own_process(async || std::process::abort());
    }

    #[test]
    #[cfg(unix)]
    fn crashing_child_is_an_error() {
        let output = run_child("own_process::tests::crashing_child", &[]).unwrap_err();
        assert!(output.contains("SIGABRT"), "{output}");
    }

    #[test]
    fn child_without_a_test_is_an_error() {
        let output = run_child("own_process::tests::renamed", &[]).unwrap_err();
        assert!(output.contains("running 0 tests"), "{output}");
    }

    #[test]
    fn test_runs_in_a_child_of_this_process() {
        in_own_process(async || {
            let child = std::env::var(super::CHILD);
            assert_eq!(
                child.as_deref(),
                Ok("own_process::tests::test_runs_in_a_child_of_this_process")
            );
        });
    }
}

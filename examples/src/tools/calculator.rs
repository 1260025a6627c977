//! Evaluation of expressions that a model wrote. They are untrusted input.

use fend_core::{Context, Interrupt, evaluate_with_interrupt};
use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

/// Limits that keep the parser, which backtracks at parentheses, below a few milliseconds.
const MAX_CHARS: usize = 200;
const MAX_DEPTH: usize = 6;

/// Stack size of the evaluation thread, in bytes: enough for the longest expression in an unoptimized build.
/// Unused pages do not take memory.
const STACK_BYTES: usize = 64 << 20;

/// Time limit of an evaluation; `9^9^9^9` would never end.
const TIMEOUT: Duration = Duration::from_millis(200);

/// Allowed words. The parser supports many more: units, dates, dice, functions.
const WORDS: [&str; 17] = [
    "abs", "cbrt", "ceil", "cos", "e", "exp", "floor", "ln", "log", "mod", "of", "pi", "round",
    "sin", "sqrt", "tan", "x",
];

/// Error of an evaluation, reported to the model.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CalculatorError {
    TooLong,
    TooDeep,
    Character(char),
    Word(String),
    TooMuch,
    Invalid(String),
}

impl fmt::Display for CalculatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "an expression can have at most {MAX_CHARS} characters"),
            Self::TooDeep => write!(f, "parentheses must match and be at most {MAX_DEPTH} deep"),
            Self::Character(c) => write!(f, "`{}` is not arithmetic", c.escape_default()),
            Self::Word(word) => write!(f, "unknown word `{word}`; use {}", WORDS.join(", ")),
            Self::TooMuch => write!(f, "this takes too long to calculate"),
            Self::Invalid(reason) => f.write_str(reason),
        }
    }
}

/// Returns the result, exact or marked as approximate.
pub(super) fn calculate(expression: &str) -> Result<String, CalculatorError> {
    let expression = expression.trim().replace('×', "*").replace('÷', "/").replace('−', "-");
    if expression.len() > MAX_CHARS {
        return Err(CalculatorError::TooLong);
    }
    check_characters(&expression)?;
    check_parentheses(&expression)?;
    // In the worst case the parser recurses for every operator.
    let thread =
        thread::Builder::new().stack_size(STACK_BYTES).spawn(move || evaluate(&expression));
    let outcome = thread.ok().and_then(|running| running.join().ok());
    outcome.unwrap_or_else(|| Err(CalculatorError::Invalid("the calculator failed".to_owned())))
}

fn evaluate(expression: &str) -> Result<String, CalculatorError> {
    let deadline = Deadline(Instant::now() + TIMEOUT);
    match evaluate_with_interrupt(expression, &mut Context::new(), &deadline) {
        Ok(result) if result.get_main_result().is_empty() => {
            Err(CalculatorError::Invalid("the expression is empty".to_owned()))
        }
        Ok(result) => Ok(result.get_main_result().to_owned()),
        Err(_) if deadline.should_interrupt() => Err(CalculatorError::TooMuch),
        Err(reason) => Err(CalculatorError::Invalid(reason)),
    }
}

/// Fails if the expression contains anything but numbers, operators and allowed words.
fn check_characters(expression: &str) -> Result<(), CalculatorError> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || " .,+-*/^!%()".contains(c);
    if let Some(c) = expression.chars().find(|&c| !is_known(c)) {
        return Err(CalculatorError::Character(c));
    }
    let words =
        expression.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    match words.into_iter().find(|word| !WORDS.contains(word)) {
        Some(word) => Err(CalculatorError::Word(word.to_owned())),
        None => Ok(()),
    }
}

fn check_parentheses(expression: &str) -> Result<(), CalculatorError> {
    let mut depth = 0_usize;
    for c in expression.chars() {
        depth = match c {
            '(' => depth + 1,
            ')' => depth.checked_sub(1).ok_or(CalculatorError::TooDeep)?,
            _ => depth,
        };
        if depth > MAX_DEPTH {
            return Err(CalculatorError::TooDeep);
        }
    }
    if depth == 0 { Ok(()) } else { Err(CalculatorError::TooDeep) }
}

struct Deadline(Instant);

impl Interrupt for Deadline {
    fn should_interrupt(&self) -> bool {
        Instant::now() >= self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_exact() {
        for (expression, result) in [
            ("12*31", "372"),
            ("17% of 340", "57.8"),
            ("0.1 + 0.2", "0.3"),
            ("2^3^2", "512"),
            ("-2^2", "-4"),
            ("7 mod 3", "1"),
            ("5!", "120"),
            ("1,000 × 3", "3000"),
            ("sqrt(16) + abs(-2)", "6"),
            ("2^100", "1267650600228229401496703205376"),
            ("1/3", "approx. 0.3333333333"),
        ] {
            assert_eq!(calculate(expression).as_deref(), Ok(result), "{expression}");
        }
    }

    #[test]
    fn hostile_expressions_are_rejected_quickly() {
        let started = Instant::now();
        let nested = "1+(".repeat(50);
        let long = "1+".repeat(5_000);
        let minus = "-".repeat(199) + "1";
        let deep = format!("{}1{}", "2^(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH));
        for expression in [
            "",
            "1/0",
            "1+",
            "(",
            ")",
            "9^9^9^9",
            "(10^6)!",
            "10^10^10",
            "eval(1)",
            "roll d20",
            "1 usd to eur",
            "a=5",
            "x: x",
            "@debug 1",
            "\0",
            "1\u{1b}[31m",
            "é",
            &nested,
            &long,
        ] {
            assert!(calculate(expression).is_err(), "{expression}");
        }
        let mut inputs = vec![minus, deep];
        for part in ["2^", "sqrt ", "5!+", "1 ", "% ", "(1)", "sin cos ", "-2^-", "1 mod "] {
            inputs.push(part.repeat((MAX_CHARS - 1) / part.len()) + "1");
        }
        for expression in inputs {
            drop(calculate(&expression));
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }
}

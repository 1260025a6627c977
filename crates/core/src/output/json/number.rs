//! Numbers as models write them, and their values.

/// An integer with a sign and a 128-bit magnitude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::output) struct Integer {
    pub(in crate::output) is_negative: bool,
    pub(in crate::output) magnitude: u128,
}

/// Returns `true` for a decimal number in any common notation: `42`, `+6`, `.5`, `1.`, `4e2`, `007`.
pub(in crate::output) fn is_decimal(text: &str) -> bool {
    Decimal::new(text).is_some()
}

/// Returns the exact integer value of a decimal number: of `42`, `42.0`, `4e2`, but not of `4.5`.
pub(in crate::output) fn integer(text: &str) -> Option<Integer> {
    let Decimal { is_negative, integer, fraction, exponent } = Decimal::new(text)?;
    let digits = integer.bytes().chain(fraction.bytes());
    let count = integer.len() + fraction.len();
    let zeros = digits.clone().rev().take_while(|digit| *digit == b'0').count();
    let significant = digits.take(count - zeros);
    let mut magnitude: u128 = 0;
    for digit in significant {
        magnitude = magnitude.checked_mul(10)?.checked_add(u128::from(digit - b'0'))?;
    }
    if magnitude == 0 {
        return Some(Integer { is_negative, magnitude });
    }
    // The power of ten of the last significant digit.
    let shift = exponent.saturating_sub_unsigned(fraction.len() as u64);
    let shift = shift.saturating_add_unsigned(zeros as u64);
    let factor = 10u128.checked_pow(u32::try_from(shift).ok()?)?;
    Some(Integer { is_negative, magnitude: magnitude.checked_mul(factor)? })
}

/// Returns the float nearest to a decimal number. Returns `None` for other texts and for numbers that
/// are too large.
pub(in crate::output) fn float<F: std::str::FromStr + Into<f64> + Copy>(text: &str) -> Option<F> {
    let float: F = is_decimal(text).then(|| text.parse().ok())??;
    float.into().is_finite().then_some(float)
}

/// The parts of a decimal number.
struct Decimal<'a> {
    is_negative: bool,
    integer: &'a str,
    fraction: &'a str,
    /// The exponent, limited to the range of `i64`.
    exponent: i64,
}

impl<'a> Decimal<'a> {
    fn new(text: &'a str) -> Option<Self> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if integer.is_empty() && fraction.is_empty()
            || !are_digits(integer)
            || !are_digits(fraction)
        {
            return None;
        }
        Some(Self { is_negative: text.starts_with('-'), integer, fraction, exponent })
    }
}

fn read_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse().unwrap_or(i64::MAX);
    Some(if text.starts_with('-') { -size } else { size })
}

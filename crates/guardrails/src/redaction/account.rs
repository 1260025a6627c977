//! Bank account and payment card numbers.

use super::scan::{at, follows_word, is_separator};
use std::ops::Range;

/// The lengths of account numbers by country, sorted by country. Source: the registry for ISO 13616, which
/// SWIFT maintains.
const IBANS: &str = "\
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 \
    CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 \
    GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 \
    LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 \
    NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 \
    SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30";

/// Finds international bank account numbers.
pub(super) fn ibans(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut start = 0;
    while start < bytes.len() {
        let end = (!follows_word(bytes, start)).then(|| iban(bytes, start)).flatten();
        if let Some(end) = end {
            found.push(start..end);
        }
        start = end.unwrap_or(start + 1);
    }
}

/// Returns the end of the account number that starts at `start`.
fn iban(bytes: &[u8], start: usize) -> Option<usize> {
    let country = [at(bytes, start), at(bytes, start + 1)].map(|b| b.to_ascii_uppercase());
    let checks = at(bytes, start + 2).is_ascii_digit() && at(bytes, start + 3).is_ascii_digit();
    if !checks {
        return None;
    }
    let mut known = IBANS.split(' ').filter_map(|entry| entry.split_at_checked(2));
    let (_, length) = known.find(|(known, _)| known.as_bytes() == country.as_slice())?;
    let length = length.parse().ok()?;
    let mut signs = Vec::with_capacity(length);
    let mut end = start;
    while signs.len() < length {
        let sign = at(bytes, end);
        if sign.is_ascii_alphanumeric() {
            signs.push(sign);
            end += 1;
        } else if is_separator(sign) && at(bytes, end + 1).is_ascii_alphanumeric() {
            end += 1;
        } else {
            return None;
        }
    }
    (!at(bytes, end).is_ascii_alphanumeric() && is_checked(&signs)).then_some(end)
}

/// Verifies the check digits of ISO 7064, modulo 97, with the first four characters moved to the end.
fn is_checked(signs: &[u8]) -> bool {
    let (first, rest) = signs.split_at_checked(4).unwrap_or_default();
    let remainder = rest.iter().chain(first).fold(0_u32, |remainder, sign| {
        let value = char::from(*sign).to_digit(36).unwrap_or(0);
        let shift = if value > 9 { 100 } else { 10 };
        (remainder * shift + value) % 97
    });
    remainder == 1
}

/// Finds payment card numbers.
pub(super) fn cards(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut start = 0;
    while start < bytes.len() {
        let is_start =
            start.checked_sub(1).is_none_or(|before| !at(bytes, before).is_ascii_digit());
        let end = (is_start && matches!(at(bytes, start), b'2'..=b'6'))
            .then(|| card(bytes, start))
            .flatten();
        if let Some(end) = end {
            found.push(start..end);
        }
        start = end.unwrap_or(start + 1);
    }
}

/// Returns the end of the longest card number that starts at `start`.
fn card(bytes: &[u8], start: usize) -> Option<usize> {
    /// Minimum length of all groups of digits except the last, so that rows of small numbers are not
    /// matched.
    const MIN_GROUP: usize = 3;
    let mut digits = Vec::with_capacity(20);
    let mut longest = None;
    let mut position = start;
    loop {
        let room = 20_usize.saturating_sub(digits.len());
        let group = bytes.iter().skip(position).take(room).take_while(|b| b.is_ascii_digit());
        let before = digits.len();
        digits.extend(group.map(|b| b - b'0'));
        let length = digits.len() - before;
        let end = position + length;
        if length == 0 || digits.len() > 19 || (before == 0 && length < MIN_GROUP + 1) {
            return longest;
        }
        if has_brand_format(&digits) && has_valid_check_digit(&digits) {
            longest = Some(end);
        }
        if !is_separator(at(bytes, end)) || length < MIN_GROUP {
            return longest;
        }
        position = end + 1;
    }
}

/// Returns `true` if a card brand uses numbers of this length with these first digits: American Express,
/// Diners Club, JCB, Maestro, Mastercard, Mir, Union Pay, Visa and others that start with 5 or 6.
/// Timestamps of 14 digits and most article numbers do not match.
fn has_brand_format(digits: &[u8]) -> bool {
    let [first, second, ..] = digits else { return false };
    matches!(
        (digits.len(), first, second),
        (13, 4, _)
            | (14, 3, 0 | 6 | 8 | 9)
            | (15, 3, 4 | 7)
            | (16, 2, 2..=7)
            | (16..=19, 3, 0 | 5 | 6 | 8 | 9)
            | (16..=19, 4..=6, _)
    )
}

/// Verifies the check digit of ISO/IEC 7812 (Luhn): from the last digit on, every second digit is doubled.
fn has_valid_check_digit(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(index, digit)| {
            let digit = u32::from(*digit);
            match index % 2 {
                0 => digit,
                _ => digit * 2 / 10 + digit * 2 % 10,
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::super::tests::all;
    use super::*;

    #[test]
    fn account_numbers_are_found() {
        // The examples of the registry.
        for text in [
            "DE89370400440532013000",
            "DE89 3704 0044 0532 0130 00",
            "de89-3704-0044-0532-0130-00",
            "GB29 NWBK 6016 1331 9268 19",
            "FR14 2004 1010 0505 0001 3M02 606",
            "NO93 8601 1117 947",
            "MT84 MALT 0110 0001 2345 MTLC AST0 01S",
            "CH93 0076 2011 6238 5295 7",
            "SA03 8000 0000 6080 1016 7519",
            "DE89.3704.0044.0532.0130.00",
        ] {
            assert_eq!(all(ibans, text), [text]);
            let within = format!("IBAN:{text}, BIC COBADEFF");
            assert_eq!(all(ibans, &within), [text]);
        }
        assert_eq!(
            all(ibans, "DE89 3704 0044 0532 0130 00 COBADEFF"),
            ["DE89 3704 0044 0532 0130 00"]
        );
    }

    #[test]
    fn invalid_account_numbers_are_ignored() {
        for text in [
            "DE88370400440532013000",
            "DE8937040044053201300",
            "DE893704004405320130000",
            "XDE89370400440532013000",
            "ZZ89370400440532013000",
            "DE89  370400440532013000",
        ] {
            assert!(all(ibans, text).is_empty(), "{text}");
        }
    }

    #[test]
    fn countries_are_sorted() {
        let entries: Vec<_> = IBANS.split(' ').map(|entry| entry.split_at(2)).collect();
        assert!(entries.is_sorted_by(|a, b| a.0 < b.0));
        let lengths = entries.iter().map(|(_, length)| length.parse::<usize>().unwrap());
        assert_eq!(lengths.filter(|length| (15..=34).contains(length)).count(), 89);
    }

    #[test]
    fn cards_are_found() {
        // Test numbers that the brands publish.
        for text in [
            "4111111111111111",
            "4111 1111 1111 1111",
            "5555-5555-5555-4444",
            "4111.1111.1111.1111",
            "4111/1111/1111/1111",
            "2223 0031 2200 3222",
            "3782 822463 10005",
            "3056 930902 5904",
            "6011111111111117",
            "4222222222222",
        ] {
            assert_eq!(all(cards, text), [text]);
            assert_eq!(all(cards, &format!("pay {text} 12/28.")), [text]);
        }
    }

    #[test]
    fn other_numbers_are_ignored() {
        for text in [
            "4111111111111112",
            "1111111111111117",
            "41111111111111110000",
            "411111111111",
            "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
            // A timestamp and an article number whose check digits happen to be valid.
            "20261122053303",
            "5901234123473",
            "4111  1111 1111 1111",
        ] {
            assert!(all(cards, text).is_empty(), "{text}");
        }
    }
}

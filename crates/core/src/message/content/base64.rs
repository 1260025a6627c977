//! Base64 as providers and data URLs want it: the standard alphabet, padded.
//!
//! Written here because the core has a budget of crates, and this is all of base64 that it needs.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3).saturating_mul(4));
    let (triples, rest) = bytes.as_chunks::<3>();
    for &[a, b, c] in triples {
        out.extend_from_slice(&digits(a, b, c));
    }
    match *rest {
        [a] => {
            let [first, second, ..] = digits(a, 0, 0);
            out.extend_from_slice(&[first, second, b'=', b'=']);
        }
        [a, b] => {
            let [first, second, third, _] = digits(a, b, 0);
            out.extend_from_slice(&[first, second, third, b'=']);
        }
        _ => {}
    }
    // The alphabet is ASCII.
    String::from_utf8(out).unwrap_or_default()
}

fn digits(a: u8, b: u8, c: u8) -> [u8; 4] {
    let bits = u32::from_be_bytes([0, a, b, c]);
    [18, 12, 6, 0].map(|shift| digit(bits >> shift))
}

/// The digit of the lowest six bits: always in the alphabet, so that the compiler omits the check.
fn digit(bits: u32) -> u8 {
    ALPHABET.get((bits & 63) as usize).copied().unwrap_or(b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_the_standard_are_met() {
        // RFC 4648, section 10.
        let plain = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let encoded = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        assert_eq!(plain.map(|text| encode(text.as_bytes())), encoded);
    }

    #[test]
    fn every_digit_is_in_its_place() {
        let all: Vec<u8> = (0..64_u32)
            .collect::<Vec<_>>()
            .chunks(4)
            .flat_map(|four| {
                let bits = four.iter().fold(0, |bits, digit| bits << 6 | digit);
                bits.to_be_bytes()[1..].to_vec()
            })
            .collect();
        assert_eq!(encode(&all).as_bytes(), ALPHABET);
        assert_eq!(encode(&[0, 0, 0, 255, 255, 255]), "AAAA////");
    }
}

//! Kinds of sensitive data.

use super::fold::folded;
use super::{account, address, key, network, phone};
use std::borrow::Cow;

/// A kind of sensitive data that should not leave an application.
///
/// Data is recognized if it is written in ASCII, with the separators that are listed. Wide, mathematical and
/// circled characters, decimal digits of other scripts, and all blanks and hyphens are compared like their
/// ASCII forms; invisible characters such as zero-width blanks, soft hyphens and combining accents are
/// ignored. Look-alike letters of other scripts are not replaced. Data that is spelled out, split, translated
/// or encoded is not recognized. Names and postal addresses are not recognized either: patterns cannot find
/// them.
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::{Redaction, SensitiveKind};
///
/// let mails = Redaction::only([SensitiveKind::Email]);
/// assert_eq!(mails.redact("ann@example.org, 192.0.2.7"), "[EMAIL], 192.0.2.7");
/// assert_eq!(SensitiveKind::ApiKey.placeholder(), "API_KEY");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SensitiveKind {
    /// An e-mail address, for example `ann@example.org`. The domain may be in any script. The part before
    /// `@` is not recognized in scripts that are written without blanks, or in Korean.
    Email,
    /// A telephone number. Recognized are `+` or `00` with 8 to 15 digits (the maximum of E.164), 9 to 12
    /// digits that start with a single 0 as in much of Europe, North American numbers in groups of 3, 3 and 4
    /// digits, and the 11 digits of Chinese mobile numbers. Blanks, `-`, `.`, `/` and parentheses may be
    /// between digits. Five digits, a hyphen and four digits are an American postal code instead.
    Phone,
    /// An international bank account number of a country in SWIFT's registry, with the right length and valid
    /// check digits (ISO 13616, modulo 97). It may contain single blanks, `-`, `.` and `/`.
    Iban,
    /// A payment card number: 13 to 19 digits, with the first digits and the length of a brand and a valid
    /// check digit (Luhn, ISO/IEC 7812). The digits may be in groups, separated by a single blank, `-`, `.` or `/`.
    PaymentCard,
    /// An IPv4 or IPv6 address. Version numbers of four parts look the same and are redacted too.
    IpAddress,
    /// A JSON Web Token, signed or encrypted.
    Jwt,
    /// A private key in PEM format, of any algorithm. If its end is missing, everything that could belong to
    /// it is redacted.
    PrivateKey,
    /// An API key with the prefix of its vendor: OpenAI, Anthropic, Google, AWS, GitHub, GitLab, Slack,
    /// Stripe, Hugging Face, npm and some others. Also the token after `Bearer`. A key contains a digit, or
    /// letters of which at least a quarter are capitals and a quarter are not.
    ApiKey,
}

impl SensitiveKind {
    pub(super) const ALL: [Self; 8] = [
        Self::Email,
        Self::Phone,
        Self::Iban,
        Self::PaymentCard,
        Self::IpAddress,
        Self::Jwt,
        Self::PrivateKey,
        Self::ApiKey,
    ];

    /// Returns the label of the placeholder, without brackets.
    #[must_use]
    pub fn placeholder(self) -> &'static str {
        match self {
            Self::Email => "EMAIL",
            Self::Phone => "PHONE",
            Self::Iban => "IBAN",
            Self::PaymentCard => "CARD",
            Self::IpAddress => "IP",
            Self::Jwt => "JWT",
            Self::PrivateKey => "PRIVATE_KEY",
            Self::ApiKey => "API_KEY",
        }
    }

    /// Returns the function that finds data of this kind.
    pub(super) fn finder(self) -> super::scan::FindFn {
        match self {
            Self::Email => address::emails,
            Self::Phone => phone::phones,
            Self::Iban => account::ibans,
            Self::PaymentCard => account::cards,
            Self::IpAddress => network::addresses,
            Self::Jwt => key::web_tokens,
            Self::PrivateKey => key::private_keys,
            Self::ApiKey => key::api_keys,
        }
    }

    /// Normalizes a value for comparisons, because the same value can be written in several ways.
    pub(super) fn normalize(self, text: &str) -> Cow<'_, str> {
        let folded = folded(text);
        match self {
            Self::Phone | Self::Iban | Self::PaymentCard => {
                let signs = folded.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '+');
                Cow::Owned(signs.map(|c| c.to_ascii_uppercase()).collect())
            }
            Self::Email | Self::IpAddress => Cow::Owned(folded.to_lowercase()),
            Self::Jwt | Self::PrivateKey | Self::ApiKey => folded,
        }
    }
}

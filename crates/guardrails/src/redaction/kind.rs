//! What can be redacted.

use super::{account, address, key, network, phone};
use std::borrow::Cow;

/// A kind of text that should not leave an application.
///
/// What is recognised is what is spelt in ASCII, and the separators that are named, which may be of a kind at
/// which lines do not break. A text that is
/// spelt out, split, translated or encoded is not recognised, and neither are names and addresses of
/// people: patterns cannot find them.
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
    /// An e-mail address: `ann@example.org`.
    Email,
    /// A telephone number: `+` or `00` with 8 to 15 digits (the longest of E.164), 9 to 12 digits that
    /// begin with a single 0 as in much of Europe, North American numbers in groups of 3, 3 and 4
    /// digits, and the 11 digits of Chinese mobiles. Blanks, `-`, `.`, `/` and parentheses may stand
    /// between digits.
    Phone,
    /// An international bank account number of a country in SWIFT's registry, with its length and its
    /// check digits (ISO 13616, modulo 97). Single blanks and hyphens may stand within.
    Iban,
    /// The number of a payment card: 13 to 19 digits, with a beginning and a length that a brand uses and a
    /// right check digit (Luhn, ISO/IEC 7812), in one or in groups with single blanks or hyphens between.
    PaymentCard,
    /// An IPv4 or IPv6 address. Four numbers of a version look the same and are redacted too.
    IpAddress,
    /// A JSON Web Token, signed or encrypted.
    Jwt,
    /// A private key in PEM, of any algorithm. If its end is missing, everything that could belong to
    /// it.
    PrivateKey,
    /// A key by how its vendor marks it: of OpenAI, Anthropic, Google, AWS, GitHub, GitLab, Slack,
    /// Stripe, Hugging Face, npm and some others; and what follows `Bearer`.
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

    /// What stands between brackets where something of this kind was.
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

    pub(super) fn finder(self) -> super::scan::Find {
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

    /// A text as it is compared with others of this kind: what is spelt differently may be the same.
    pub(super) fn normal(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Phone | Self::Iban | Self::PaymentCard => {
                let signs = text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '+');
                Cow::Owned(signs.map(|c| c.to_ascii_uppercase()).collect())
            }
            Self::Email | Self::IpAddress => Cow::Owned(text.to_lowercase()),
            Self::Jwt | Self::PrivateKey | Self::ApiKey => Cow::Borrowed(text),
        }
    }
}

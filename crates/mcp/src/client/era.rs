//! The eras of the protocol.

/// The revision of the protocol that a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Era {
    /// Asks the server. A server that does not answer within 3 seconds is taken for a legacy server. Name the era to
    /// save this time.
    #[default]
    Probe,
    /// A revision up to 2025-11-25, with a handshake and sessions.
    Legacy,
    /// The stateless revision 2026-07-28 or newer.
    Modern,
}

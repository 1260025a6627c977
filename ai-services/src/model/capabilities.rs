//! What a model can do, as data.

/// Something that not every model can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Capability {
    /// Calls tools.
    Tools,
    /// Answers with JSON that follows a schema, enforced by the provider.
    JsonSchema,
    /// Does so while it is offered tools, and still calls them.
    JsonSchemaWithTools,
    /// Answers with some JSON object, enforced by the provider.
    JsonObject,
    /// Sends the answer piece by piece.
    Streaming,
    /// Looks at images.
    Images,
}

impl Capability {
    fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// What a model can do.
///
/// # Examples
///
/// ```
/// use ai_services::model::{Capabilities, Capability};
///
/// let can = Capabilities::of([Capability::Tools]);
/// assert!(can.include(Capability::Tools));
/// assert!(!can.include(Capability::Images));
/// assert_eq!(can.with(Capability::Images).without(Capability::Images), can);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(u32);

impl Capabilities {
    /// Exactly these.
    #[must_use]
    pub fn of(capabilities: impl IntoIterator<Item = Capability>) -> Self {
        Self(capabilities.into_iter().fold(0, |bits, capability| bits | capability.bit()))
    }

    /// Whether the model can do this.
    #[must_use]
    pub fn include(self, capability: Capability) -> bool {
        self.0 & capability.bit() != 0
    }

    /// These and one more.
    #[must_use]
    pub fn with(self, capability: Capability) -> Self {
        Self(self.0 | capability.bit())
    }

    /// These but one.
    #[must_use]
    pub fn without(self, capability: Capability) -> Self {
        Self(self.0 & !capability.bit())
    }
}

//! Prompts: templates, their values, and the clock.

mod clock;
mod part;
mod render;
mod template;
mod value;

pub use clock::{Clock, LocalDateTime, SystemClock};
pub use template::{PromptTemplate, PromptVariables};

pub use part::{Part, UserPart};
pub use render::{Piece, Template};
pub use value::{JsonValue, OptionalText, PrintedText, TemplateValue, Variable};

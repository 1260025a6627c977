//! Prompts: templates, the values that fill them, and the clock.

mod clock;
mod render;
mod template;

pub use clock::{Clock, LocalDateTime, SystemClock};
pub use template::{PromptTemplate, PromptVariables};

pub use render::{Piece, Template, TemplateValue, UserText, Variable};

//! Resolves the placeholders of templates.

use super::model::{Method, Piece, Prompts, Service};
use crate::template::{self, Segment, Template};

/// Returns the prompts of a method.
pub(crate) fn resolve(service: &Service<'_>, method: &Method<'_>) -> Prompts {
    let (system, user) = (service.system(method), service.user(method));
    let mut variables: Vec<usize> =
        service.names(method).filter_map(|name| parameter(method, name)).collect();
    variables.sort_unstable();
    variables.dedup();
    let pieces = |template: &Template| {
        template.segments.iter().map(|segment| piece(method, &variables, segment)).collect()
    };
    Prompts { system: system.map(pieces), user: user.map(pieces), variables }
}

fn piece(method: &Method<'_>, variables: &[usize], segment: &Segment) -> Piece {
    let name = match segment {
        Segment::Text(text) => return Piece::Text(text.clone()),
        Segment::Placeholder { name, .. } => name,
    };
    let variable = parameter(method, name)
        .and_then(|parameter| variables.iter().position(|variable| *variable == parameter));
    match (variable, template::builtin(name)) {
        (Some(variable), _) => Piece::Variable(variable),
        (None, Some(variant)) => Piece::Builtin(variant),
        (None, None) => Piece::Unknown(name.clone()),
    }
}

/// Returns the index of the parameter that `{{name}}` stands for.
fn parameter(method: &Method<'_>, name: &str) -> Option<usize> {
    let mut parameters = method.parameters.iter();
    parameters
        .position(|parameter| parameter.variable_name().as_deref() == Some(name))
        .or_else(|| method.it().filter(|_| name == template::IT))
}

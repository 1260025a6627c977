//! The model of a trait with its attributes.

use crate::runtime_path::RuntimePath;
use crate::template::Template;
use crate::tool::Tool;
use proc_macro2::Ident;
use std::time::Duration;
use syn::ext::IdentExt as _;
use syn::{Attribute, Expr, ItemTrait, LitStr, TraitItemFn, Type};

/// A trait with `#[ai_service]`.
pub(crate) struct Service<'a> {
    pub(crate) item: &'a ItemTrait,
    /// Name of the generated struct.
    pub(crate) name: Ident,
    pub(crate) runtime: RuntimePath,
    pub(crate) system: Option<Template>,
    pub(crate) user: Option<Template>,
    pub(crate) moderation: Moderation,
    pub(crate) guardrails: Guardrails,
    pub(crate) budget: Budget,
    /// The methods without a body.
    pub(crate) methods: Vec<Method<'a>>,
}

/// A method that the service implements.
pub(crate) struct Method<'a> {
    pub(crate) item: &'a TraitItemFn,
    pub(crate) system: Option<Template>,
    pub(crate) user: Option<Template>,
    /// `true` if the method uses the user message of the trait.
    pub(crate) inherits_user: bool,
    pub(crate) moderation: Moderation,
    pub(crate) guardrails: Guardrails,
    pub(crate) budget: Budget,
    pub(crate) tools: MethodTools,
    pub(crate) retrieval: Retrieval,
    /// `#[tool]`: the method as a tool of other services. Without its parameters.
    pub(crate) tool: Option<Tool<'a>>,
    pub(crate) parameters: Vec<Parameter<'a>>,
    pub(crate) prompts: Prompts,
    /// `true` if a part was left out because of a mistake that was reported, by rustc or by this crate.
    pub(crate) incomplete: bool,
    /// `true` if rustc reported a syntax error in the signature.
    pub(crate) has_syntax_error: bool,
}

/// `#[moderate]`: the moderated texts.
#[derive(Clone, Copy, Default)]
pub(crate) struct Moderation {
    pub(crate) message: bool,
    pub(crate) answer: bool,
}

/// `#[input_guardrails]` and `#[output_guardrails]`.
#[derive(Default)]
pub(crate) struct Guardrails {
    pub(crate) input: Vec<Expr>,
    pub(crate) output: Vec<Expr>,
    pub(crate) max_retries: Option<usize>,
}

/// `#[budget]`: the limits of a call.
#[derive(Default, PartialEq)]
pub(crate) struct Budget {
    pub(crate) model_calls: Option<u64>,
    pub(crate) tool_rounds: Option<u64>,
    pub(crate) tool_calls: Option<u64>,
    pub(crate) tokens: Option<u64>,
    pub(crate) cost: Option<f64>,
    pub(crate) running_time: Option<Duration>,
    pub(crate) finishes: bool,
}

/// `#[tools]`: the tools of a method.
#[derive(Default)]
pub(crate) struct MethodTools {
    /// The names of the tools, if the method does not use all of them.
    pub(crate) names: Option<Vec<LitStr>>,
    pub(crate) choice: MethodToolChoice,
}

/// `#[tools(choice = …)]`: the tool choice of the first request.
#[derive(Default)]
pub(crate) enum MethodToolChoice {
    /// As the parameters of the builder set it.
    #[default]
    Inherited,
    Auto,
    Required,
    Tool(LitStr),
}

/// `#[retrieval]`: the retrieval of a method.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Retrieval {
    /// As the builder sets it.
    #[default]
    Inherited,
    None,
}

impl Guardrails {
    pub(crate) fn is_empty(&self) -> bool {
        self.input.is_empty() && self.output.is_empty() && self.max_retries.is_none()
    }
}

pub(crate) struct Parameter<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) role: Option<(Role, &'a Attribute)>,
    pub(crate) variable: Option<Variable<'a>>,
    /// `#[p]`: the description of a parameter of a tool.
    pub(crate) described: Option<&'a Attribute>,
}

/// The role of a parameter, besides being a template variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    MemoryId,
    UserMessage,
    UserName,
    Parameters,
    Context,
}

/// `#[v]`.
pub(crate) struct Variable<'a> {
    pub(crate) attribute: &'a Attribute,
    /// The name in the template.
    pub(crate) name: String,
    pub(crate) form: VariableForm,
}

/// The text form of a template variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VariableForm {
    Printed,
    Json,
}

/// The templates that a method renders, with the meanings of their placeholders.
#[derive(Default)]
pub(crate) struct Prompts {
    pub(crate) system: Option<Vec<Piece>>,
    pub(crate) user: Option<Vec<Piece>>,
    /// Indices of the parameters that the templates use, in order.
    pub(crate) variables: Vec<usize>,
}

/// A piece of a template.
pub(crate) enum Piece {
    Text(String),
    /// The variable with this index.
    Variable(usize),
    /// A variant of the runtime's `Piece`.
    Builtin(&'static str),
    /// A placeholder without a meaning, which is reported.
    Unknown(String),
}

impl Service<'_> {
    /// Returns the moderated texts of a method, by the attributes of the trait and of the method.
    pub(crate) fn moderation(&self, method: &Method<'_>) -> Moderation {
        let (all, own) = (self.moderation, method.moderation);
        Moderation { message: all.message || own.message, answer: all.answer || own.answer }
    }

    /// Returns the system message of a method, or else of the trait.
    pub(crate) fn system<'s>(&'s self, method: &'s Method<'_>) -> Option<&'s Template> {
        method.system.as_ref().or(self.system.as_ref())
    }

    /// Returns the template of the user message of a method, or else of the trait.
    pub(crate) fn user<'s>(&'s self, method: &'s Method<'_>) -> Option<&'s Template> {
        method.user.as_ref().or(self.user.as_ref().filter(|_| method.inherits_user))
    }

    /// Returns the templates that a method renders.
    pub(crate) fn templates<'s>(
        &'s self,
        method: &'s Method<'_>,
    ) -> impl Iterator<Item = &'s Template> {
        self.system(method).into_iter().chain(self.user(method))
    }

    /// Returns the names in the templates of the method.
    pub(crate) fn names<'s>(&'s self, method: &'s Method<'_>) -> impl Iterator<Item = &'s str> {
        self.templates(method).flat_map(Template::placeholders).map(|(name, _)| name)
    }
}

impl<'a> Method<'a> {
    pub(crate) fn ident(&self) -> &'a Ident {
        &self.item.sig.ident
    }

    /// Returns `true` if the method streams its answer: it is not an `async fn`.
    pub(crate) fn streams(&self) -> bool {
        self.item.sig.asyncness.is_none()
    }

    /// Returns the parameters without an attribute of this crate, with their indices.
    pub(crate) fn unmarked(&self) -> impl Iterator<Item = (usize, &Parameter<'a>)> {
        self.parameters.iter().enumerate().filter(|(_, parameter)| parameter.is_unmarked())
    }

    /// Returns the only parameter without an attribute, which `{{it}}` stands for.
    pub(crate) fn it(&self) -> Option<usize> {
        let mut unmarked = self.unmarked();
        let (only, _) = unmarked.next()?;
        unmarked.next().is_none().then_some(only)
    }

    /// Returns whether a template of the method uses the parameter.
    pub(crate) fn uses(&self, parameter: usize) -> bool {
        self.prompts.variables.contains(&parameter)
    }

    /// Returns the placeholders without a meaning.
    pub(crate) fn unknown_placeholders(&self) -> impl Iterator<Item = &str> {
        let prompts = self.prompts.system.iter().chain(&self.prompts.user);
        prompts.flatten().filter_map(|piece| match piece {
            Piece::Unknown(name) => Some(name.as_str()),
            Piece::Text(_) | Piece::Variable(_) | Piece::Builtin(_) => None,
        })
    }

    /// Returns whether `{{name}}` in a template of this method has no meaning.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        self.unknown_placeholders().any(|unknown| unknown == name)
    }

    /// Returns the parameter with this role.
    pub(crate) fn with_role(&self, role: Role) -> Option<&Parameter<'a>> {
        self.parameters.iter().find(|parameter| parameter.is(role))
    }

    /// Returns `true` if the method has neither a template nor a marked parameter for the user message.
    pub(crate) fn lacks_user_message(&self) -> bool {
        self.user.is_none() && self.with_role(Role::UserMessage).is_none()
    }

    /// Returns whether the user message is a template.
    pub(crate) fn has_user_template(&self) -> bool {
        self.user.is_some() || self.inherits_user
    }

    /// Returns the parameters that are parts of the user message, after its template if there is one.
    pub(crate) fn user_parts(&self) -> Vec<&Parameter<'a>> {
        let marked: Vec<_> =
            self.parameters.iter().filter(|parameter| parameter.is(Role::UserMessage)).collect();
        if !marked.is_empty() || self.has_user_template() {
            return marked;
        }
        self.it().and_then(|index| self.parameters.get(index)).into_iter().collect()
    }

    /// Returns whether the parameter is a part of the user message.
    pub(crate) fn sends(&self, parameter: &Parameter<'_>) -> bool {
        self.user_parts().iter().any(|part| part.ident == parameter.ident)
    }
}

impl Parameter<'_> {
    pub(crate) fn is(&self, role: Role) -> bool {
        self.role.is_some_and(|(own, _)| own == role)
    }

    pub(crate) fn is_unmarked(&self) -> bool {
        self.role.is_none() && self.variable.is_none()
    }

    /// Returns the name of the parameter as a template variable, if it is one.
    pub(crate) fn variable_name(&self) -> Option<String> {
        match &self.variable {
            Some(variable) => Some(variable.name.clone()),
            None => self.is_unmarked().then(|| self.name()),
        }
    }

    /// Returns the text form of the parameter as a template variable.
    pub(crate) fn variable_form(&self) -> VariableForm {
        self.variable.as_ref().map_or(VariableForm::Printed, |variable| variable.form)
    }

    /// Returns the name without `r#`.
    pub(crate) fn name(&self) -> String {
        self.ident.unraw().to_string()
    }
}

//! Items behind features: an import without the feature fails with an error that names a public one.

use ai_services_tests::sources::root;
use std::collections::BTreeSet;
use std::fs;
use syn::{Attribute, Item, UseTree};

/// Files of the facade that declare public paths.
const FILES: &[&str] = &["lib.rs", "combinators.rs", "providers.rs", "rag.rs", "store.rs"];

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the public features of the facade.
fn public_features() -> BTreeSet<String> {
    let manifest = read("ai-services/Cargo.toml");
    let (_, features) = manifest.split_once("[features]").unwrap();
    let (features, _) = features.split_once("\n[").unwrap();
    let names = features.lines().filter_map(|line| line.split_once(" = "));
    let names = names.map(|(name, _)| name.to_owned());
    names.filter(|name| !name.starts_with(['_', '#']) && name != "default").collect()
}

/// Returns the tokens of an attribute's argument without spaces.
fn argument(attributes: &[Attribute], name: &str) -> Option<String> {
    let attribute = attributes.iter().find(|attribute| attribute.path().is_ident(name))?;
    let tokens = attribute.meta.require_list().unwrap().tokens.to_string();
    Some(tokens.replace([' ', '\n'], "").replace(",)", ")"))
}

/// Returns the name of the module that an item adds, if it adds one.
fn module_name(item: &Item) -> Option<String> {
    fn last(tree: &UseTree) -> Option<String> {
        let name = match tree {
            UseTree::Path(path) => return last(&path.tree),
            UseTree::Name(name) => &name.ident,
            UseTree::Rename(rename) => &rename.rename,
            UseTree::Glob(_) | UseTree::Group(_) => return None,
        };
        Some(name.to_string()).filter(|name| name.starts_with(char::is_lowercase))
    }
    match item {
        Item::Mod(module) => Some(module.ident.to_string()),
        Item::Use(import) => last(&import.tree),
        _ => None,
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(module) => &module.attrs,
        Item::Use(import) => &import.attrs,
        _ => &[],
    }
}

fn check(items: &[Item], violations: &mut Vec<String>) {
    let features = public_features();
    for item in items {
        let attributes = attributes(item);
        let gate = argument(attributes, "cfg");
        if gate.as_ref().is_some_and(|gate| gate.contains("feature=\"_")) {
            continue; // hidden, for this workspace
        }
        if let Item::Mod(module) = item
            && let Some((_, inner)) = &module.content
        {
            check(inner, violations);
        }
        let Some(gate) = gate else { continue };
        let name = module_name(item);
        for feature in gate.split('"').skip(1).step_by(2) {
            if !features.contains(feature) {
                violations.push(format!("{name:?} needs the unknown feature `{feature}`"));
            }
        }
        if let Some(name) = &name
            && gate != format!("feature=\"{name}\"")
        {
            violations.push(format!("the module `{name}` is behind {gate}: gate its contents"));
        }
        if argument(attributes, "cfg_attr") != Some(format!("docsrs,doc(cfg({gate}))")) {
            violations.push(format!("{name:?} does not document its feature: {gate}"));
        }
    }
}

#[test]
fn modules_are_gated_only_by_the_feature_of_their_name() {
    let mut violations = Vec::new();
    for file in FILES {
        let file = syn::parse_file(&read(&format!("ai-services/src/{file}"))).unwrap();
        check(&file.items, &mut violations);
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn every_public_feature_is_documented() {
    let features = public_features();
    assert!(features.len() > 15, "{features:?}");
    for (path, prefix) in [("README.md", "|"), ("ai-services/src/lib.rs", "//! |")] {
        let text = read(path);
        let rows: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix(prefix)?.split('|').next()).collect();
        for feature in &features {
            let cell = format!("`{feature}`");
            assert!(rows.iter().any(|row| row.contains(&cell)), "{path} has no row for {cell}");
        }
    }
}

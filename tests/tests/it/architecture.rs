//! The structure of the source: which crate, module and file may import which, and the length of files.

use ai_services_tests::sources::{files, is_test_file, library_crates, root};
use proc_macro2::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree};

/// The crates of the workspace that each library crate may depend on.
const DEPENDENCIES: &[(&str, &[&str])] = &[
    ("crates/template", &[]),
    ("ai-services-macros", &["template"]),
    ("crates/core", &["template"]),
    ("crates/providers", &["core"]),
    ("crates/sqlite", &["core"]),
    ("crates/postgres", &["core"]),
    ("crates/redis", &["core"]),
    ("crates/cassandra", &["core"]),
    ("crates/documents", &["core"]),
    ("crates/guardrails", &["core"]),
    ("crates/mcp", &["core"]),
    ("crates/otel", &["core"]),
    ("crates/serve", &["core"]),
    ("crates/playground", &["core", "serve"]),
    ("crates/testkit", &["core"]),
    (
        "ai-services",
        &[
            "cassandra",
            "core",
            "documents",
            "guardrails",
            "macros",
            "mcp",
            "otel",
            "playground",
            "postgres",
            "providers",
            "redis",
            "serve",
            "sqlite",
            "testkit",
        ],
    ),
];

/// Ranks of the modules within a crate or a module: a module imports only modules of smaller ranks.
const RANKS: &[(&str, &[&[&str]])] = &[
    (
        "ai-services/src/service",
        &[
            &["spent"],
            &["budget"],
            &[
                "approval_settings",
                "conversations",
                "description",
                "durable",
                "durable_turns",
                "guardrail_context",
                "listeners",
            ],
            &["method_tools", "remembered"],
            &[
                "guards",
                "memories",
                "output_plan",
                "prepared_message",
                "unfinished_turn",
                "user_message",
            ],
            &["method_plan", "turn"],
            &["response", "settings"],
            &["components", "resumed_turn", "stream"],
            &["handle", "held_conversations", "prompts"],
            &["builder", "call"],
            &[
                "memory_session",
                "moderation",
                "observed_call",
                "offered_tools",
                "retrieval",
                "tool_events",
            ],
            &["approvals", "checks", "history_summary", "model_relay", "open_turn"],
            &["model_call", "preparation", "repeated_request"],
            &["inherited", "tool_loop"],
            &["invoke"],
            &["entry", "resume"],
            &["nested"],
        ],
    ),
    (
        "crates/core/src",
        &[
            &["boxed", "forward", "random", "redaction", "usage"],
            &["error"],
            &["document", "http_status", "message", "schema", "tls"],
            &["invocation", "model", "prompt"],
            &["trace"],
            &["embedding", "guardrail", "memory", "output"],
            &["approval"],
            &["tool"],
            &["combinators", "rag", "store_kit", "testing"],
            &["answer", "event", "fuzzing"],
            &["record"],
            &["lib"],
        ],
    ),
    (
        "crates/documents/src",
        &[&["outline"], &["in_memory", "load", "split"], &["ingestion"], &["lib"]],
    ),
    (
        "crates/guardrails/src",
        &[
            &["characters", "steps"],
            &["injection", "judge", "redaction"],
            &["query_redaction"],
            &["lib"],
        ],
    ),
    (
        "crates/mcp/src",
        &[
            &["clean", "message_limit"],
            &["content", "definition"],
            &["names"],
            &["client", "server"],
            &["lib"],
        ],
    ),
    (
        "crates/otel/src",
        &[
            &["content_json", "memory_ids", "semconv", "truncation"],
            &["content", "instruments"],
            &["settings", "span_state"],
            &["layer", "listener"],
            &["telemetry"],
            &["lib"],
        ],
    ),
    (
        "crates/providers/src",
        &[
            &["http"],
            &["protocol"],
            &["anthropic", "cohere", "fetch", "gemini", "ollama", "openai", "web_search"],
            &["any"],
            &["fuzzing"],
            &["lib"],
        ],
    ),
    (
        "crates/playground/src",
        &[
            &["page", "run", "user"],
            &["export", "open_turns", "turn_log"],
            &["api"],
            &["access"],
            &["server"],
            &["playground"],
            &["lib"],
        ],
    ),
    (
        "crates/serve/src",
        &[
            &["frames", "interrupt_id", "principal", "problem", "source"],
            &["answer", "tool_tracker", "turn"],
            &["decisions"],
            &["service"],
            &["state"],
            &["endpoint"],
            &["ag_ui", "openai", "ui_messages"],
            &["server"],
            &["lib"],
        ],
    ),
    (
        "crates/testkit/src",
        &[&["report"], &["cassette", "embedding_stores", "guardrails", "stores"], &["lib"]],
    ),
];

#[test]
fn crates_depend_on_lower_crates_only() {
    let expected: BTreeMap<_, _> = DEPENDENCIES.iter().copied().collect();
    assert_eq!(library_crates(), expected.keys().copied().collect::<Vec<_>>());
    for (folder, allowed) in expected {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let (_, rest) = manifest.split_once("\n[dependencies]\n").unwrap_or_default();
        let dependencies = rest.lines().take_while(|line| !line.starts_with('['));
        let own: BTreeSet<_> = dependencies
            .filter_map(|line| line.strip_prefix("ai-services-"))
            .filter_map(|line| line.split([' ', '.']).next())
            .collect();
        let allowed: BTreeSet<_> = allowed.iter().copied().collect();
        assert_eq!(own, allowed, "{folder} depends on other crates than listed here");
    }
}

#[test]
fn modules_import_lower_ranks_only() {
    let mut violations = Vec::new();
    for (folder, ranks) in RANKS {
        let rank = |module: &str| {
            let rank = ranks.iter().position(|modules| modules.contains(&module));
            rank.unwrap_or_else(|| panic!("module `{module}` of {folder} has no rank"))
        };
        let (krate, parent) = folder.split_once("/src").unwrap();
        let parent = parent.trim_start_matches('/');
        let sources = Sources::of(krate);
        let mut imports = 0;
        for (from, to) in sources.edges() {
            let (Some(own), Some(other)) = (child(parent, from), child(parent, to)) else {
                continue;
            };
            imports += 1;
            if own != other && other != "lib" && rank(own) <= rank(other) {
                violations.push(format!("{krate}: {from} imports {to}"));
            }
        }
        assert!(imports > 5, "only {imports} imports were found in {folder}");
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for folder in library_crates() {
        let sources = Sources::of(&folder);
        for circle in sources.circles() {
            circles.push(format!("{folder}: {}", circle.join(" -> ")));
        }
    }
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

#[test]
fn files_have_one_purpose() {
    let folders = library_crates().into_iter().map(|folder| (format!("{folder}/src"), 400));
    let mut lengths = Vec::new();
    let mut too_long = Vec::new();
    for (folder, limit) in folders.chain([("examples".to_owned(), 250)]) {
        for file in files(&root().join(folder), "rs").iter().filter(|file| !is_test_file(file)) {
            let text = fs::read_to_string(file).unwrap();
            let tests: usize = test_modules(&syn::parse_file(&text).unwrap().items)
                .map(|span| span.end().line - span.start().line + 1)
                .sum();
            let lines = text.lines().count() - tests;
            if lines > limit {
                too_long.push(format!("{}: {lines} lines; at most {limit}", file.display()));
            }
            lengths.push(lines);
        }
    }
    assert!(too_long.is_empty(), "{}", too_long.join("\n"));
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median <= 150, "the median file has {median} lines");
}

fn test_modules(items: &[Item]) -> impl Iterator<Item = Span> {
    items.iter().filter_map(|item| match item {
        Item::Mod(module) if is_test_only(&module.attrs) => Some(module.span()),
        _ => None,
    })
}

fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

/// The files of a crate without tests, by module path: `a::b` for `src/a/b.rs` and `src/a/b/mod.rs`, and an empty
/// path for `src/lib.rs`.
struct Sources {
    modules: BTreeMap<String, ModuleSource>,
}

#[derive(Default)]
struct ModuleSource {
    /// Full paths that the file names, in `use` items and elsewhere.
    paths: BTreeSet<String>,
    /// Names that the file re-exports or imports, with their full paths.
    names: BTreeMap<String, String>,
    /// Modules whose names the file re-exports all.
    globs: Vec<String>,
}

impl Sources {
    fn of(folder: &str) -> Self {
        let source = root().join(folder).join("src");
        let paths = files(&source, "rs").into_iter().filter(|file| !is_test_file(file));
        let modules = paths
            .map(|file| {
                let module = module_path(&source, &file);
                let parsed = syn::parse_file(&fs::read_to_string(&file).unwrap()).unwrap();
                let mut imports =
                    Imports { module: module.clone(), source: ModuleSource::default() };
                imports.visit_file(&parsed);
                (module, imports.source)
            })
            .collect();
        Self { modules }
    }

    /// Returns the module of the file that defines the item with this full path.
    fn definition(&self, path: &str) -> Option<&str> {
        let mut path = path.to_owned();
        // Re-exports of re-exports: no chain is longer.
        for _ in 0..8 {
            let module = self.enclosing_module(&path)?;
            let rest = path.strip_prefix(module).unwrap_or(&path).trim_start_matches("::");
            let Some(name) = rest.split("::").next().filter(|name| !name.is_empty()) else {
                return Some(module);
            };
            let source = self.modules.get(module)?;
            match source.names.get(name).filter(|next| **next != path) {
                Some(next) => path.clone_from(next),
                None => match source.globs.iter().find(|glob| self.names_item(glob, name)) {
                    Some(glob) => path = format!("{glob}::{name}"),
                    None => return Some(module),
                },
            }
        }
        None
    }

    fn names_item(&self, module: &str, name: &str) -> bool {
        self.modules.get(module).is_some_and(|source| source.names.contains_key(name))
    }

    /// Returns the longest prefix of the path that is a file.
    fn enclosing_module(&self, path: &str) -> Option<&str> {
        let mut end = path.len();
        loop {
            if let Some((module, _)) = self.modules.get_key_value(&path[..end]) {
                return Some(module);
            }
            match path[..end].rfind("::") {
                Some(next) => end = next,
                None => return self.modules.get_key_value("").map(|(module, _)| module.as_str()),
            }
        }
    }

    /// Returns the imports between files, without those between a file and the modules that contain it.
    fn edges(&self) -> BTreeSet<(&str, &str)> {
        let mut edges = BTreeSet::new();
        for (module, source) in &self.modules {
            for path in &source.paths {
                let Some(definition) = self.definition(path) else { continue };
                if !contains(module, definition) && !contains(definition, module) {
                    edges.insert((module.as_str(), definition));
                }
            }
        }
        edges
    }

    /// Returns each group of files that import each other, directly or through others.
    fn circles(&self) -> Vec<Vec<&str>> {
        let edges = self.edges();
        let mut reachable: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (from, _) in &edges {
            let mut seen = BTreeSet::new();
            let mut open = vec![*from];
            while let Some(module) = open.pop() {
                for (_, to) in edges.iter().filter(|(from, _)| *from == module) {
                    if seen.insert(*to) {
                        open.push(to);
                    }
                }
            }
            reachable.insert(from, seen);
        }
        let reaches =
            |from: &str, to: &str| reachable.get(from).is_some_and(|all| all.contains(to));
        let mut grouped = BTreeSet::new();
        let mut circles = Vec::new();
        for module in reachable.keys().copied() {
            if reaches(module, module) && grouped.insert(module) {
                let others = reachable.keys().copied();
                let circle: Vec<_> = others
                    .filter(|other| reaches(module, other) && reaches(other, module))
                    .collect();
                grouped.extend(&circle);
                circles.push(circle);
            }
        }
        circles
    }
}

/// Returns `true` if the module is the other one or one of its ancestors.
fn contains(module: &str, other: &str) -> bool {
    module.is_empty()
        || other == module
        || other.strip_prefix(module).is_some_and(|rest| rest.starts_with("::"))
}

/// Returns the module directly below the parent that contains a file: `lib` for the root of a crate, and `None` for
/// files outside the parent.
fn child<'a>(parent: &str, path: &'a str) -> Option<&'a str> {
    let rest = match parent {
        "" => path,
        parent => path.strip_prefix(parent)?.strip_prefix("::")?,
    };
    match rest.split("::").next() {
        None | Some("") => Some("lib"),
        module => module,
    }
}

fn module_path(source: &Path, file: &Path) -> String {
    let relative: PathBuf = file.strip_prefix(source).unwrap().with_extension("");
    let mut parts: Vec<_> =
        relative.components().map(|part| part.as_os_str().to_str().unwrap()).collect();
    if parts.last().is_some_and(|last| matches!(*last, "mod" | "lib" | "main")) {
        parts.pop();
    }
    parts.join("::")
}

/// Collects the paths that a file names. Modules that are compiled for tests only are left out.
struct Imports {
    module: String,
    source: ModuleSource,
}

impl Imports {
    /// Returns the full path, or `None` for a path that leaves the crate.
    fn absolute(&self, path: &str) -> Option<String> {
        let mut module = self.module.as_str();
        let mut rest = path;
        if let Some(path) = rest.strip_prefix("crate") {
            return Some(path.trim_start_matches("::").to_owned());
        }
        let is_relative = rest == "self" || rest.starts_with("self::") || rest.starts_with("super");
        if let Some(path) = rest.strip_prefix("self") {
            rest = path.trim_start_matches("::");
        }
        while let Some(path) = rest.strip_prefix("super") {
            module = module.rsplit_once("::").map_or("", |(parent, _)| parent);
            rest = path.trim_start_matches("::");
        }
        is_relative.then(|| join(module, rest))
    }

    fn add_tree(&mut self, prefix: &str, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                self.add_tree(&join(prefix, &path.ident.to_string()), &path.tree);
            }
            UseTree::Name(name) if name.ident == "self" => self.add_import(prefix, prefix),
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.add_import(&join(prefix, &name), &name);
            }
            UseTree::Rename(rename) => {
                let path = join(prefix, &rename.ident.to_string());
                self.add_import(&path, &rename.rename.to_string());
            }
            UseTree::Glob(_) => {
                let path = self.absolute(prefix).unwrap_or_else(|| join(&self.module, prefix));
                self.source.globs.push(path);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_tree(prefix, tree);
                }
            }
        }
    }

    fn add_import(&mut self, path: &str, name: &str) {
        let name = name.rsplit("::").next().unwrap_or(name).to_owned();
        // A path without a keyword starts at a child module or leaves the crate.
        let absolute = self.absolute(path).unwrap_or_else(|| join(&self.module, path));
        self.source.paths.insert(absolute.clone());
        self.source.names.insert(name, absolute);
    }
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_test_only(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, import: &'ast ItemUse) {
        if !is_test_only(&import.attrs) {
            self.add_tree("", &import.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Vec<_> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        let imported = parts.first().and_then(|first| self.source.names.get(first)).cloned();
        if let Some(absolute) = self.absolute(&parts.join("::")) {
            self.source.paths.insert(absolute);
        } else if let Some(prefix) = imported.filter(|_| parts.len() > 1) {
            self.source.paths.insert(join(&prefix, &parts[1..].join("::")));
        }
        visit::visit_path(self, path);
    }
}

fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}::{name}") }
}

//! Names of functions and attributes: what a document's imports make of them.

use std::collections::{HashMap, HashSet};

use durward_ir::near::nearest;
use smol_str::{SmolStr, SmolStrBuilder};

use super::diagnostic::{Diagnostic, Problems, quote};
use super::tree::{Document, FunctionName, Import};
use super::walk::{Visit, walk};

/// What the names of functions and attributes in one document mean.
#[derive(Clone, Debug, Default)]
pub struct Names {
    imported: HashMap<SmolStr, SmolStr>,
}

impl Names {
    /// Resolves all names of a document.
    ///
    /// Gives the names, and what is wrong: imports that take the same name (an error), names that neither an import
    /// explains nor a library (an error), imports that nothing uses (a warning). Whether there is such a function is
    /// not looked at.
    ///
    /// ```
    /// use durward_sapl::syntax::{Names, parse};
    ///
    /// let parsed = parse("import filter.blacken as hide policy \"a\" permit transform hide(subject)");
    /// let (names, diagnostics) = Names::resolve(&parsed.tree);
    /// assert!(diagnostics.is_empty());
    /// assert_eq!(names.imported("hide"), Some("filter.blacken"));
    /// ```
    pub fn resolve(document: &Document) -> (Names, Vec<Diagnostic>) {
        Names::resolve_where(document, Importing::Possible)
    }

    /// The same of a document that an expression was put into, whose author can import nothing.
    pub(crate) fn resolve_expression(document: &Document) -> (Names, Vec<Diagnostic>) {
        Names::resolve_where(document, Importing::Impossible)
    }

    fn resolve_where(document: &Document, importing: Importing) -> (Names, Vec<Diagnostic>) {
        let mut problems = Problems::default();
        let names = Names::of_imports(&document.imports, &mut problems);
        let mut check = Check { names: &names, used: HashSet::new(), problems: &mut problems, importing };
        walk(document, &mut check);
        let used = check.used;
        report_unused(&document.imports, &used, &mut problems);
        (names, problems.into_sorted())
    }

    fn of_imports(imports: &[Import], problems: &mut Problems) -> Names {
        let mut imported: HashMap<SmolStr, SmolStr> = HashMap::new();
        for import in imports {
            let full = full_name(import);
            if let Some(first) = imported.get(short_name(import)) {
                let message =
                    format!("{} is imported already, as {}", quote(short_name(import)), quote(first));
                let help = format!("give one of them another name: `import {full} as other`");
                problems.error(import.span, message, Some(help));
                continue;
            }
            imported.insert(short_name(import).clone(), full);
        }
        Names { imported }
    }

    /// Whether names are imported: then the same text can mean something else in another document.
    pub fn has_imports(&self) -> bool {
        !self.imported.is_empty()
    }

    /// What a name of one segment is imported from.
    pub fn imported(&self, name: &str) -> Option<&str> {
        self.imported.get(name).map(SmolStr::as_str)
    }

    /// The full name of a function or attribute: `library.function`. `None` for a name that [`Names::resolve`]
    /// reported as an error.
    pub fn full(&self, name: &FunctionName) -> Option<SmolStr> {
        match name.segments.as_slice() {
            [one] => self.imported.get(&one.text).cloned(),
            [library, function] => Some(joined([&library.text, &function.text])),
            _ => None,
        }
    }
}

fn short_name(import: &Import) -> &SmolStr {
    &import.alias.as_ref().unwrap_or(&import.function).text
}

fn full_name(import: &Import) -> SmolStr {
    joined(import.library.iter().chain([&import.function]).map(|name| &name.text))
}

fn joined<'n>(segments: impl IntoIterator<Item = &'n SmolStr>) -> SmolStr {
    let mut name = SmolStrBuilder::new();
    for (index, segment) in segments.into_iter().enumerate() {
        if index > 0 {
            name.push('.');
        }
        name.push_str(segment);
    }
    name.finish()
}

fn report_unused(imports: &[Import], used: &HashSet<SmolStr>, problems: &mut Problems) {
    for import in imports.iter().filter(|import| !used.contains(short_name(import))) {
        let message = format!("{} is imported and not used", quote(short_name(import)));
        problems.warning(import.span, message, None);
    }
}

/// Whether the author can write imports, for the words of a way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Importing {
    Possible,
    Impossible,
}

/// Looks at every name of a document.
struct Check<'n> {
    names: &'n Names,
    /// The imported names that were met.
    used: HashSet<SmolStr>,
    problems: &'n mut Problems,
    importing: Importing,
}

impl Visit for Check<'_> {
    fn function_name(&mut self, name: &FunctionName) {
        let [one] = name.segments.as_slice() else { return self.check_segments(name) };
        if !self.names.imported.contains_key(&one.text) {
            return self.report_unknown(name, &one.text);
        }
        if !self.used.contains(&one.text) {
            self.used.insert(one.text.clone());
        }
    }
}

impl Check<'_> {
    fn check_segments(&mut self, name: &FunctionName) {
        if name.segments.len() > 2 {
            let written = joined(name.segments.iter().map(|segment| &segment.text));
            let message = format!("{} has too many parts for the name of a function", quote(&written));
            let help = "a function is called `library.function`, or by a name that is imported";
            self.problems.error(name.span, message, Some(help.to_owned()));
        }
    }

    fn report_unknown(&mut self, name: &FunctionName, word: &str) {
        if self.problems.is_full() {
            return;
        }
        let meant = nearest(word, self.names.imported.keys().map(SmolStr::as_str));
        let help = match meant {
            Some(meant) => format!("did you mean {}?", quote(meant)),
            None if self.importing == Importing::Impossible => whole_name(word),
            None => format!("write `library.{word}`, or `import library.{word}` at the top"),
        };
        self.problems.error(name.span, format!("{} is not imported", quote(word)), Some(help));
    }
}

/// How to write a name that cannot be imported.
fn whole_name(word: &str) -> String {
    let of_word = |full: &&str| full.split_once('.').is_some_and(|(_, function)| function == word);
    match durward_library::all().map(|function| function.name).find(of_word) {
        Some(full) => format!("write `{full}`"),
        None => format!("write the library too: `library.{word}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{Severity, parse};

    fn messages(text: &str) -> Vec<String> {
        let parsed = parse(text);
        assert!(!parsed.has_errors(), "{text}: {:?}", parsed.diagnostics);
        let (_, diagnostics) = Names::resolve(&parsed.tree);
        diagnostics.into_iter().map(|one| one.message).collect()
    }

    #[test]
    fn names_are_resolved_wherever_they_stand() {
        for place in [
            "f();",
            "!f();",
            "1 + f() * 2 > 3;",
            "[1, {\"a\": f()}];",
            "subject[?(f(@))];",
            "subject[(f())].x;",
            "subject |- f;",
            "subject |- each a.b(f());",
            "subject |- { @.a[?(f(@))] : a.b };",
            "subject |- { each @.a : f };",
            "subject :: f(@);",
            "<f>;",
            "subject.a.<f>;",
            "<a.b(f())>;",
            "|<a.b[f()]>;",
            "var x = f();",
            "var x = 1 schema f(), 2;",
            "obligation f()",
            "advice a.b(a.c(f()))",
            "transform f()",
        ] {
            let policy = format!("policy \"p\" permit {place}");
            assert_eq!(messages(&policy), ["`f` is not imported"], "{place}");
            assert!(messages(&format!("import a.f {policy}")).is_empty(), "{place}");
            let set = format!("set \"s\" first or deny policy \"q\" permit {policy}");
            assert_eq!(messages(&set), ["`f` is not imported"], "{place}");
        }
        let others =
            ["subject schema f() policy \"p\" permit", "set \"s\" first or deny for f() policy \"p\" permit"];
        for text in others.into_iter().chain(["set \"s\" first or deny var x = f(); policy \"p\" permit"]) {
            assert_eq!(messages(text), ["`f` is not imported"], "{text}");
        }
    }

    #[test]
    fn two_imports_cannot_have_one_name() {
        let text = "import a.f import b.f as g import c.g policy \"p\" permit f(); g();";
        assert_eq!(messages(text), ["`g` is imported already, as `b.f`"]);
    }

    #[test]
    fn an_import_is_known_by_its_alias_only() {
        assert_eq!(
            messages("import a.f as g policy \"p\" permit f();"),
            ["`g` is imported and not used", "`f` is not imported"]
        );
    }

    #[test]
    fn unused_imports_are_no_errors() {
        let parsed = parse("import a.f policy \"p\" permit");
        let (_, diagnostics) = Names::resolve(&parsed.tree);
        assert_eq!(diagnostics.iter().map(|one| one.severity).collect::<Vec<_>>(), [Severity::Warning]);
    }

    #[test]
    fn a_name_has_at_most_two_parts() {
        assert_eq!(
            messages("policy \"p\" permit a.b.c(1);"),
            ["`a.b.c` has too many parts for the name of a function"]
        );
        assert_eq!(messages("policy \"p\" permit <a.b.c>;").len(), 1);
        assert!(messages("policy \"p\" permit a.b(1).c;").is_empty());
    }

    #[test]
    fn warnings_leave_room_for_errors() {
        let imports: String = (0..1000).map(|index| format!("import a.f{index} ")).collect();
        let (_, diagnostics) =
            Names::resolve(&parse(&format!("{imports} policy \"p\" permit unknown();")).tree);
        assert!(diagnostics.iter().any(|one| one.severity == Severity::Error));
    }
}

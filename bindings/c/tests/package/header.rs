//! Holds the header to the sources: every function with its types, every number, every row of an array; and nothing beyond them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::toolchain::package;

/// Declarations by name, without spaces that mean nothing.
type Declarations = BTreeMap<String, String>;

fn sources() -> String {
    let files = std::fs::read_dir(package().join("src")).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| read(&path)).collect()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The header without its comments and lines of the preprocessor.
fn header() -> String {
    let text = read(&package().join("include/durward.h"));
    let mut bare = String::new();
    for (number, part) in text.split("/*").enumerate() {
        bare.push_str(if number == 0 { part } else { part.split_once("*/").unwrap().1 });
    }
    bare.lines().filter(|line| !line.starts_with('#')).flat_map(|line| [line, "\n"]).collect()
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A type of the sources in the words of C.
fn in_c(rust: &str, name: &str) -> String {
    let pointed = |rest: &str| format!("{}*", in_c(rest, "").trim_end_matches(' '));
    let written = match rust {
        "i64" => "int64_t ".to_owned(),
        "usize" => "size_t ".to_owned(),
        "c_char" => "char ".to_owned(),
        _ => match (rust.strip_prefix("*const "), rust.strip_prefix("*mut ")) {
            (Some(rest), _) => format!("const {}", with_space(&pointed(rest))),
            (_, Some(rest)) => with_space(&pointed(rest)),
            (None, None) => format!("{rust} "),
        },
    };
    format!("{written}{name}")
}

/// `char*` is written `char *`, and `char **` keeps its stars together.
fn with_space(pointer: &str) -> String {
    let base = pointer.trim_end_matches('*');
    format!("{} {}", base.trim_end(), &pointer[base.len()..])
}

/// The functions of the sources, as C declares them.
fn functions_of_sources() -> Declarations {
    let text = sources();
    let functions = text.split("extern \"C\" fn ").skip(1).map(|rest| rest.split_once(" {\n").unwrap().0);
    functions.map(function_in_c).collect()
}

fn function_in_c(signature: &str) -> (String, String) {
    let signature = spaced(signature);
    let (name, rest) = signature.split_once('(').unwrap();
    let (parameters, result) = rest.split_once(')').unwrap();
    let parameters: Vec<String> = parameters
        .split(',')
        .map(str::trim)
        .filter(|parameter| !parameter.is_empty())
        .map(|parameter| parameter.split_once(": ").map(|(name, kind)| in_c(kind, name)).unwrap())
        .collect();
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    let result = result.strip_prefix(" -> ").map_or("void ".to_owned(), |kind| in_c(kind, ""));
    (name.to_owned(), format!("{result}{name}({parameters})"))
}

fn functions_of_header() -> Declarations {
    let text = header();
    let declarations = text.split(';').filter(|part| part.contains('(')).map(spaced);
    let named = |declaration: String| {
        let before = declaration.split('(').next().unwrap();
        let name = before.rsplit([' ', '*']).next().unwrap().to_owned();
        (name, declaration)
    };
    // The first follows the brace of `extern "C"`.
    declarations.map(|one| one.trim_start_matches("extern \"C\" { ").to_owned()).map(named).collect()
}

#[test]
fn every_function_is_declared_as_it_is() {
    let (said, is) = (functions_of_header(), functions_of_sources());
    assert!(is.len() > 20);
    assert_eq!(said, is);
}

/// The fuzzer calls the library by declarations of its own, as another language does.
#[test]
fn the_fuzzer_declares_every_function_as_it_is() {
    let text = read(&package().join("../../fuzz/src/c_border/header.rs"));
    let functions = text.split("pub(super) fn ").skip(1).map(|rest| rest.split_once(";\n").unwrap().0);
    assert_eq!(functions.map(function_in_c).collect::<Declarations>(), functions_of_header());
}

/// `DURWARD_NAME = NUMBER` of both.
#[test]
fn every_number_is_the_same() {
    let sources = sources();
    let constants = sources.lines().filter_map(|line| line.trim().strip_prefix("pub(crate) const DURWARD_"));
    let is: BTreeMap<String, String> = constants
        .map(|line| {
            let (name, rest) = line.split_once(": ").unwrap();
            (name.to_owned(), rest.split_once(" = ").unwrap().1.trim_end_matches(';').to_owned())
        })
        .collect();
    let header = header();
    let numbers = header.split([',', '{', '}']).filter_map(|part| part.trim().strip_prefix("DURWARD_"));
    let said: BTreeMap<String, String> = numbers
        .filter_map(|part| part.split_once(" = "))
        .map(|(name, number)| (name.to_owned(), number.to_owned()))
        .collect();
    assert!(is.len() > 10);
    assert_eq!(said, is);
}

/// The fields of `#[repr(C)]` rows, in their order.
#[test]
fn every_row_has_the_same_fields() {
    let (sources, header) = (sources(), header());
    let rows = sources.split("#[repr(C)]\n").skip(1).map(|rest| rest.split_once("\n}").unwrap().0);
    let mut count = 0;
    for row in rows {
        let (head, fields) = row.split_once(" {\n").unwrap();
        let name = head.rsplit(' ').next().unwrap();
        let fields: Vec<String> = fields
            .lines()
            .map(|line| line.trim().trim_end_matches(',').split_once(": ").unwrap())
            .map(|(name, kind)| format!("{};", in_c(kind, name)))
            .collect();
        let said = header.split_once(&format!("typedef struct {name} {{")).unwrap().1;
        let said = spaced(said.split_once('}').unwrap().0);
        assert_eq!(said, fields.join(" "), "{name}");
        count += 1;
    }
    assert_eq!(count, 3);
}

//! Prints every function that a SAPL policy can call, by library: what `docs/sapl-functions.md` is made of.
#![expect(clippy::print_stdout, reason = "printing is all it does")]

fn main() {
    let mut library = "";
    for function in durward_library::all() {
        let (name, _) = function.name.split_once('.').unwrap_or_default();
        if name != library {
            let line_before = if library.is_empty() { "" } else { "\n" };
            println!("{line_before}## `{name}`\n\n| function | result |\n|---|---|");
            library = name;
        }
        println!("| `{function}` | {} |", function.doc);
    }
}

//! Prints every function an XACML policy can call, with its types: what `docs/functions.md` is made of.
#![expect(clippy::print_stdout, reason = "printing is all it does")]

use durward_ir::function::{self, Body, Function};

fn main() {
    println!("| function | identifier | parameters | result |");
    println!("|---|---|---|---|");
    for function in function::all() {
        println!("| `{}` | `{}` | {} |", function.short_name(), function.id, types(function));
    }
    println!("\n## Names of earlier versions\n");
    println!(
        "XACML 1.0, 1.1 and 2.0 have names for some functions that 3.0 does not have. durward accepts these names, too.\n"
    );
    println!("| in earlier versions | in 3.0 |");
    println!("|---|---|");
    for (earlier, current) in function::EARLIER_IDS {
        println!("| `{earlier}` | `{current}` |");
    }
}

fn types(function: &Function) -> String {
    let Some(signature) = function.signature() else {
        let what = if matches!(function.body, Body::HigherOrder(function::HigherOrder::Map)) {
            "bag"
        } else {
            "boolean"
        };
        return format!("a function, values and bags | {what}");
    };
    let mut parameters: Vec<String> = signature.parameters.iter().map(ToString::to_string).collect();
    if let Some(least) = signature.variadic_min
        && let Some(last) = parameters.last_mut()
    {
        last.push_str(&format!(" ... (at least {least} in all)"));
    }
    format!("{} | {}", parameters.join(", "), signature.result)
}

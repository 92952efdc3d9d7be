//! The library `xml`.
//!
//! Documents are read and written as Jackson, the library of the Java engine, does it. An element is an object of its
//! attributes and then what it holds, by names without prefixes, and text stands under an empty name; what comes more
//! than once is an array. An element of text alone is that text, and one that `xsi:nil` says to be nothing is null; the
//! name of the outermost one is lost. Document types are skipped, so that nothing is read but the document, and nothing
//! grows that is short.

mod read;
mod scopes;
mod tag;
#[cfg(test)]
mod tests;
mod write;

use durward_functions::argument::{any, text};
use durward_functions::document::{check_input, made, not_json, place, too_deep, unreadable, unwritable};
use durward_functions::table::row;
use durward_ir::Value;
use durward_ir::fault::Evaluated;
use durward_ir::library::{LibraryFunction, Parameter};

/// The namespace of the attributes that tell what an element is.
const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";

fn xml_to_val(arguments: &[Value]) -> Evaluated<Value> {
    let text = text(arguments, 0)?;
    check_input(text)?;
    match read::read(text) {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(too_deep()),
        Err(wrong) => Err(unreadable("XML", format_args!("{}: {}", place(text, wrong.at), wrong.reason))),
    }
}

fn val_to_xml(arguments: &[Value]) -> Evaluated<Value> {
    let value = any(arguments, 0)?;
    if let Some(reason) = not_json(value, 0) {
        return Err(unwritable("XML", reason));
    }
    made(write::write(value)?)
}

/// The functions of the library `xml`, overloads one by one.
pub const FUNCTIONS: &[LibraryFunction] = &[
    row(
        "xml.valToXml",
        &[Parameter::Any],
        val_to_xml,
        "A value as an XML document; the key of an object with one key is its name.",
    ),
    row("xml.xmlToVal", &[Parameter::Text], xml_to_val, "The value of an XML document."),
];

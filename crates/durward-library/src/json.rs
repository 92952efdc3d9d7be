//! The library `json`: values as JSON text.
//!
//! Reading takes what Jackson 3 takes by default: one value, with nothing behind it.

use durward_functions::jvm;
use durward_functions::limits::append;
use durward_functions::table::{row, unchecked};
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::json;
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::{Any, Text};
use durward_ir::value::{ObjectBuilder, Value, write_json_text};

/// The longest text that is read, in UTF-16 code units, as SAPL has it.
const TEXT_LENGTH_MAX: usize = 1 << 20;

/// How deep arrays and objects may nest, as in SAPL, in reading and writing.
const DEPTH_MAX: usize = 499;

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("json.jsonToVal", &[Text], read,
        "The value of a JSON text; an error when it is none, longer than 1,048,576 characters or too deep."),
    row("json.valToJson", &[Any], write,
        "The value as JSON text without spaces; an error when `undefined` is in it, or when it is too long or too deep."),
];

fn read(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Text(text)] = arguments else { return unchecked() };
    if jvm::length(text) > TEXT_LENGTH_MAX {
        return Err(Fault::processing(format!("the JSON text is longer than {TEXT_LENGTH_MAX} characters")));
    }
    let value =
        json::read(text.as_str()).map_err(|error| Fault::processing(format!("not JSON at {error}")))?;
    plain(value, 0)
}

/// With every number as SAPL makes values of decimals, and nothing too deep.
fn plain(value: Value, depth: usize) -> Evaluated<Value> {
    if let Value::Number(number) = value {
        return Ok(jvm::number(number));
    }
    if let Value::Array(elements) = &value {
        check_depth(depth + 1)?;
        let elements: Evaluated<Vec<Value>> =
            elements.iter().map(|element| plain(element.clone(), depth + 1)).collect();
        return Ok(Value::array(elements?));
    }
    if let Value::Object(object) = &value {
        check_depth(depth + 1)?;
        let mut entries = ObjectBuilder::with_capacity(object.len());
        for (key, element) in object.iter() {
            entries.insert(key.clone(), plain(element.clone(), depth + 1)?);
        }
        return Ok(Value::Object(entries.finish().into()));
    }
    Ok(value)
}

fn check_depth(depth: usize) -> Evaluated<()> {
    if depth > DEPTH_MAX {
        return Err(Fault::processing(format!("the value is more than {DEPTH_MAX} arrays and objects deep")));
    }
    Ok(())
}

fn write(arguments: &[Value]) -> Evaluated<Value> {
    let [value] = arguments else { return unchecked() };
    let mut writer = JsonWriter::default();
    writer.value(value, 0)?;
    Ok(Value::Text(writer.out.into()))
}

#[derive(Default)]
struct JsonWriter {
    out: String,
    length: usize,
}

impl JsonWriter {
    fn push(&mut self, text: &str) -> Evaluated<()> {
        append(&mut self.out, &mut self.length, text)
    }

    fn text(&mut self, text: &str) -> Evaluated<()> {
        let mut quoted = String::with_capacity(text.len() + 2);
        write_json_text(text, &mut quoted);
        self.push(&quoted)
    }

    /// A value inside so many arrays and objects.
    fn value(&mut self, value: &Value, depth: usize) -> Evaluated<()> {
        if let Value::Array(elements) = value {
            check_depth(depth + 1)?;
            self.push("[")?;
            for (at, element) in elements.iter().enumerate() {
                self.push(if at > 0 { "," } else { "" })?;
                self.value(element, depth + 1)?;
            }
            return self.push("]");
        }
        if let Value::Object(object) = value {
            check_depth(depth + 1)?;
            self.push("{")?;
            for (at, (key, element)) in object.iter().enumerate() {
                self.push(if at > 0 { "," } else { "" })?;
                self.text(key)?;
                self.push(":")?;
                self.value(element, depth + 1)?;
            }
            return self.push("}");
        }
        if matches!(value, Value::Undefined) {
            return Err(Fault::processing("JSON has no `undefined`"));
        }
        self.push(&value.to_json())
    }
}

//! The library `json`: values as JSON text.
//!
//! Reading takes what Jackson 3 takes by default: one value, with nothing behind it. Unlike there, an escape for half of
//! a character outside the first 65,536 (`"\ud800"`) is an error, and so is a number whose scale is beyond 1000.

use durward_ir::datatype::Decimal;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::{Any, Text};
use durward_ir::value::{ObjectBuilder, Value, write_json_text};
use jiter::{Jiter, JiterError, Peek};

use crate::jvm;
use crate::limits::append;
use crate::table::{row, unchecked};

/// The longest text that is read, in UTF-16 code units, as SAPL has it.
const TEXT_LENGTH_MAX: usize = 1 << 20;

/// How deep arrays and objects may lie in each other, in SAPL and here, reading and writing.
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
    let mut reader = Reader(Jiter::new(text.as_bytes()));
    let value = reader.value(0)?;
    reader.0.finish().map_err(|error| reader.wrong(&error))?;
    Ok(value)
}

fn check_depth(depth: usize) -> Evaluated<()> {
    if depth > DEPTH_MAX {
        return Err(Fault::processing(format!("the value is more than {DEPTH_MAX} arrays and objects deep")));
    }
    Ok(())
}

struct Reader<'a>(Jiter<'a>);

impl Reader<'_> {
    fn wrong(&self, error: &JiterError) -> Box<Fault> {
        let place = self.0.error_position(error.index);
        let (line, column) = (place.line, place.column);
        Fault::processing(format!("not JSON at line {line}, column {column}: {}", error.error_type))
    }

    /// The next value, inside so many arrays and objects.
    fn value(&mut self, depth: usize) -> Evaluated<Value> {
        let peek = self.0.peek().map_err(|error| self.wrong(&error))?;
        self.peeked(peek, depth)
    }

    fn peeked(&mut self, peek: Peek, depth: usize) -> Evaluated<Value> {
        match peek {
            Peek::Array => self.array(depth + 1),
            Peek::Object => self.object(depth + 1),
            Peek::Null => self.0.known_null().map(|()| Value::Null).map_err(|error| self.wrong(&error)),
            Peek::True | Peek::False => {
                self.0.known_bool(peek).map(Value::Boolean).map_err(|error| self.wrong(&error))
            }
            Peek::String => match self.0.known_str() {
                Ok(text) => Ok(Value::Text(text.into())),
                Err(error) => Err(self.wrong(&error)),
            },
            _ => self.number(peek),
        }
    }

    fn number(&mut self, peek: Peek) -> Evaluated<Value> {
        let digits = match self.0.known_number_bytes(peek) {
            Ok(digits) => str::from_utf8(digits).unwrap_or_default(),
            Err(error) => return Err(self.wrong(&error)),
        };
        let decimal = Decimal::parse(digits).map_err(|reason| {
            Fault::processing(format!("the JSON text has a number that cannot be held: {reason}"))
        })?;
        Ok(jvm::number(decimal))
    }

    fn array(&mut self, depth: usize) -> Evaluated<Value> {
        check_depth(depth)?;
        let mut elements = Vec::new();
        let mut next = self.0.known_array().map_err(|error| self.wrong(&error))?;
        while let Some(peek) = next {
            elements.push(self.peeked(peek, depth)?);
            next = self.0.array_step().map_err(|error| self.wrong(&error))?;
        }
        Ok(Value::array(elements))
    }

    fn object(&mut self, depth: usize) -> Evaluated<Value> {
        check_depth(depth)?;
        let mut entries = ObjectBuilder::new();
        let mut next = self.0.known_object().map(|key| key.map(ToOwned::to_owned));
        loop {
            let Some(key) = next.map_err(|error| self.wrong(&error))? else { break };
            let value = self.value(depth)?;
            entries.insert(key, value);
            next = self.0.next_key().map(|key| key.map(ToOwned::to_owned));
        }
        Ok(Value::Object(entries.finish().into()))
    }
}

fn write(arguments: &[Value]) -> Evaluated<Value> {
    let [value] = arguments else { return unchecked() };
    let mut writer = Writer::default();
    writer.value(value, 0)?;
    Ok(Value::Text(writer.out.into()))
}

#[derive(Default)]
struct Writer {
    out: String,
    length: usize,
}

impl Writer {
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

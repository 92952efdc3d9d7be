//! How a value was written that goes back to its sender: `27.50` is not echoed as `2.75E1`.

use durward_ir::Value;
use smol_str::SmolStr;

use super::identifiers::data_type_uri;

/// The form of a value as sent, kept for values marked `IncludeInResult` whose canonical form differs.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// The text, references resolved.
    pub(crate) form: Form,
    /// The identifier of the data type, where it is another name of the value's.
    pub(crate) data_type: Option<SmolStr>,
}

/// Text or elements.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// The text of the value.
    Text(SmolStr),
    /// The value holds elements, which its text has as they are; these prefixes are declared around it.
    Markup(Vec<(SmolStr, SmolStr)>),
}

impl Written {
    /// What is worth keeping of a value that was written as `text`; `None` where its canonical form says the same.
    pub(crate) fn of(value: &Value, text: &str, data_type: &str) -> Option<Written> {
        let other_type = data_type != data_type_uri(value);
        (other_type || value.lexical() != text).then(|| Written {
            form: Form::Text(SmolStr::new(text)),
            data_type: other_type.then(|| SmolStr::new(data_type)),
        })
    }

    /// The text, unless it is that of the value.
    #[cfg(feature = "json")]
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.form {
            Form::Text(text) => Some(text),
            Form::Markup(_) => None,
        }
    }
}

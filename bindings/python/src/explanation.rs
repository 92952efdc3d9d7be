//! Why a question is answered as it is, as Python holds it.

use durward_embed::Explained;
use pyo3::prelude::*;

/// Why a question is answered as it is.
#[pyclass(frozen, module = "durward")]
pub struct Explanation {
    explained: Explained,
}

impl From<Explained> for Explanation {
    fn from(explained: Explained) -> Explanation {
        Explanation { explained }
    }
}

#[pymethods]
impl Explanation {
    /// In words, many lines.
    #[getter]
    fn text(&self) -> &str {
        &self.explained.text
    }

    /// The same as JSON.
    fn to_json(&self) -> &str {
        &self.explained.json
    }

    fn __str__(&self) -> &str {
        &self.explained.text
    }
}

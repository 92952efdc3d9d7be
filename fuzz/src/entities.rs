//! Entities of JSON lines and of CSV: what is read is found again, in the order of its ids, and a mistake has its line. And members of JSON that
//! are told one by one are those that the reader of values finds.

use durward_entities::{EntitiesBuilder, Limits};
use durward_ir::Value;
use durward_ir::json::{self, RawMembers, read_members};
use durward_ir::question::{RawValue, WantsValues};

const LIMITS: Limits = Limits { entities_max: 1_000, bytes_max: 1 << 20 };

pub(crate) fn run(bytes: &[u8]) {
    let text = crate::text(bytes);
    for kind in [None, Some("user")] {
        let mut builder = EntitiesBuilder::new(LIMITS);
        let read = match kind {
            None => builder.add_json_lines("e", text).and_then(|()| builder.add_csv("f", text, None)),
            Some(kind) => builder.add_csv("e", text, Some(kind)),
        };
        match read {
            Ok(()) => are_found(builder, kind),
            Err(error) => assert!(!error.to_string().is_empty() && error.line <= 1 + text.len() as u64),
        }
    }
    told(text);
}

fn are_found(builder: EntitiesBuilder, kind: Option<&str>) {
    let entities = builder.finish();
    let kind = kind.unwrap_or("user");
    let ids: Vec<_> = entities.after(kind, None).map(|(id, _)| id.clone()).collect();
    assert!(ids.is_sorted() && ids.len() <= entities.len() && entities.has_type(kind) != ids.is_empty());
    for (at, id) in ids.iter().enumerate() {
        assert!(entities.get(kind, id).is_some());
        assert_eq!(entities.after(kind, Some(id)).count(), ids.len() - at - 1);
    }
}

/// Compares what is told with the values.
struct Compare<'v>(&'v Value);

impl<'t> RawMembers<'t> for Compare<'_> {
    fn enters(&mut self, path: &[&'t str]) -> Result<bool, WantsValues> {
        Ok(path.len() < 3)
    }

    fn member(&mut self, path: &[&'t str], value: RawValue<'t>) -> Result<(), WantsValues> {
        let mut found = self.0;
        for key in path {
            let object = found.as_object().expect("an object is told as one");
            found = object.get(key).expect("a member that is told is there");
        }
        assert!(value.into_value().equals(found), "{path:?}");
        Ok(())
    }
}

/// Of a text in which no key comes twice, the members are those of its values.
fn told(text: &str) {
    if let Ok(value) = json::read_unique(text) {
        let is_told = read_members(text.as_bytes(), &mut Compare(&value));
        assert!(is_told.is_err() || value.as_object().is_some());
    }
}

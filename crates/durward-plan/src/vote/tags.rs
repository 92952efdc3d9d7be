//! What goes along with a vote, by number.

use durward_ir::combine::Duties;

/// What goes along with a vote.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Tag(u16);

impl Tag {
    /// Nothing.
    pub(crate) const NONE: Tag = Tag(0);
    /// Something that depends on the row; no resource.
    const VARIES: Tag = Tag(1);
    /// The same, and maybe a resource.
    pub(crate) const VARIES_WITH_RESOURCE: Tag = Tag(2);

    /// Something that depends on the row.
    pub(super) fn varying(has_resource: bool) -> Tag {
        if has_resource { Tag::VARIES_WITH_RESOURCE } else { Tag::VARIES }
    }

    /// Whether it depends on the row.
    pub(crate) fn varies(self) -> bool {
        self == Tag::VARIES || self == Tag::VARIES_WITH_RESOURCE
    }
}

/// So many different things may go along; what is more counts as depending on the row.
const TAGS_MAX: usize = 48;

/// All that goes along with votes.
#[derive(Debug)]
pub(crate) struct Tags(Vec<Duties>);

impl Default for Tags {
    fn default() -> Tags {
        // Nothing, and room for the two that depend on the row.
        Tags(vec![Duties::default(); 3])
    }
}

impl Tags {
    /// The duties of a tag that does not depend on the row.
    pub(crate) fn duties(&self, tag: Tag) -> Option<&Duties> {
        if tag.varies() { None } else { self.0.get(usize::from(tag.0)) }
    }

    /// Whether a resource may be among them.
    pub(super) fn has_resource(&self, tag: Tag) -> bool {
        match self.duties(tag) {
            Some(duties) => duties.resource.is_some(),
            None => tag == Tag::VARIES_WITH_RESOURCE,
        }
    }

    /// The tag of these.
    pub(super) fn of(&mut self, duties: &Duties) -> Tag {
        if duties.is_empty() {
            return Tag::NONE;
        }
        let known = self.0.iter().position(|other| other.equals(duties) && !other.is_empty());
        if let Some(known) = known {
            return Tag(known as u16);
        }
        if self.0.len() >= TAGS_MAX {
            return Tag::varying(duties.resource.is_some());
        }
        self.0.push(duties.clone());
        Tag(self.0.len() as u16 - 1)
    }

    /// One behind the other.
    pub(super) fn appended(&mut self, first: Tag, second: Tag) -> Tag {
        if second == Tag::NONE {
            return first;
        }
        if first == Tag::NONE {
            return second;
        }
        let (Some(one), Some(other)) = (self.duties(first), self.duties(second)) else {
            return Tag::varying(self.has_resource(first) || self.has_resource(second));
        };
        let mut both = one.clone();
        both.append(other.clone());
        self.of(&both)
    }
}

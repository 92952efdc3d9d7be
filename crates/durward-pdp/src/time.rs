//! The time of a decision: `current-time`, `current-date` and `current-dateTime` (XACML 3.0, 10.2.5).

use std::time::SystemTime;

use durward_ir::program::{SlotId, Slots};
use durward_ir::{DataType, Value};
use jiff::Timestamp;
use jiff::tz::TimeZone;

const CATEGORY: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:environment";
const CURRENT: [(&str, DataType); 3] = [
    ("urn:oasis:names:tc:xacml:1.0:environment:current-time", DataType::Time),
    ("urn:oasis:names:tc:xacml:1.0:environment:current-date", DataType::Date),
    ("urn:oasis:names:tc:xacml:1.0:environment:current-dateTime", DataType::DateTime),
];

/// The slots that read the time, one for each entry of [`CURRENT`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TimeSlots([Option<SlotId>; 3]);

/// The time of one request, in the order of [`CURRENT`]: one moment, so that the three never disagree.
#[derive(Debug, Default)]
pub(crate) struct Moment([Option<Value>; 3]);

impl TimeSlots {
    pub(crate) fn of(slots: &Slots) -> TimeSlots {
        TimeSlots(CURRENT.map(|(id, data_type)| {
            slots
                .names()
                .find(|(_, name)| {
                    name.id == id
                        && name.category == CATEGORY
                        && name.data_type == data_type
                        && name.issuer.is_none()
                })
                .map(|(slot, _)| slot)
        }))
    }

    /// Whether any policy reads the time.
    #[inline]
    pub(crate) fn is_used(&self) -> bool {
        self.0.iter().any(Option::is_some)
    }

    /// Whether policies read the time and no source is there to say it.
    pub(crate) fn is_needed(&self, is_sourced: &[bool]) -> bool {
        self.0.iter().flatten().any(|slot| is_sourced.get(slot.0 as usize) != Some(&true))
    }

    /// The slots with the values of a moment.
    pub(crate) fn with<'m>(&self, moment: &'m Moment) -> impl Iterator<Item = (SlotId, &'m [Value])> {
        let pairs = self.0.into_iter().zip(&moment.0);
        pairs.filter_map(|(slot, value)| Some((slot?, std::slice::from_ref(value.as_ref()?))))
    }
}

impl Moment {
    /// This moment in UTC. A clock beyond the years that dates can express gives nothing, and policies that need
    /// the time are then Indeterminate or do not apply.
    pub(crate) fn at(now: SystemTime) -> Moment {
        let Ok(timestamp) = Timestamp::try_from(now) else { return Moment::default() };
        let local = timestamp.to_zoned(TimeZone::UTC);
        let date = local.date().to_string();
        let time = local.time().to_string();
        let texts = [format!("{time}Z"), format!("{date}Z"), format!("{date}T{time}Z")];
        let mut values = [None, None, None];
        for ((value, text), (_, data_type)) in values.iter_mut().zip(texts).zip(CURRENT) {
            *value = Value::parse(data_type, &text).ok();
        }
        Moment(values)
    }
}

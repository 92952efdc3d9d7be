//! Messages in protocol buffers: whatever is read is written and read again as the same.

use bytes::BytesMut;
use durward_wire::sapl::protobuf::{
    Limits, read_decision, read_multi_subscription, read_raw, read_subscription, write_decision,
    write_multi_subscription, write_subscription,
};
use durward_sapl::Subscription;

const LIMITS: Limits = Limits { values_max: 10_000, subscriptions_max: 256 };

pub(crate) fn run(bytes: &[u8]) {
    let mut out = BytesMut::new();
    if let Some(raw) = read_raw(bytes, &LIMITS) {
        let (raw, read) = (Subscription::from_raw(raw), read_subscription(bytes, &LIMITS).unwrap());
        assert_eq!(format!("{raw:?}"), format!("{read:?}"));
    }
    if let Ok(subscription) = read_subscription(bytes, &LIMITS) {
        // Numbers may be longer without their exponent, and so too long to be read again.
        write_subscription(&mut out, &subscription).unwrap();
        if let Ok(again) = read_subscription(&out, &LIMITS) {
            let before = out.split();
            write_subscription(&mut out, &again).unwrap();
            assert_eq!(before, out);
        }
    }
    out.clear();
    if let Ok(multi) = read_multi_subscription(bytes, &LIMITS) {
        write_multi_subscription(&mut out, &multi).unwrap();
    }
    out.clear();
    if let Ok(decision) = read_decision(bytes, LIMITS.values_max) {
        write_decision(&mut out, &decision);
        assert!(read_decision(&out, LIMITS.values_max).is_err() || !out.is_empty());
    }
}

//! The library `permissions`: sets of permissions as the bits of whole numbers of 64 bits, and the modes of Unix files.
//!
//! A set must be written without a fraction (`6.0` is none), a mask in an array need only be a whole number.

use durward_functions::jvm::{long, whole};
use durward_functions::table::{row, unchecked};
use durward_ir::datatype::Decimal;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::{Array, Number};
use durward_ir::value::Value;

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("permissions.hasAll", &[Number, Array], |a| check(a, |set, mask| set & mask == mask),
        "Whether the set has every permission of all masks."),
    row("permissions.hasAny", &[Number, Array], |a| check(a, |set, mask| set & mask != 0),
        "Whether the set has any permission of any mask."),
    row("permissions.hasNone", &[Number, Array], |a| check(a, |set, mask| set & mask == 0),
        "Whether the set has no permission of any mask."),
    row("permissions.hasExact", &[Number, Number], |a| compare(a, |set, mask| set == mask),
        "Whether the set is the mask."),
    row("permissions.hasOnly", &[Number, Array], |a| check(a, |set, mask| set & !mask == 0),
        "Whether the set has no permission but those of the masks."),
    row("permissions.combine", &[Array], combine, "The permissions of any of the masks."),
    row("permissions.combineAll", &[Array], combine_all,
        "The permissions that all masks have; an error when there is no mask."),
    row("permissions.isSubsetOf", &[Number, Number], |a| compare(a, |part, set| part & set == part),
        "Whether the second set has every permission of the first."),
    row("permissions.overlaps", &[Number, Number], |a| compare(a, |a, b| a & b != 0),
        "Whether both sets have a permission in common."),
    row("permissions.areDisjoint", &[Number, Number], |a| compare(a, |a, b| a & b == 0),
        "Whether both sets have no permission in common."),
    row("permissions.unixOwner", &[Number], |a| of(a, |mode| whole(mode >> 6 & 7)), "The owner's part of a mode, 0 to 7."),
    row("permissions.unixGroup", &[Number], |a| of(a, |mode| whole(mode >> 3 & 7)), "The group's part of a mode, 0 to 7."),
    row("permissions.unixOther", &[Number], |a| of(a, |mode| whole(mode & 7)), "All others' part of a mode, 0 to 7."),
    row("permissions.unixMode", &[Number, Number, Number], unix_mode,
        "The mode of the owner's, the group's and all others' part; an error unless each is 0 to 7."),
    row("permissions.unixCanRead", &[Number], |a| of(a, |part| Value::Boolean(part & 4 != 0)),
        "Whether a part of a mode has the bit 4."),
    row("permissions.unixCanWrite", &[Number], |a| of(a, |part| Value::Boolean(part & 2 != 0)),
        "Whether a part of a mode has the bit 2."),
    row("permissions.unixCanExecute", &[Number], |a| of(a, |part| Value::Boolean(part & 1 != 0)),
        "Whether a part of a mode has the bit 1."),
    row("permissions.posixRead", &[], |_| Ok(whole(4)), "4"),
    row("permissions.posixWrite", &[], |_| Ok(whole(2)), "2"),
    row("permissions.posixExecute", &[], |_| Ok(whole(1)), "1"),
    row("permissions.posixAll", &[], |_| Ok(whole(7)), "7"),
    row("permissions.posixNone", &[], |_| Ok(whole(0)), "0"),
    row("permissions.posixRW", &[], |_| Ok(whole(6)), "6"),
    row("permissions.posixRX", &[], |_| Ok(whole(5)), "5"),
    row("permissions.posixWX", &[], |_| Ok(whole(3)), "3"),
    row("permissions.posixMode755", &[], |_| Ok(whole(0o755)), "The mode 755, which is 493."),
    row("permissions.posixMode644", &[], |_| Ok(whole(0o644)), "The mode 644, which is 420."),
    row("permissions.posixMode777", &[], |_| Ok(whole(0o777)), "The mode 777, which is 511."),
    row("permissions.posixMode600", &[], |_| Ok(whole(0o600)), "The mode 600, which is 384."),
    row("permissions.posixMode666", &[], |_| Ok(whole(0o666)), "The mode 666, which is 438."),
    row("permissions.grant", &[Number, Array], |a| change(a, |set, mask| set | mask),
        "The set with the permissions of the masks."),
    row("permissions.revoke", &[Number, Array], |a| change(a, |set, mask| set & !mask),
        "The set without the permissions of the masks."),
    row("permissions.toggle", &[Number, Array], |a| change(a, |set, mask| set ^ mask),
        "The set with the permissions of the masks inverted."),
    row("permissions.none", &[], |_| Ok(whole(0)), "0, the set of no permission."),
    row("permissions.all", &[], |_| Ok(whole(-1)), "-1, the set of all 64 permissions."),
    row("permissions.bit", &[Number], bit, "The set of this permission, 0 to 63."),
];

fn set(number: &Decimal) -> Evaluated<i64> {
    long(number).ok_or_else(|| not_whole(number))
}

fn not_whole(number: &Decimal) -> Box<Fault> {
    Fault::processing(format!("permissions must be a whole number of 64 bits, not {number}"))
}

fn masks(masks: &[Value]) -> impl Iterator<Item = Evaluated<i64>> + '_ {
    masks.iter().map(|mask| {
        let Value::Number(number) = mask else {
            return Err(Fault::processing("all masks of permissions must be numbers"));
        };
        number.to_i64().ok_or_else(|| not_whole(number))
    })
}

fn union(array: &[Value]) -> Evaluated<i64> {
    masks(array).try_fold(0, |union, mask| Ok(union | mask?))
}

fn set_and_masks(arguments: &[Value]) -> Evaluated<(i64, i64)> {
    match arguments {
        [Value::Number(number), Value::Array(array)] => {
            let mask = union(array)?;
            Ok((set(number)?, mask))
        }
        _ => unchecked().map(|_| (0, 0)),
    }
}

fn check(arguments: &[Value], holds: impl Fn(i64, i64) -> bool) -> Evaluated<Value> {
    let (set, mask) = set_and_masks(arguments)?;
    Ok(Value::Boolean(holds(set, mask)))
}

fn change(arguments: &[Value], change: impl Fn(i64, i64) -> i64) -> Evaluated<Value> {
    let (set, mask) = set_and_masks(arguments)?;
    Ok(whole(change(set, mask)))
}

fn compare(arguments: &[Value], holds: impl Fn(i64, i64) -> bool) -> Evaluated<Value> {
    let [Value::Number(a), Value::Number(b)] = arguments else { return unchecked() };
    Ok(Value::Boolean(holds(set(a)?, set(b)?)))
}

fn of(arguments: &[Value], value: impl Fn(i64) -> Value) -> Evaluated<Value> {
    let [Value::Number(number)] = arguments else { return unchecked() };
    Ok(value(set(number)?))
}

fn combine(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Array(array)] = arguments else { return unchecked() };
    Ok(whole(union(array)?))
}

fn combine_all(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Array(array)] = arguments else { return unchecked() };
    if array.is_empty() {
        return Err(Fault::processing("there is no mask whose permissions all could have"));
    }
    let all: Evaluated<i64> = masks(array).try_fold(-1, |all, mask| Ok(all & mask?));
    Ok(whole(all?))
}

fn unix_mode(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Number(owner), Value::Number(group), Value::Number(other)] = arguments else {
        return unchecked();
    };
    let part = |number: &Decimal, whose: &str| match set(number)? {
        part @ 0..=7 => Ok(part),
        part => Err(Fault::processing(format!("the {whose} permissions must be 0 to 7, not {part}"))),
    };
    Ok(whole(part(owner, "owner's")? << 6 | part(group, "group's")? << 3 | part(other, "other")?))
}

fn bit(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Number(place)] = arguments else { return unchecked() };
    match place.to_i64() {
        Some(at @ 0..=63) => Ok(whole(1_i64 << at)),
        Some(_) | None => Err(Fault::processing(format!("a bit must be 0 to 63, not {place}"))),
    }
}

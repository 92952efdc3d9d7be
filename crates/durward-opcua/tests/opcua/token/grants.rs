use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_identity::SystemEntropy;
use durward_identity::jwt::Algorithm;
use durward_opcua::permission::Permission;
use durward_opcua::token::{GrantVerdict, Grants, GrantsError, NodeTable};

use super::{NOW, issue, keys, table};

/// Numbers that look like chance, alike each time.
fn noise(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    }
}

fn random(table: &NodeTable, permissions: &[Permission], seed: u64) -> Grants {
    let (mut grants, mut next) = (Grants::none(table), noise(seed));
    for row in 0..table.len() as u32 {
        for permission in permissions {
            let verdict = match next() % 4 {
                0 => GrantVerdict::Granted,
                1 => GrantVerdict::Ask,
                _ => GrantVerdict::Refused,
            };
            grants.set(row, *permission, verdict);
        }
    }
    grants
}

fn all(grants: &Grants) -> Vec<GrantVerdict> {
    let rows = 0..grants.rows() as u32 + 70;
    rows.flat_map(|row| Permission::ALL.map(|permission| grants.get(row, permission))).collect()
}

#[test]
fn what_is_set_is_what_is_read_in_every_form() {
    for rows in [0, 1, 7, 8, 63, 64, 65, 1000] {
        let table = table(rows);
        for permissions in [&[][..], &[Permission::Read], &Permission::ALL] {
            let random = random(&table, permissions, u64::from(rows));
            let mut blocks = Grants::none(&table);
            for row in (0..rows).filter(|row| row / 40 % 2 == 0) {
                permissions.iter().for_each(|permission| blocks.set(row, *permission, GrantVerdict::Granted));
            }
            for grants in [random, blocks] {
                let back = Grants::decode(&grants.encode(), &table).unwrap();
                assert_eq!(all(&back), all(&grants));
            }
        }
    }
}

#[test]
fn what_is_not_said_is_refused() {
    let table = table(10);
    let mut grants = Grants::none(&table);
    assert!(all(&grants).iter().all(|verdict| *verdict == GrantVerdict::Refused));
    grants.set(3, Permission::Write, GrantVerdict::Granted);
    grants.set(3, Permission::Write, GrantVerdict::Ask);
    assert_eq!(grants.get(3, Permission::Write), GrantVerdict::Ask);
    grants.set(3, Permission::Write, GrantVerdict::Refused);
    assert_eq!(grants.get(3, Permission::Write), GrantVerdict::Refused);
    grants.set(10, Permission::Read, GrantVerdict::Granted);
    grants.set(u32::MAX, Permission::Read, GrantVerdict::Granted);
    assert_eq!(grants, Grants::none(&table));
    assert_eq!(
        Grants::decode(&grants.encode(), &table).unwrap().get(3, Permission::Write),
        GrantVerdict::Refused
    );
}

#[test]
fn grants_over_another_table_are_refused() {
    let (ours, theirs, fewer) = (table(100), super::table::other(100), table(99));
    let text = random(&ours, &[Permission::Read], 1).encode();
    assert!(Grants::decode(&text, &ours).is_ok());
    assert_eq!(Grants::decode(&text, &theirs), Err(GrantsError::OtherTable));
    assert_eq!(Grants::decode(&text, &fewer), Err(GrantsError::OtherTable));
}

/// The bytes of grants over a table: 1 and the form, the version, rows, masks, columns.
fn made(table: &NodeTable, form: u8, rows: &[u8], masks: &[u8], columns: &[u8]) -> String {
    let first = [1 | form << 4];
    let bytes = [&first[..], &table.version().bytes(), rows, masks, columns].concat();
    URL_SAFE_NO_PAD.encode(bytes)
}

#[test]
fn damaged_grants_are_refused() {
    let table = table(10);
    let read = |form, masks: &[u8], columns: &[u8]| {
        Grants::decode(&made(&table, form, &[10], masks, columns), &table)
    };
    assert!(read(0, &[0x20, 0], &[0xff, 0x03]).is_ok());
    assert!(read(1, &[0x20, 0], &[0, 10]).is_ok());
    for (form, masks, columns) in [
        // A bit behind the last row; too few and too many bytes; an empty column; a mask with unknown permissions.
        (0, &[0x20, 0][..], &[0xff, 0x07][..]),
        (0, &[0x20, 0], &[0xff]),
        (0, &[0x20, 0], &[0xff, 0x03, 0x00]),
        (0, &[0x20, 0], &[0x00, 0x00]),
        (0, &[0x80, 0x80, 0x08, 0], &[0xff, 0x03]),
        // Granted and asked at once.
        (0, &[0x20, 0x20], &[0x01, 0x00, 0x01, 0x00]),
        // Runs that are too short, too long, or empty.
        (1, &[0x20, 0], &[0, 9]),
        (1, &[0x20, 0], &[0, 11]),
        (1, &[0x20, 0], &[10]),
        (1, &[0x20, 0], &[0, 0, 10]),
        (1, &[0x20, 0], &[1, 0, 9]),
        (1, &[0x20, 0], &[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
        // No deflated bytes, and an unknown form.
        (2, &[0x20, 0], &[0xff, 0x03]),
        (3, &[0x20, 0], &[0xff, 0x03]),
    ] {
        assert_eq!(read(form, masks, columns), Err(GrantsError::Malformed), "{form} {masks:?} {columns:?}");
    }
    // More, or fewer, when unpacked than the columns have.
    for length in [1, 3, 1 << 20] {
        let columns = miniz_oxide::deflate::compress_to_vec(&vec![1; length], 9);
        assert_eq!(read(2, &[0x20, 0], &columns), Err(GrantsError::Malformed), "{length}");
    }
    assert!(read(2, &[0x20, 0], &miniz_oxide::deflate::compress_to_vec(&[1, 1], 9)).is_ok());
    let rows = |rows: &[u8]| Grants::decode(&made(&table, 0, rows, &[0, 0], &[]), &table);
    assert_eq!(rows(&[11]), Err(GrantsError::OtherTable));
    assert_eq!(rows(&[0xff, 0xff, 0xff, 0xff, 0x7f]), Err(GrantsError::Malformed));
    for text in ["", "!", "AA", "AQ=="] {
        assert_eq!(Grants::decode(text, &table), Err(GrantsError::Malformed), "{text}");
    }
    let whole = random(&table, &Permission::ALL, 5).encode();
    for end in 0..whole.len() {
        assert!(Grants::decode(&whole[..end], &table).is_err(), "cut at {end}");
    }
}

/// Whatever is changed in grants: they are refused, or are grants, and come back as such.
#[test]
fn changed_grants_are_refused_or_are_grants() {
    let table = table(100);
    let mut blocks = Grants::none(&table);
    (20..60).for_each(|row| blocks.set(row, Permission::Read, GrantVerdict::Granted));
    for grants in [random(&table, &[Permission::Read, Permission::Call], 9), blocks] {
        let bytes = URL_SAFE_NO_PAD.decode(grants.encode()).unwrap();
        for at in 0..bytes.len() {
            for change in 1..=255 {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                if let Ok(read) = Grants::decode(&URL_SAFE_NO_PAD.encode(&changed), &table) {
                    assert_eq!(Grants::decode(&read.encode(), &table).as_ref(), Ok(&read));
                    assert_ne!(read, grants, "{at}: a second way to write the same");
                }
            }
        }
    }
}

/// Reference, 6.4, has 403, 456, 1055 and 3722 bytes for a whole JWT with three bits a node, without `kid`, `jti`, `nbf`, `cnf` and
/// `roles`, which are 240 bytes here.
#[test]
fn whole_tokens_are_short() {
    let keys = keys(Algorithm::Es256);
    let length = |grants: &Grants| issue(grants).sign(&keys, NOW, &SystemEntropy).unwrap().len();
    let three = [Permission::Read, Permission::Write, Permission::Call];
    for (nodes, by_chance_max, by_area_max) in
        [(20, 760, 760), (100, 820, 780), (1000, 1420, 820), (5000, 4100, 960)]
    {
        let table = table(nodes);
        let (mut by_chance, mut by_area, mut next) = (Grants::none(&table), Grants::none(&table), noise(3));
        for row in 0..nodes {
            for permission in three {
                if next() % 2 == 0 {
                    by_chance.set(row, permission, GrantVerdict::Granted);
                }
            }
            // An operator of every third unit of fifty nodes, who reads all of them, writes one in five, calls one in ten.
            if row / 50 % 3 == 0 {
                by_area.set(row, Permission::Read, GrantVerdict::Granted);
                let may = |is: bool| if is { GrantVerdict::Granted } else { GrantVerdict::Refused };
                by_area.set(row, Permission::Write, may(row % 5 == 0));
                by_area.set(row, Permission::Call, may(row % 10 == 0));
            }
        }
        let (by_chance, by_area) = (length(&by_chance), length(&by_area));
        println!("{nodes} nodes: {by_chance} bytes by chance, {by_area} by area");
        assert!(by_chance <= by_chance_max && by_area <= by_area_max, "{nodes}: {by_chance} {by_area}");
    }
}

#[test]
fn permissions_that_do_not_fit_into_a_token_are_not_signed() {
    let table = table(40_000);
    let grants = random(&table, &[Permission::Read, Permission::Write, Permission::Call], 2);
    let error = issue(&grants).sign(&keys(Algorithm::EdDsa), NOW, &SystemEntropy).unwrap_err();
    assert!(error.to_string().contains("longer than 16384"), "{error}");
}

#[test]
fn how_much_is_granted_shows_without_the_table() {
    let table = table(200);
    let mut grants = Grants::none(&table);
    (0..150).for_each(|row| grants.set(row, Permission::Read, GrantVerdict::Granted));
    (150..157).for_each(|row| grants.set(row, Permission::Read, GrantVerdict::Ask));
    grants.set(3, Permission::Call, GrantVerdict::Ask);
    let summary = Grants::summary(&grants.encode()).unwrap();
    assert_eq!((summary.version, summary.rows), (table.version(), 200));
    assert_eq!(summary.of(Permission::Read), (150, 7));
    assert_eq!(summary.of(Permission::Call), (0, 1));
    assert_eq!(summary.of(Permission::Write), (0, 0));
    assert_eq!(Grants::summary("AAAA"), None);
    assert_eq!(Grants::summary(""), None);
}

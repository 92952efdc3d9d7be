use std::sync::Arc;

use durward_opcua::token::{NodeTable, TABLE_NODES_MAX, TableNode, TableRows};
use miniz_oxide::deflate::compress_to_vec;
use opcua_types::{ByteString, Guid, Identifier, NodeId, UAString};

use super::{PLANT, table};

fn node(text: &str) -> TableNode {
    text.parse().unwrap()
}

fn mixed() -> Vec<TableNode> {
    vec![
        node("nsu=urn:b;s=Line1.Motor3.Speed"),
        node("nsu=urn:b;s=Line1.Motor3"),
        node("nsu=urn:a;i=7"),
        node("i=85"),
        node("nsu=urn:a;i=4294967295"),
        node("nsu=urn:a;i=0"),
        node("nsu=urn:a;g=09087e75-8e5e-499b-954f-f2a9603db28a"),
        node("nsu=urn:b;b=AQIDBA=="),
        node("nsu=urn:b;s=Linie ä€"),
        node("nsu=urn:with%3Bsign%25;s=x;y=z"),
    ]
}

#[test]
fn nodes_come_back_from_their_text() {
    for node in mixed() {
        assert_eq!(node.to_string().parse::<TableNode>().unwrap(), node);
    }
    assert_eq!(node("nsu=urn:with%3Bsign%25;s=x").namespace(), "urn:with;sign%");
    assert_eq!(node("i=85").namespace(), "http://opcfoundation.org/UA/");
}

#[test]
fn texts_that_are_no_node_say_why() {
    for (text, why) in [
        ("", "write `nsu=URI;`"),
        ("a€", "write `nsu=URI;`"),
        ("ns=2;i=7", "write `nsu=URI;`"),
        ("i=", "cannot be read"),
        ("i=-1", "cannot be read"),
        ("i=4294967296", "cannot be read"),
        ("g=7", "cannot be read"),
        ("b=!", "cannot be read"),
        ("nsu=urn:a", "`;` is missing"),
        ("nsu=;i=1", "namespace URI has 1 to"),
        ("nsu=urn:%41;i=1", "`%` stands only in"),
        ("nsu=urn:%2;i=1", "`%` stands only in"),
        ("s=", "identifier has 1 to"),
        ("b=", "identifier has 1 to"),
    ] {
        let error = text.parse::<TableNode>().unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    assert!(TableNode::new("urn:a", UAString::null()).is_err());
    assert!(TableNode::new("urn:a", "x".repeat(4096).as_str()).is_ok());
    assert!(TableNode::new("urn:a", "x".repeat(4097).as_str()).is_err());
    assert!(TableNode::new("u".repeat(1025), 1_u32).is_err());
}

#[test]
fn whoever_has_the_nodes_comes_to_the_same_table() {
    let one = NodeTable::new(mixed()).unwrap();
    let other = NodeTable::new(mixed().into_iter().rev().chain(mixed())).unwrap();
    assert_eq!((one.version(), one.len()), (other.version(), 10));
    let fewer = NodeTable::new(mixed().into_iter().skip(1)).unwrap();
    assert_ne!(one.version(), fewer.version());
    let rows = |table: &NodeTable| {
        table.iter().map(|(uri, identifier)| format!("{uri} {identifier}")).collect::<Vec<_>>()
    };
    assert_eq!(rows(&one), rows(&other));
    for (row, (namespace, identifier)) in (0..).zip(one.iter()) {
        assert_eq!(one.row(namespace, identifier), Some(row));
    }
    assert_eq!(one.row("urn:a", &Identifier::Numeric(8)), None);
    assert_eq!(one.row("urn:c", &Identifier::Numeric(7)), None);
    assert_eq!(one.node(10), None);
}

#[test]
fn tables_come_back_from_what_is_published() {
    for table in [NodeTable::new(mixed()).unwrap(), NodeTable::new([]).unwrap(), table(5000)] {
        let packed = table.pack();
        let back = NodeTable::read(&packed).unwrap();
        assert_eq!((back.version(), back.len()), (table.version(), table.len()));
        assert!(back.iter().eq(table.iter()));
        for end in 0..packed.len() {
            assert!(NodeTable::read(&packed[..end]).is_err(), "cut at {end}");
        }
    }
}

#[test]
fn a_thousand_siblings_are_published_in_few_bytes() {
    let name = |at: u32| format!("Line{}.Motor{:02}.Speed.Setpoint", at / 100, at % 100);
    let nodes = (0..1000).map(|at| TableNode::new(PLANT, name(at).as_str()).unwrap());
    let packed = NodeTable::new(nodes).unwrap().pack();
    assert!(packed.len() < 2_000, "{}", packed.len());
}

fn packed(plain: &[u8]) -> Vec<u8> {
    compress_to_vec(plain, 6)
}

#[test]
fn hostile_tables_are_refused_before_they_grow() {
    let why = |bytes: &[u8]| NodeTable::read(bytes).unwrap_err().to_string();
    assert!(why(b"garbage").contains("cannot be unpacked"));
    assert!(why(&packed(b"\x02\x00")).contains("no node table"));
    assert!(why(&packed(b"")).contains("no node table"));
    // 200 MB of zeros in 200 kB.
    assert!(why(&packed(&vec![0; 200 << 20])).contains("too large"));
    assert!(why(&vec![0; (32 << 20) + 1]).contains("bytes as it is published"));
    // Counts that promise what does not follow.
    assert!(why(&packed(b"\x01\xff\xff\xff\xff\x0f")).contains("4096 namespaces"));
    assert!(why(&packed(b"\x01\x01\x01u\xff\xff\xff\xff\x0f")).contains("1000000 nodes"));
    assert!(why(&packed(b"\x01\x01\x01u\x02\x00")).contains("cut short"));
    assert!(why(&packed(b"\x01\x01\x00")).contains("cut short"));
    // A second way to write a table: numbers in more bytes than they need, namespaces without nodes, wrong order.
    assert!(why(&packed(b"\x01\x81\x00\x01u\x01\x05\x00\x00\x00")).contains("cut short"));
    assert!(why(&packed(b"\x01\x01\x01u\x00\x00\x00\x00")).contains("no node"));
    assert!(why(&packed(b"\x01\x02\x01b\x01a")).contains("not in its order"));
    assert!(
        why(&packed(b"\x01\x01\x01u\x02\x01\xff\xff\xff\xff\x0f\x00\x00\x00")).contains("not in its order")
    );
    assert!(why(&packed(b"\x01\x01\x01u\x00\x02\x00\x01b\x00\x01a\x00\x00")).contains("not in its order"));
    assert!(why(&packed(b"\x01\x01\x01u\x00\x01\x00\x01\xff\x00\x00")).contains("no UTF-8"));
    assert!(why(&packed(b"\x01\x01\x01u\x01\x05\x00\x00\x00!")).contains("behind the end"));
    assert!(NodeTable::read(&packed(b"\x01\x01\x01u\x01\x05\x00\x00\x00")).is_ok());
}

/// Whatever is changed in a table: it is refused, or it is a table, and comes back as one.
#[test]
fn changed_tables_are_refused_or_are_tables() {
    let plain = miniz_oxide::inflate::decompress_to_vec(&NodeTable::new(mixed()).unwrap().pack()).unwrap();
    let (mut refused, mut read) = (0, 0);
    for at in 0..plain.len() {
        for change in [0x01, 0x80, 0xff, 0x7f, 0x10] {
            let mut changed = plain.clone();
            changed[at] ^= change;
            match NodeTable::read(&packed(&changed)) {
                Ok(table) => {
                    assert_eq!(NodeTable::read(&table.pack()).unwrap().version(), table.version());
                    read += 1;
                }
                Err(_) => refused += 1,
            }
            assert!(NodeTable::read(&changed).is_err(), "not deflated");
        }
    }
    assert!(refused > 100 && read > 100, "{refused} {read}");
}

/// Each identifier shares 4095 bytes with the one before: a few bytes each would become 4 kB each.
#[test]
fn shared_beginnings_do_not_grow_without_a_bound() {
    let mut plain = b"\x01\x01\x01u\x00\xc0\x84\x3d\x00\x80\x20".to_vec();
    plain.extend([b'a'; 4096]);
    for _ in 1..1_000_000 {
        plain.extend(b"\xff\x1f\x01b");
    }
    let begun = std::time::Instant::now();
    let error = NodeTable::read(&packed(&plain)).unwrap_err().to_string();
    assert!(error.contains("order") || error.contains("bytes of identifiers"), "{error}");
    assert!(begun.elapsed().as_secs() < 20);
}

#[test]
fn a_table_has_a_million_nodes_and_not_one_more() {
    let nodes = |count: u32| (0..count).map(|at| TableNode::new("urn:a", at).unwrap());
    let table = NodeTable::new(nodes(TABLE_NODES_MAX as u32)).unwrap();
    assert_eq!(NodeTable::read(&table.pack()).unwrap().version(), table.version());
    let error = NodeTable::new(nodes(TABLE_NODES_MAX as u32 + 1)).unwrap_err().to_string();
    assert!(error.contains("at most 1000000 nodes"), "{error}");
}

#[test]
fn rows_are_found_under_any_namespace_array() {
    let table = Arc::new(NodeTable::new(mixed()).unwrap());
    let row = |namespace: &str, identifier: Identifier| table.row(namespace, &identifier);
    for (array, a, b) in [
        (vec!["http://opcfoundation.org/UA/", "urn:server", "urn:a", "urn:b"], 2, 3),
        (vec!["http://opcfoundation.org/UA/", "urn:b", "urn:x", "urn:y", "urn:a"], 4, 1),
        // What the array says of index 0 does not matter.
        (vec!["urn:a", "urn:b", "urn:a"], 2, 1),
    ] {
        let rows = TableRows::new(Arc::clone(&table), &array);
        assert_eq!(rows.find(&NodeId::new(a, 7_u32)), row("urn:a", 7_u32.into()));
        assert!(rows.find(&NodeId::new(a, 7_u32)).is_some());
        assert_eq!(rows.find(&NodeId::new(b, "Line1.Motor3")), row("urn:b", "Line1.Motor3".into()));
        assert_eq!(
            rows.find(&NodeId::new(b, ByteString::from(vec![1, 2, 3, 4]))),
            row("urn:b", ByteString::from(vec![1, 2, 3, 4]).into())
        );
        let guid: Guid = "09087e75-8e5e-499b-954f-f2a9603db28a".parse().unwrap();
        assert!(rows.find(&NodeId::new(a, guid)).is_some());
        assert_eq!(rows.find(&NodeId::new(0, 85_u32)), row("http://opcfoundation.org/UA/", 85_u32.into()));
        assert_eq!(rows.find(&NodeId::new(b, 7_u32)), None);
        assert_eq!(rows.find(&NodeId::new(99, 7_u32)), None);
        assert_eq!(rows.find(&NodeId::new(b, UAString::null())), None);
    }
}

/// An upstream server that names a namespace twice must not have two nodes in one row.
#[test]
fn a_namespace_named_twice_counts_once() {
    let table = Arc::new(NodeTable::new(mixed()).unwrap());
    let rows = TableRows::new(
        table,
        &["http://opcfoundation.org/UA/", "urn:a", "urn:a", "http://opcfoundation.org/UA/"],
    );
    assert!(rows.find(&NodeId::new(1, 7_u32)).is_some());
    assert_eq!(rows.find(&NodeId::new(2, 7_u32)), None);
    assert_eq!(rows.find(&NodeId::new(3, 85_u32)), None);
}

/// As many nodes as [`table`], and others.
pub(super) fn other(nodes: u32) -> NodeTable {
    NodeTable::new((0..nodes).map(|at| TableNode::new(PLANT, 1001 + at).unwrap())).unwrap()
}

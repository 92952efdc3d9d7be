//! Text forms, in tables.

use durward_opcua::client::Issuer;
use durward_opcua::client::text::{
    NodeText, PathElement, advice, data_value_text, explain, node_text, parse_node, parse_status,
    parse_value, status_text, value_text,
};
use durward_opcua::error::Error;
use opcua_types::{
    DataValue, ExtensionObject, NodeId, Range, StatusCode, Variant, VariantScalarTypeId as Kind,
};

#[test]
fn node_ids_come_back_as_they_were_written() {
    let same = [
        "i=2258",
        "ns=2;s=Tag",
        "ns=2;s=a;b=c / %d",
        "ns=65535;i=4294967295",
        "ns=1;g=72962b91-fa75-4ae6-8d28-b404dc7daf63",
        "ns=3;b=AAEC/w==",
        "s=in the standard's namespace",
    ];
    for text in same {
        match parse_node(text).unwrap() {
            NodeText::Id(id) => assert_eq!(node_text(&id), text),
            other => panic!("{text}: {other:?}"),
        }
    }
    assert_eq!(parse_node("ns=2;s=Tag").unwrap(), NodeText::Id(NodeId::new(2, "Tag")));
    match parse_node("nsu=urn:x%3By%25;i=5").unwrap() {
        NodeText::Uri { uri, identifier } => {
            assert_eq!((uri.as_str(), identifier), ("urn:x;y%", 5_u32.into()))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn paths_are_names_with_namespaces() {
    let element = |namespace, name: &str| PathElement { namespace, name: name.to_owned() };
    let cases = [
        ("/Objects", vec![element(None, "Objects")]),
        ("/Objects/2:Boiler", vec![element(None, "Objects"), element(Some(2), "Boiler")]),
        ("/a&/b/1&:c", vec![element(None, "a/b"), element(None, "1:c")]),
        ("/2:3:x", vec![element(Some(2), "3:x")]),
        ("/name: with colon", vec![element(None, "name: with colon")]),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_node(text).unwrap(), NodeText::Path(expected), "{text}");
    }
}

#[test]
fn what_is_no_node_is_refused_with_what_to_write() {
    let wrong = [
        "",
        "Tag",
        "ns=2",
        "ns=2;Tag",
        "ns=x;s=Tag",
        "ns=70000;i=1",
        "i=4294967296",
        "i=-1",
        "s=",
        "g=7",
        "b=%",
        "x=1",
        "nsu=urn:x",
        "nsu=urn:x;5",
        "/",
        "//a",
        "/a/",
        "/2:",
        "/a&",
        "/70000:a",
    ];
    for text in wrong {
        let error = parse_node(text).unwrap_err();
        assert_eq!(error.status(), StatusCode::BadNodeIdInvalid, "{text}");
        assert!(error.reason().contains("write ns=2;s=Name"), "{text}: {error}");
    }
    assert!(parse_node(&format!("s={}", "x".repeat(5_000))).is_err());
    assert!(parse_node(&"/a".repeat(200)).is_err());
}

#[test]
fn values_come_back_as_they_were_written() {
    let same = [
        (Kind::Boolean, -1, "true"),
        (Kind::SByte, -1, "-128"),
        (Kind::Byte, -1, "255"),
        (Kind::Int16, -1, "-32768"),
        (Kind::UInt16, -1, "65535"),
        (Kind::Int32, -1, "-2147483648"),
        (Kind::UInt32, -1, "4294967295"),
        (Kind::Int64, -1, "-9223372036854775808"),
        (Kind::UInt64, -1, "18446744073709551615"),
        (Kind::Float, -1, "0.1"),
        (Kind::Double, -1, "21.5"),
        (Kind::Double, -1, "NaN"),
        (Kind::String, -1, " a text [with] brackets "),
        (Kind::String, -2, "[1]"),
        (Kind::String, -1, ""),
        (Kind::DateTime, -1, "2026-06-01T12:30:00.250Z"),
        (Kind::Guid, -1, "72962b91-fa75-4ae6-8d28-b404dc7daf63"),
        (Kind::StatusCode, -1, "BadTimeout"),
        (Kind::ByteString, -1, "0x00ff"),
        (Kind::ByteString, -1, "0x"),
        (Kind::QualifiedName, -1, "2:Name"),
        (Kind::QualifiedName, -1, "Name"),
        (Kind::LocalizedText, -1, "plain"),
        (Kind::LocalizedText, -1, r#"{"locale":"de","text":"Wert"}"#),
        (Kind::NodeId, -1, "ns=2;s=Tag"),
        (Kind::ExpandedNodeId, -1, "nsu=urn:x%3By;s=Tag"),
        (Kind::Int32, 1, "[1, -2, 3]"),
        (Kind::Int32, 1, "[]"),
        (Kind::Int32, -2, "[1]"),
        (Kind::Double, 2, "[[1, 2], [3, 4.5]]"),
        (Kind::Int64, 3, "[[[1, 2]], [[3, 4]]]"),
        (Kind::String, 1, r#"["a", "b, \"c\""]"#),
        (Kind::Boolean, 0, "[true, false]"),
        (Kind::UInt64, 1, "[18446744073709551615]"),
        (Kind::ByteString, 1, r#"["0x01", "0x02"]"#),
    ];
    for (kind, rank, text) in same {
        let value = parse_value(text, kind, rank).unwrap_or_else(|error| panic!("{kind:?} {text}: {error}"));
        assert_eq!(value_text(&value), text, "{kind:?}");
        assert_eq!(
            parse_value(&value_text(&value), kind, rank).map(|again| value_text(&again)).unwrap(),
            text
        );
    }
    assert_eq!(
        parse_value("AP8=", Kind::ByteString, -1).unwrap(),
        parse_value("0x00FF", Kind::ByteString, -1).unwrap()
    );
    assert_eq!(parse_value("7", Kind::Variant, -1).unwrap(), Variant::Int64(7));
}

#[test]
fn what_is_no_value_of_a_type_is_refused_with_what_to_write() {
    let wrong = [
        (Kind::Boolean, -1, "yes", "write true or false"),
        (Kind::SByte, -1, "128", "-128 to 127"),
        (Kind::Byte, -1, "-1", "0 to 255"),
        (Kind::UInt16, -1, "65536", "0 to 65535"),
        (Kind::Int32, -1, "1.5", "whole number"),
        (Kind::Double, -1, "hot", "such as 21.5"),
        (Kind::DateTime, -1, "yesterday", "2026-06-01T12:00:00Z"),
        (Kind::Guid, -1, "7", "32 digits"),
        (Kind::ByteString, -1, "0x0", "pairs of hexadecimal digits"),
        (Kind::ByteString, -1, "0xzz", "pairs of hexadecimal digits"),
        (Kind::ExtensionObject, -1, "x", "cannot be written"),
        (Kind::NodeId, -1, "nsu=urn:x;i=1", "by index"),
        (Kind::Int32, 1, "1", "in brackets"),
        (Kind::Int32, 1, "[1", "in brackets"),
        (Kind::Int32, 1, "[1, null]", "in brackets"),
        (Kind::Int32, 1, "[1, \"x\"]", "whole number"),
        (Kind::Int32, 2, "[[1, 2], [3]]", "in brackets"),
        (Kind::Int32, 2, "[1, [2]]", "in brackets"),
        (Kind::Int32, 2, "[[1], 2]", "in brackets"),
        (Kind::Int32, 9, "[[[[[[[[[1]]]]]]]]]", "in brackets"),
    ];
    for (kind, rank, text, expected) in wrong {
        let error = parse_value(text, kind, rank).unwrap_err();
        assert_eq!(error.status(), StatusCode::BadTypeMismatch, "{kind:?} {text}");
        assert!(error.reason().contains(expected), "{kind:?} {text}: {error}");
    }
}

#[test]
fn statuses_have_names_and_structures_bytes() {
    assert_eq!(status_text(StatusCode::BadUserAccessDenied), "BadUserAccessDenied");
    assert_eq!(status_text(StatusCode::from(0x80ff_0000)), "0x80FF0000");
    assert_eq!(parse_status("0x800A0000").unwrap(), StatusCode::BadTimeout);
    assert!(parse_status("BadNews").is_err());
    let range = Variant::from(ExtensionObject::new(Range { low: 0.0, high: 1.0 }));
    assert!(value_text(&range).starts_with("structure i=886"), "{}", value_text(&range));
    let uncertain = DataValue {
        value: Some(Variant::from(5_i32)),
        status: Some(StatusCode::UncertainLastUsableValue),
        ..DataValue::default()
    };
    assert_eq!(data_value_text(&uncertain), "5 (UncertainLastUsableValue)");
    let denied = Error::new(StatusCode::BadUserAccessDenied, "the server did not write `ns=2;s=Tag`");
    assert!(explain(&denied).contains("the policies of the authorization service"), "{}", explain(&denied));
    assert!(advice(StatusCode::BadCertificateUntrusted).unwrap().contains("rejected"));
    assert_eq!(advice(StatusCode::Good), None);
}

#[test]
fn where_tokens_come_from_is_read_in_both_spellings() {
    let standard = Issuer::parse(
        r#"{"ua:resourceId":"urn:r","ua:authorityUrl":"opc.tcp://as","ua:authorityProfileUri":"http://opcfoundation.org/UA/Authorization#OPCUA",
            "ua:tokenEndpoint":"nsu=urn:x;i=1","ua:authorizationEndpoint":null,"ua:requestTypes":["a",5],"ua:scopes":["s"],
            "resourceUri":"urn:other"}"#,
    )
    .unwrap();
    assert_eq!(standard.resource_id.as_deref(), Some("urn:r"), "the standard's spelling counts");
    assert_eq!(standard.token_endpoint.as_deref(), Some("nsu=urn:x;i=1"));
    assert_eq!((standard.authorization_endpoint, standard.request_types), (None, vec!["a".to_owned()]));
    let other =
        Issuer::parse(r#"{"resourceUri":"urn:r","authorityUri":"opc.tcp://as","token_endpoint":"i=1"}"#)
            .unwrap();
    assert!(other.is_opcua());
    assert_eq!(
        (other.resource_id.as_deref(), other.authority_url.as_deref()),
        (Some("urn:r"), Some("opc.tcp://as"))
    );
    assert!(!Issuer::parse(r#"{"authorityUrl":"https://as"}"#).unwrap().is_opcua());
    for wrong in ["", "https://as", "[]", "5", "{", &format!("{{\"a\":\"{}\"}}", "x".repeat(70_000))] {
        assert_eq!(
            Issuer::parse(wrong).unwrap_err().status(),
            StatusCode::BadConfigurationError,
            "{wrong:.20}"
        );
    }
}

#[test]
fn no_text_makes_the_readers_panic() {
    let seeds = [
        "ns=2;s=Tag",
        "/a/2:b&/",
        "[[1, 2], [3]]",
        "0xAF",
        "{\"locale\":\"x\"}",
        "nsu=a%3B;i=1",
        "2026-06-01T00:00:00Z",
        "\u{fffd}é",
    ];
    let mut state = 7_u64;
    let mut chance = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for round in 0..20_000 {
        let mut chars: Vec<char> = seeds[round % seeds.len()].chars().collect();
        for _ in 0..3 {
            let other: Vec<char> = seeds[chance(seeds.len())].chars().collect();
            let at = chance(chars.len() + 1);
            match chance(3) {
                0 => chars.insert(at, other[chance(other.len())]),
                1 => chars.truncate(at),
                _ => chars.extend(other),
            }
        }
        let text: String = chars.into_iter().collect();
        let _ = parse_node(&text);
        for kind in [
            Kind::Int32,
            Kind::ByteString,
            Kind::LocalizedText,
            Kind::DateTime,
            Kind::ExpandedNodeId,
            Kind::Variant,
        ] {
            for rank in [-2, -1, 1] {
                let _ = parse_value(&text, kind, rank).map(|value| value_text(&value));
            }
        }
        let _ = Issuer::parse(&text);
    }
}

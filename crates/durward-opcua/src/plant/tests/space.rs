//! Address spaces as they are built.

use opcua_types::{DataTypeId, NodeId, ObjectId, ObjectTypeId, ReferenceTypeId, VariableId, Variant};

use crate::plant::test_client::{BEGIN, TestClient};
use crate::plant::{NewNode, SpaceBuilder, SpaceError, TAGS_MAX, boiler};

#[test]
fn mistakes_are_told_with_their_node() {
    let mut builder = SpaceBuilder::new("urn:test", BEGIN);
    builder.add(NewNode::folder(NodeId::new(1, "a"), "a").organized_by(NodeId::new(1, "nowhere")));
    let error = builder.build().unwrap_err();
    assert_eq!(
        error,
        SpaceError::UnknownNode { from: NodeId::new(1, "a"), target: NodeId::new(1, "nowhere") }
    );
    assert_eq!(
        error.to_string(),
        "node `ns=1;s=a` refers to `ns=1;s=nowhere`, which is not in the address space"
    );
    let mut builder = SpaceBuilder::new("urn:test", BEGIN);
    builder.add(NewNode::folder(ObjectId::ObjectsFolder, "Objects"));
    assert_eq!(builder.build().unwrap_err(), SpaceError::DuplicateNode(ObjectId::ObjectsFolder.into()));
}

#[test]
fn references_are_known_at_both_ends_once() {
    let client = TestClient::boiler();
    for node in client.server.space().nodes() {
        for reference in &node.references {
            let same = node.references.iter().filter(|other| *other == reference).count();
            assert_eq!(same, 1, "{} {reference:?}", node.id);
            let target = client.server.space().node(&reference.target).unwrap();
            let back = |other: &&crate::plant::NodeReference| {
                other.target == node.id && other.forward != reference.forward
            };
            let one_way = reference.kind == ReferenceTypeId::HasTypeDefinition;
            assert_eq!(
                target.references.iter().filter(back).count() > 0,
                !one_way,
                "{} {reference:?}",
                node.id
            );
        }
    }
}

#[test]
fn types_have_their_hierarchy() {
    let client = TestClient::boiler();
    let space = client.server.space();
    let is = |one: NodeId, other: NodeId| space.is_subtype(&one, &other);
    assert!(is(DataTypeId::UtcTime.into(), DataTypeId::BaseDataType.into()));
    assert!(is(DataTypeId::Double.into(), DataTypeId::Double.into()));
    assert!(!is(DataTypeId::Double.into(), DataTypeId::Integer.into()));
    assert!(is(client.plant("BoilerType"), ObjectTypeId::BaseObjectType.into()));
    assert!(is(ReferenceTypeId::HasOrderedComponent.into(), ReferenceTypeId::HierarchicalReferences.into()));
    assert!(!is(ReferenceTypeId::HasTypeDefinition.into(), ReferenceTypeId::HierarchicalReferences.into()));
}

#[test]
fn every_object_and_variable_has_a_type_that_is_there() {
    let client = TestClient::boiler();
    for node in client.server.space().nodes().filter(|node| node.variable().is_some() || node.notifies()) {
        let type_id = node.type_definition().unwrap_or_else(|| panic!("{} has no type", node.id));
        assert!(client.server.space().node(type_id).is_some(), "{}", node.id);
        if let Some(variable) = node.variable() {
            assert!(
                client.server.space().node(&variable.data_type).is_some(),
                "{} is of type {}",
                node.id,
                variable.data_type
            );
        }
    }
}

#[test]
fn namespaces_are_told_by_the_server() {
    let mut client = TestClient::boiler();
    let Variant::Array(namespaces) = client.value(VariableId::Server_NamespaceArray) else {
        panic!("an array")
    };
    let expected = ["http://opcfoundation.org/UA/", "urn:test:server", "urn:durward:plant"];
    assert_eq!(namespaces.values, expected.map(Variant::from));
}

#[test]
fn tags_for_benchmarks_are_as_many_as_asked_for() {
    let count = |scale| boiler("urn:test", scale, BEGIN).map(|server| server.space().nodes().count());
    let none = count(0).unwrap();
    assert_eq!(count(1_000).unwrap(), none + 1_001, "and the folder that they are in");
    assert_eq!(count(TAGS_MAX + 1).unwrap_err(), SpaceError::TooManyNodes);
    let mut client = TestClient::boiler();
    let tag = client.plant("Tag00005");
    let before = client.value(tag.clone());
    client.run(2_000);
    assert_ne!(client.value(tag), before, "they move");
}

//! Browse, BrowseNext, TranslateBrowsePathsToNodeIds, RegisterNodes.

use opcua_types::{
    BrowseDescription, BrowseDirection, BrowseNextRequest, BrowseNextResponse, BrowsePath, BrowsePathResult,
    BrowseRequest, BrowseResponse, BrowseResult, ContinuationPoint, NodeClass, NodeId, ObjectId,
    QualifiedName, ReferenceTypeId, RegisterNodesRequest, RegisterNodesResponse, RelativePath,
    RelativePathElement, StatusCode, TranslateBrowsePathsToNodeIdsRequest,
    TranslateBrowsePathsToNodeIdsResponse, ViewDescription,
};

use crate::authority::CallerSessionId;
use crate::plant::test_client::{BEGIN, TestClient, below};
use crate::plant::{NewNode, PlantServer, SpaceBuilder, limits};

fn names(result: &BrowseResult) -> Vec<String> {
    let references = result.references.as_deref().unwrap_or_default();
    references.iter().map(|reference| reference.browse_name.name.to_string()).collect()
}

#[test]
fn clients_find_their_way_from_the_root() {
    let mut client = TestClient::boiler();
    let all = ReferenceTypeId::HierarchicalReferences;
    assert_eq!(names(&client.browse(below(ObjectId::RootFolder, all), 0)), ["Objects", "Types", "Views"]);
    assert_eq!(names(&client.browse(below(ObjectId::ObjectsFolder, all), 0)), ["Server", "Plant", "Tags"]);
    let found = names(&client.browse(below(ObjectId::Server, all), 0));
    for name in ["NamespaceArray", "ServerStatus", "ServerCapabilities", "ServiceLevel"] {
        assert!(found.iter().any(|found| found == name), "{name}");
    }
}

#[test]
fn every_node_is_reached_from_the_root() {
    let mut client = TestClient::boiler();
    let mut seen = std::collections::HashSet::new();
    let mut open = vec![NodeId::from(ObjectId::RootFolder)];
    while let Some(node) = open.pop() {
        if seen.insert(node.clone()) {
            let found = client.browse(below(node, ReferenceTypeId::HierarchicalReferences), 0);
            open.extend(found.references.unwrap().into_iter().map(|reference| reference.node_id.node_id));
        }
    }
    // Modelling rules hang on what they rule only, as in the standard's node set without its folder of rules.
    let rules = [ObjectId::ModellingRule_Mandatory, ObjectId::ModellingRule_Optional].map(NodeId::from);
    let lost: Vec<String> = client
        .server
        .space()
        .nodes()
        .map(|node| &node.id)
        .filter(|id| !seen.contains(id))
        .filter(|id| !rules.contains(id))
        .map(NodeId::to_string)
        .collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn filters_choose_direction_type_and_class() {
    let mut client = TestClient::boiler();
    let motor = client.plant("Boiler.Motor");
    let components = below(motor.clone(), ReferenceTypeId::HasComponent);
    assert_eq!(names(&client.browse(components.clone(), 0)), ["Running", "Speed", "Start", "Stop"]);
    let methods = BrowseDescription { node_class_mask: NodeClass::Method as u32, ..components.clone() };
    assert_eq!(names(&client.browse(methods, 0)), ["Start", "Stop"]);
    let exact = BrowseDescription {
        include_subtypes: false,
        ..below(motor.clone(), ReferenceTypeId::HierarchicalReferences)
    };
    assert_eq!(names(&client.browse(exact, 0)), Vec::<String>::new());
    let up = BrowseDescription { browse_direction: BrowseDirection::Inverse, ..components.clone() };
    assert_eq!(names(&client.browse(up, 0)), ["Boiler"]);
    let both = BrowseDescription { browse_direction: BrowseDirection::Both, ..components };
    assert_eq!(client.browse(both, 0).references.unwrap().len(), 5);
    let every = client.browse(below(motor, NodeId::null()), 0);
    assert!(names(&every).contains(&"BaseObjectType".to_owned()), "null stands for all types of references");
}

#[test]
fn the_mask_says_which_fields_come() {
    let mut client = TestClient::boiler();
    let plant = client.plant("Plant");
    let masked =
        |mask| BrowseDescription { result_mask: mask, ..below(plant.clone(), ReferenceTypeId::Organizes) };
    let only = |result: BrowseResult| result.references.unwrap().pop().unwrap();
    let none = only(client.browse(masked(0), 0));
    assert_eq!(
        (none.node_class, none.browse_name.is_null(), none.type_definition.is_null()),
        (NodeClass::Unspecified, true, true)
    );
    assert_eq!(none.node_id.node_id, client.plant("Boiler"));
    let all = only(client.browse(masked(63), 0));
    assert_eq!(
        (all.node_class, all.is_forward, all.display_name.text.as_ref()),
        (NodeClass::Object, true, "Boiler")
    );
    assert_eq!(all.type_definition.node_id, client.plant("BoilerType"));
}

#[test]
fn wrong_browses_have_their_own_status() {
    let mut client = TestClient::boiler();
    let start = below(ObjectId::ObjectsFolder, ReferenceTypeId::Organizes);
    let cases = [
        (below(NodeId::new(7, 7u32), ReferenceTypeId::Organizes), StatusCode::BadNodeIdUnknown),
        (below(ObjectId::ObjectsFolder, ObjectId::ObjectsFolder), StatusCode::BadReferenceTypeIdInvalid),
        (
            BrowseDescription { browse_direction: BrowseDirection::Invalid, ..start.clone() },
            StatusCode::BadBrowseDirectionInvalid,
        ),
    ];
    for (description, status) in cases {
        assert_eq!(client.browse(description, 0).status_code, status);
    }
    let view = ViewDescription { view_id: NodeId::new(2, "no view"), ..ViewDescription::default() };
    let request = BrowseRequest { view, nodes_to_browse: Some(vec![start]), ..BrowseRequest::default() };
    assert_eq!(client.ask::<_, BrowseResponse>(&request).unwrap_err(), StatusCode::BadViewIdUnknown);
}

fn next(client: &mut TestClient, point: &ContinuationPoint, release: bool) -> BrowseResult {
    let continuation_points = Some(vec![point.clone()]);
    let request = BrowseNextRequest {
        release_continuation_points: release,
        continuation_points,
        ..BrowseNextRequest::default()
    };
    client.ask::<_, BrowseNextResponse>(&request).unwrap().results.unwrap().pop().unwrap()
}

#[test]
fn what_does_not_fit_comes_with_continuation_points() {
    let mut client = TestClient::boiler();
    let tags = below(client.plant("Tags"), ReferenceTypeId::Organizes);
    let first = client.browse(tags.clone(), 2);
    assert_eq!(names(&first), ["Tag00001", "Tag00002"]);
    let second = next(&mut client, &first.continuation_point, false);
    assert_eq!(names(&second), ["Tag00003", "Tag00004"]);
    assert_eq!(
        next(&mut client, &first.continuation_point, false).status_code,
        StatusCode::BadContinuationPointInvalid
    );
    let third = next(&mut client, &second.continuation_point, false);
    assert_eq!(names(&third), ["Tag00005"]);
    assert!(third.continuation_point.is_null(), "that was all");
    let exact = client.browse(tags, 5);
    assert!(
        exact.continuation_point.is_null() && exact.references.unwrap().len() == 5,
        "what fits exactly leaves nothing"
    );
}

#[test]
fn continuation_points_are_few_released_and_of_their_session() {
    let mut client = TestClient::boiler();
    let tags = below(client.plant("Tags"), ReferenceTypeId::Organizes);
    let points: Vec<ContinuationPoint> = (0..limits::CONTINUATION_POINTS_MAX)
        .map(|_| client.browse(tags.clone(), 1).continuation_point)
        .collect();
    assert_eq!(client.browse(tags.clone(), 1).status_code, StatusCode::BadNoContinuationPoints);
    let owner = client.caller.session;
    client.caller.session = CallerSessionId(2);
    assert_eq!(next(&mut client, &points[0], false).status_code, StatusCode::BadContinuationPointInvalid);
    client.caller.session = owner;
    let released = next(&mut client, &points[0], true);
    assert_eq!((released.status_code, released.references), (StatusCode::Good, None));
    assert_eq!(client.browse(tags, 1).status_code, StatusCode::Good);
    client.server.close_session(owner, true);
    assert_eq!(next(&mut client, &points[1], false).status_code, StatusCode::BadContinuationPointInvalid);
}

#[test]
fn a_folder_with_many_nodes_is_limited_by_the_server() {
    let mut client = wide(limits::REFERENCES_MAX + 1);
    let first = client.browse(below(ObjectId::ViewsFolder, ReferenceTypeId::Organizes), 0);
    assert_eq!(first.references.unwrap().len(), limits::REFERENCES_MAX);
    assert_eq!(next(&mut client, &first.continuation_point, false).references.unwrap().len(), 1);
}

/// A folder with so many folders in it.
fn wide(count: usize) -> TestClient {
    let mut builder = SpaceBuilder::new("urn:test:wide", BEGIN);
    for number in 0..count {
        builder.add(
            NewNode::folder(NodeId::new(1, number as u32 + 1), "many").organized_by(ObjectId::ViewsFolder),
        );
    }
    TestClient::new(PlantServer::new(builder.build().unwrap()))
}

#[test]
fn one_request_looks_at_a_bounded_number_of_references() {
    let count = 60_000;
    let mut client = wide(count);
    let in_vain = BrowseDescription {
        node_class_mask: NodeClass::Method as u32,
        ..below(ObjectId::ViewsFolder, ReferenceTypeId::Organizes)
    };
    let nodes_to_browse = Some(vec![in_vain; 9]);
    let request = BrowseRequest { nodes_to_browse, ..BrowseRequest::default() };
    let results = client.ask::<_, BrowseResponse>(&request).unwrap().results.unwrap();
    let unfinished: Vec<bool> =
        results.iter().map(|result| !result.continuation_point.is_null_or_empty()).collect();
    assert_eq!(unfinished, [false, false, false, false, false, false, false, false, true]);
    let rest = next(&mut client, &results[8].continuation_point, false);
    assert_eq!(
        (rest.references, rest.continuation_point.is_null_or_empty()),
        (Some(Vec::new()), true),
        "the rest is looked at next"
    );
    let path = BrowsePath {
        starting_node: ObjectId::ViewsFolder.into(),
        relative_path: RelativePath {
            elements: Some(vec![element(ReferenceTypeId::Organizes, 1, "nothing")]),
        },
    };
    let request =
        TranslateBrowsePathsToNodeIdsRequest { browse_paths: Some(vec![path; 9]), ..Default::default() };
    let response: TranslateBrowsePathsToNodeIdsResponse = client.ask(&request).unwrap();
    let statuses: Vec<StatusCode> =
        response.results.unwrap().iter().map(|result| result.status_code).collect();
    assert_eq!(statuses[7..], [StatusCode::BadNoMatch, StatusCode::BadQueryTooComplex]);
}

fn element(kind: impl Into<NodeId>, namespace: u16, name: &str) -> RelativePathElement {
    let target_name = QualifiedName::new(namespace, name);
    RelativePathElement {
        reference_type_id: kind.into(),
        is_inverse: false,
        include_subtypes: true,
        target_name,
    }
}

fn follow(
    client: &mut TestClient,
    starting_node: impl Into<NodeId>,
    elements: Vec<RelativePathElement>,
) -> BrowsePathResult {
    let path = BrowsePath {
        starting_node: starting_node.into(),
        relative_path: RelativePath { elements: Some(elements) },
    };
    let request =
        TranslateBrowsePathsToNodeIdsRequest { browse_paths: Some(vec![path]), ..Default::default() };
    client.ask::<_, TranslateBrowsePathsToNodeIdsResponse>(&request).unwrap().results.unwrap().pop().unwrap()
}

#[test]
fn paths_lead_to_nodes() {
    let mut client = TestClient::boiler();
    let all = ReferenceTypeId::HierarchicalReferences;
    let path = vec![
        element(all, 2, "Plant"),
        element(all, 2, "Boiler"),
        element(all, 2, "Motor"),
        element(NodeId::null(), 2, "Speed"),
    ];
    let found = follow(&mut client, ObjectId::ObjectsFolder, path);
    let target = found.targets.unwrap().pop().unwrap();
    assert_eq!(
        (target.target_id.node_id, target.remaining_path_index),
        (client.plant("Boiler.Motor.Speed"), u32::MAX)
    );
    let back = RelativePathElement { is_inverse: true, ..element(all, 2, "Boiler") };
    let motor = client.plant("Boiler.Motor");
    assert_eq!(follow(&mut client, motor, vec![back]).status_code, StatusCode::Good);
}

#[test]
fn paths_that_lead_nowhere_say_why() {
    let mut client = TestClient::boiler();
    let all = ReferenceTypeId::HierarchicalReferences;
    let objects = NodeId::from(ObjectId::ObjectsFolder);
    let cases = [
        (objects.clone(), vec![element(all, 2, "Nothing")], StatusCode::BadNoMatch),
        (objects.clone(), vec![element(all, 3, "Plant")], StatusCode::BadNoMatch),
        (objects.clone(), Vec::new(), StatusCode::BadNothingToDo),
        (NodeId::new(8, "no"), vec![element(all, 2, "Plant")], StatusCode::BadNodeIdUnknown),
        (objects.clone(), vec![element(all, 0, "")], StatusCode::BadNoMatch),
        (
            objects,
            vec![element(all, 2, "Plant"); limits::PATH_ELEMENTS_MAX + 1],
            StatusCode::BadQueryTooComplex,
        ),
    ];
    for (start, path, status) in cases {
        assert_eq!(follow(&mut client, start, path).status_code, status);
    }
    let null = RelativePathElement { target_name: QualifiedName::null(), ..element(all, 0, "x") };
    assert_eq!(
        follow(&mut client, ObjectId::ObjectsFolder, vec![null]).status_code,
        StatusCode::BadBrowseNameInvalid
    );
}

#[test]
fn registered_nodes_keep_their_ids() {
    let mut client = TestClient::boiler();
    let nodes = vec![client.plant("Boiler.Mode"), NodeId::new(9, "unknown")];
    let request =
        RegisterNodesRequest { nodes_to_register: Some(nodes.clone()), ..RegisterNodesRequest::default() };
    assert_eq!(client.ask::<_, RegisterNodesResponse>(&request).unwrap().registered_node_ids, Some(nodes));
}

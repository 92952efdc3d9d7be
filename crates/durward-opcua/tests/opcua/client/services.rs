//! Services in types and in text.

use std::time::Duration;

use durward_opcua::client::text::{data_value_text, value_text};
use durward_opcua::client::{BrowseFilter, TokenClient, browse_name};
use opcua_types::{DateTime, NodeId, ObjectId, StatusCode, Variant};

use super::world::{Issuer, Setup, authority, client, clock, resource};
use crate::fixture::status;

fn id(name: &str) -> NodeId {
    NodeId::new(2, name)
}

#[tokio::test(flavor = "multi_thread")]
async fn values_methods_paths_and_history_by_text() {
    let issuer = Issuer::new(Duration::from_secs(60));
    let authority = authority(None, &issuer).await;
    let server = resource(None, &Setup::new(&authority)).await;
    let client = TokenClient::connect(client(&server.url())).await.unwrap();

    // Read.
    let values = client.read_values(&[id("Boiler.Mode"), id("Nothing")]).await.unwrap();
    assert_eq!(data_value_text(&values[0]), "Automatic");
    assert_eq!(data_value_text(&values[1]), "BadNodeIdUnknown");

    // Write, by the variable's type.
    client.write_text(&id("Boiler.Mode"), "Manual").await.unwrap();
    client.write_text(&id("Boiler.Burner.SetPoint"), "12.5").await.unwrap();
    let values = client.read_values(&[id("Boiler.Mode"), id("Boiler.Burner.SetPoint")]).await.unwrap();
    assert_eq!(values.iter().map(data_value_text).collect::<Vec<_>>(), ["Manual", "12.5"]);
    assert_eq!(
        status(client.write_text(&id("Boiler.Burner.SetPoint"), "hot").await),
        StatusCode::BadTypeMismatch
    );
    assert_eq!(status(client.write_text(&id("Boiler.Temperature"), "1").await), StatusCode::BadNotWritable);
    assert_eq!(status(client.write_text(&id("Nothing"), "1").await), StatusCode::BadNodeIdUnknown);
    assert_eq!(status(client.write_text(&id("Boiler.Motor"), "1").await), StatusCode::BadAttributeIdInvalid);

    // Paths.
    let node = client.node("/Objects/Plant/Boiler/Temperature").await.unwrap();
    assert_eq!(node, id("Boiler.Temperature"));
    assert_eq!(client.node("/Objects/2:Plant/2:Boiler/2:Temperature").await.unwrap(), node);
    assert_eq!(client.node("nsu=urn:durward:plant;s=Boiler.Temperature").await.unwrap(), node);
    assert_eq!(client.node("ns=2;s=Boiler.Temperature").await.unwrap(), node);
    let error = client.node("/Objects/Plant/Kettle").await.unwrap_err();
    assert!(error.status() == StatusCode::BadNoMatch && error.reason().contains("no `Kettle`"), "{error}");
    assert_eq!(status(client.node("nsu=urn:nothing;i=1").await), StatusCode::BadNodeIdInvalid);
    let start = NodeId::objects_folder_id();
    let found = client.translate(&start, &[browse_name(2, "Plant"), browse_name(2, "Boiler")]).await.unwrap();
    assert_eq!(found, id("Boiler"));

    // Browse.
    let below = client.browse(&id("Boiler"), &BrowseFilter::below()).await.unwrap();
    assert!(below.iter().any(|reference| reference.browse_name.name.as_ref() == "Motor"));
    assert_eq!(
        status(client.browse(&id("Nothing"), &BrowseFilter::below()).await),
        StatusCode::BadNodeIdUnknown
    );

    // Call: arguments by the method's InputArguments.
    let motor = id("Boiler.Motor");
    assert_eq!(client.call_text(&motor, &id("Boiler.Motor.Start"), &[]).await.unwrap(), []);
    let running = client.read_values(&[id("Boiler.Motor.Running")]).await.unwrap();
    assert_eq!(running[0].value, Some(Variant::Boolean(true)));
    let error = client.call_text(&motor, &id("Boiler.Motor.Start"), &["1".to_owned()]).await.unwrap_err();
    assert_eq!(error.status(), StatusCode::BadTooManyArguments, "{error}");
    let load = client.node("/Objects/Plant/Boiler/Recipe/Load").await.unwrap();
    let error = client.call_text(&id("Boiler.Recipe"), &load, &[]).await.unwrap_err();
    assert_eq!(error.status(), StatusCode::BadArgumentsMissing, "{error}");
    client.call_text(&id("Boiler.Recipe"), &load, &["Clean".to_owned()]).await.unwrap();
    let recipe = client.read_values(&[id("Boiler.Recipe.Name"), id("Boiler.Recipe.Targets")]).await.unwrap();
    assert_eq!(recipe.iter().map(data_value_text).collect::<Vec<_>>(), ["Clean", "[85, 80, 70]"]);
    let error = client.call_text(&id("Boiler.Recipe"), &load, &["Nothing".to_owned()]).await.unwrap_err();
    assert!(error.reason().contains("Boiler.Recipe.Load"), "{error}");

    // A structure is its type and its bytes.
    let range = client.read_values(&[id("Boiler.Temperature.EURange")]).await.unwrap();
    let text = value_text(range[0].value.as_ref().unwrap());
    assert!(text.starts_with("structure i=886 0x0000000000000000"), "{text}");
    assert_eq!(ObjectId::Range_Encoding_DefaultBinary as u32, 886);

    // History.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let (start, end) = (DateTime::ymd(2026, 1, 1), DateTime::ymd(2027, 1, 1));
    let values = client.history(&node, start, end, 0).await.unwrap();
    assert!(values.len() > 3, "{} values by {:?}", values.len(), clock());
    assert!(values.windows(2).all(|pair| pair[0].source_timestamp <= pair[1].source_timestamp));
    assert_eq!(client.history(&node, start, end, 2).await.unwrap(), values[..2]);
    assert!(client.history(&id("Boiler.Mode"), start, end, 0).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_of_references_comes_whole() {
    let issuer = Issuer::new(Duration::from_secs(60));
    let authority = authority(None, &issuer).await;
    let server = resource(None, &Setup::new(&authority)).await;
    let client = TokenClient::connect(client(&server.url())).await.unwrap();
    // The tags, and the token's claims.
    let token = client.token().unwrap();
    assert_eq!(token.unverified_claims()["aud"], "urn:test:plc");
    assert_eq!((token.lifetime(), token.table_version()), (Duration::from_secs(60), None));
    let shown = format!("{token:?} {client:?}");
    assert!(!shown.contains(token.text()), "the token is a secret: {shown}");
    let plant = client.browse(&id("Plant"), &BrowseFilter::below()).await.unwrap();
    assert!(!plant.is_empty());
}

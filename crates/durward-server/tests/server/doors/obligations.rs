//! Obligations on their way through the server, in both languages.

use super::world::{World, fields};
use crate::support::Directory;

const SAPL: &str = r#"policy "tiers"
permit resource.type == "tier";
obligation { "type": "http:set-header", "name": "X-Tier", "value": resource.id }
"#;

const TIERS: &str = "\n[[doors.routes]]\npath = '/tier/{id}'\nresource_type = 'tier'\nresource_id = '{id}'\nanonymous = true\n";

fn with_tiers(directory: &Directory) {
    directory.write("policies/tiers.sapl", SAPL);
}

#[test]
fn a_header_that_a_policy_sets_must_be_one_that_the_gateway_takes_over() {
    let listed = World::start_with("headers = ['X-Tier']", TIERS, with_tiers);
    let unlisted = World::start_with("", TIERS, with_tiers);
    for door in ["nginx", "caddy", "traefik", "haproxy"] {
        let gold = listed.ask(door, &fields(door, "GET", "/tier/gold"));
        assert_eq!((gold.status, gold.all("x-tier")), (200, vec!["gold"]), "{door}");
        let page = listed.ask(door, &fields(door, "GET", "/"));
        assert_eq!((page.status, page.all("x-tier")), (200, vec![""]), "{door}: it is always there");
        let refused = unlisted.ask(door, &fields(door, "GET", "/tier/gold"));
        match door {
            "haproxy" => {
                assert_eq!((refused.status, refused.header("x-tier")), (200, "gold"));
                assert_eq!(refused.header("x-durward-set"), "x-auth-groups,x-auth-user,x-tier");
            }
            _ => assert_eq!(
                (refused.status, refused.header("x-durward-reason")),
                (403, "obligation"),
                "{door}"
            ),
        }
        // What a value can do that a segment of a path can be.
        let odd = listed.ask(door, &fields(door, "GET", "/tier/%20gold"));
        assert_eq!((odd.status, odd.header("x-durward-reason")), (403, "obligation"), "{door}");
    }
}

const XACML: &str = r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="tiers" Version="1.0"
    RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-unless-permit">
  <Target/>
  <Rule RuleId="all" Effect="Permit"/>
  <ObligationExpressions>
    <ObligationExpression ObligationId="urn:durward:obligation:http:set-header" FulfillOn="Permit">
      <AttributeAssignmentExpression AttributeId="name">
        <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">X-Tier</AttributeValue>
      </AttributeAssignmentExpression>
      <AttributeAssignmentExpression AttributeId="value">
        <AttributeDesignator Category="urn:oasis:names:tc:xacml:3.0:attribute-category:resource" AttributeId="path"
          DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="true"/>
      </AttributeAssignmentExpression>
    </ObligationExpression>
  </ObligationExpressions>
</Policy>"#;

#[test]
fn policies_of_xacml_are_asked_as_well() {
    let directory = Directory::new();
    directory.write("policies/tiers.xml", XACML);
    let settings =
        "[doors]\non = true\nheaders = ['X-Tier']\n[[doors.routes]]\npath = '/tier/{id}'\nanonymous = true\n";
    let server = crate::support::TestServer::start_in(directory, settings).unwrap();
    let reply = server.send("GET", "/doors/nginx", &fields("nginx", "GET", "/tier/g%6fld"), b"");
    assert_eq!((reply.status, reply.header("x-tier")), (200, "/tier/gold"), "{}", reply.text());
}

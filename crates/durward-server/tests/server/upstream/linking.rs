//! Which user here an account there is.

use durward_session::identity::user::Account;
use serde_json::json;

use super::world::{came_back, link, sign_in, two, users, with_fake};
use crate::oauth::world::part;
use crate::oidc::world::World;

fn find(world: &World, name: &str) -> Option<Account> {
    users(world).list().into_iter().find(|account| account.subject == name)
}

fn change(world: &World, name: &str, change: impl FnOnce(&mut Account)) {
    let mut account = find(world, name).unwrap();
    change(&mut account);
    users(world).put(account).unwrap();
}

#[test]
fn a_user_of_the_same_name_is_somebody_else() {
    for more in ["", "create = true"] {
        let (world, provider, _secrets) = two("", more);
        let mut here = world.browser();
        let seen = sign_in(&mut here, &mut provider.browser(), &provider.issuer(), "anna");
        assert_eq!((seen.status, here.session()), (403, None));
        assert!(seen.text.contains("does not belong to your account"), "{}", seen.text);
        assert_eq!(find(&world, "anna").unwrap().links, []);
        assert_eq!(world.server.metric("durward_upstream_logins_total{result=\"unknown\"}"), 1.0);
    }
}

#[test]
fn nobody_is_created_where_that_is_not_wanted() {
    let (world, provider, _secrets) = two("", "");
    let seen = sign_in(&mut world.browser(), &mut provider.browser(), &provider.issuer(), "ulla");
    assert_eq!(seen.status, 403);
    assert!(seen.text.contains("No user here belongs to your account"), "{}", seen.text);
    assert_eq!(find(&world, "ulla"), None);
}

#[test]
fn a_user_who_was_linked_logs_in_under_whatever_name() {
    let (world, fake) = with_fake("", "");
    change(&world, "carl", |account| account.links.push(link(&fake.issuer, "4711")));
    let seen = came_back(&world, &fake, |claims| claims["preferred_username"] = json!("anna"));
    assert_eq!(part(&world.exchange(&seen.code()).member("id_token"), 1)["sub"], "carl");
    // Another issuer's account of the same name is another one.
    change(&world, "carl", |account| account.links = vec![link("https://other.example", "4711")]);
    assert_eq!(came_back(&world, &fake, |_| {}).status, 403);
}

#[test]
fn a_user_who_is_disabled_does_not_log_in() {
    let (world, fake) = with_fake("", "create = true\ngroups_claim = 'g'\ngroups = { a = 'b' }");
    came_back(&world, &fake, |_| {}).code();
    change(&world, "ulla", |account| account.disabled = true);
    let seen = came_back(&world, &fake, |claims| claims["g"] = json!("a"));
    assert_eq!((seen.status, seen.location), (403, None), "{}", seen.text);
    assert_eq!(find(&world, "ulla").unwrap().groups, [""; 0]);
    change(&world, "ulla", |account| account.disabled = false);
    came_back(&world, &fake, |_| {}).code();
}

#[test]
fn a_name_finds_a_user_once_where_the_settings_let_it() {
    let (world, fake) = with_fake("", "link_by = 'user-name'");
    let anna = |sub: &'static str| {
        came_back(&world, &fake, move |claims| {
            claims["preferred_username"] = json!("anna");
            claims["sub"] = json!(sub);
        })
    };
    let seen = anna("1");
    assert_eq!(part(&world.exchange(&seen.code()).member("id_token"), 1)["sub"], "anna");
    assert_eq!(find(&world, "anna").unwrap().links, [link(&fake.issuer, "1")]);
    // Somebody else has the name there today.
    assert_eq!(anna("2").status, 403);
    anna("1").code();
    assert_eq!(find(&world, "anna").unwrap().links, [link(&fake.issuer, "1")]);
    for name in ["ANNA", "anna ", "an\u{0}na", "", "ulla"] {
        let seen = came_back(&world, &fake, |claims| claims["preferred_username"] = json!(name));
        assert_eq!(seen.status, 403, "{name:?}");
    }
}

#[test]
fn an_administrator_is_linked_by_an_administrator_alone() {
    for link_by in ["user-name", "email-verified"] {
        let administrators = "identity.administrators_group = 'staff'";
        let (world, fake) = with_fake(administrators, &format!("link_by = '{link_by}'"));
        let as_anna = |claims: &mut serde_json::Value| {
            claims["preferred_username"] = json!("anna");
            claims["email"] = json!("anna@example.org");
            claims["email_verified"] = json!(true);
        };
        assert_eq!(came_back(&world, &fake, as_anna).status, 403);
        change(&world, "anna", |account| account.links.push(link(&fake.issuer, "4711")));
        came_back(&world, &fake, as_anna).code();
    }
}

#[test]
fn an_address_finds_the_one_user_who_has_it_where_it_is_verified() {
    let (world, fake) = with_fake("", "link_by = 'email-verified'\ncreate = true");
    let with = |email: &'static str, is_verified: bool, sub: &'static str| {
        came_back(&world, &fake, move |claims| {
            claims["sub"] = json!(sub);
            claims["preferred_username"] = json!(format!("u-{sub}"));
            claims["email"] = json!(email);
            claims["email_verified"] = json!(is_verified);
        })
    };
    let who = |seen: &crate::oidc::world::Seen| {
        part(&world.exchange(&seen.code()).member("id_token"), 1)["sub"].as_str().unwrap().to_owned()
    };
    assert_eq!(who(&with("Anna@example.org", true, "1")), "anna");
    assert_eq!(who(&with("carl@example.org", false, "2")), "u-2", "a new user, as nobody is found");
    change(&world, "berta", |account| {
        account.attributes.insert("email".to_owned(), vec!["carl@example.org".to_owned()]);
    });
    assert_eq!(with("carl@example.org", true, "3").status, 403, "two users have it");
    assert_eq!(find(&world, "u-3"), None);
}

#[test]
fn a_new_user_is_like_nobody_else() {
    let (world, fake) = with_fake("", "create = true");
    let as_name = |name: &'static str| {
        came_back(&world, &fake, move |claims| claims["preferred_username"] = json!(name))
    };
    assert_eq!(as_name("Anna").status, 403);
    assert_eq!(as_name("tab\tname").status, 403);
    as_name("eva").code();
    // The account is eva's from now on, whatever it is called.
    as_name("anna").code();
    assert_eq!(users(&world).list().len(), 4);
}

//! Users in a real directory: OpenLDAP, up, down, slow and lying.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod kept;
mod liar;
mod policy;
mod second_step;

#[path = "../support/authenticator.rs"]
mod authenticator;

#[path = "../support/certificates.rs"]
mod certificates;
#[path = "../support/lines.rs"]
mod lines;
#[path = "../support/slapd.rs"]
#[allow(dead_code, reason = "other tests use other parts of it")]
mod slapd;

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use durward_identity::Moment;
use durward_identity::session::User;
use durward_identity::user::{Account, LoginFailure, Password, PasswordCheck};
use durward_session::ldap::{
    LdapDirectory, LdapGroups, LdapLookup, LdapMember, LdapMembership, LdapPlace, LdapReferrals, LdapScope,
    LdapSearch, LdapSecurity, LdapSettings,
};
use durward_session::{Clock, DirectoryFault, UserDirectory};

use slapd::{BASE, Far, GROUPS, SEARCHER, Slapd};

fn settings(slapd: &Slapd) -> LdapSettings {
    LdapSettings {
        ca_file: Some(slapd.ca()),
        search_as: Some((SEARCHER.to_owned(), slapd.password())),
        ..LdapSettings::new(vec![slapd.tls_url()], BASE)
    }
}

fn directory(settings: LdapSettings) -> LdapDirectory {
    LdapDirectory::new(settings, clock()).unwrap()
}

fn clock() -> Clock {
    #[expect(clippy::disallowed_methods, reason = "a test hands the clock to what it builds")]
    let now = || std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Arc::new(move || Moment::from_ms(u64::try_from(now().as_millis()).unwrap()))
}

async fn check(
    directory: &LdapDirectory,
    name: &str,
    password: &str,
) -> Result<PasswordCheck, DirectoryFault> {
    let user = User::new("/", name).unwrap();
    directory.check(Moment::default(), &user, Password::new(password).unwrap()).await
}

async fn right(directory: &LdapDirectory, name: &str) -> Account {
    match check(directory, name, "secret").await {
        Ok(PasswordCheck::Right(account)) => *account,
        other => panic!("{name}: {other:?}"),
    }
}

fn failure(result: Result<PasswordCheck, DirectoryFault>) -> String {
    match result {
        Err(DirectoryFault::Failed(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

const UNKNOWN: Result<PasswordCheck, DirectoryFault> = Ok(PasswordCheck::Wrong(LoginFailure::UnknownUser));
const WRONG: Result<PasswordCheck, DirectoryFault> = Ok(PasswordCheck::Wrong(LoginFailure::Password));

#[tokio::test]
async fn the_password_of_the_entry_lets_in_and_no_other() {
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    for url in [slapd.tls_url(), slapd.url()] {
        let directory = directory(LdapSettings { servers: vec![url], ..settings(&slapd) });
        assert_eq!(right(&directory, "anna").await.subject, "anna");
        assert_eq!(check(&directory, "anna", "Secret").await, WRONG);
        assert_eq!(check(&directory, "nobody", "secret").await, UNKNOWN);
        assert_eq!(check(&directory, "searcher", "secret").await, UNKNOWN);
    }
}

#[tokio::test]
async fn a_bind_without_a_password_lets_nobody_in() {
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let directory = directory(settings(&slapd));
    for password in ["\0", "\0secret", "secret\0"] {
        assert_eq!(check(&directory, "anna", password).await, WRONG, "{password:?}");
    }
    // An empty one is none: see `Password`.
    assert!(Password::new("").is_err());
}

#[tokio::test]
async fn an_entry_becomes_an_account_with_attributes_and_groups_under_the_directorys_name() {
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let of_group = |attribute: &str, holds| LdapGroups {
        base: GROUPS.to_owned(),
        membership: LdapMembership::OfGroup {
            filter: "(objectClass=groupOfNames)".to_owned(),
            attribute: attribute.to_owned(),
            holds,
            name_attribute: "cn".to_owned(),
        },
    };
    let of_user =
        LdapGroups { base: GROUPS.to_owned(), membership: LdapMembership::OfUser("memberOf".to_owned()) };
    for groups in [of_group("member", LdapMember::Dn), of_user] {
        let directory = directory(LdapSettings {
            login_attributes: vec!["uid".to_owned(), "mail".to_owned()],
            attributes: vec!["title".to_owned(), "mail".to_owned(), "telephoneNumber".to_owned()],
            groups: Some(groups),
            ..settings(&slapd)
        });
        for typed in ["anna", "ANNA", "Anna@Example.org"] {
            let account = right(&directory, typed).await;
            assert_eq!((account.realm.as_str(), account.subject.as_str()), ("/", "anna"));
            assert_eq!(account.attributes["title"], ["doctor"]);
            assert!(!account.attributes.contains_key("telephoneNumber"));
            // The group of the same name that lies among the people makes nobody an administrator.
            assert_eq!(account.groups, ["doctors"], "{typed}");
        }
        let berta = User::new("/", "berta").unwrap();
        let mut account = directory.account(&berta).await.unwrap().unwrap();
        account.groups.sort();
        assert_eq!(account.groups, ["administrators", "doctors"]);
        assert_eq!(account.password, None);
        let nobody = User::new("/", "nobody").unwrap();
        assert_eq!(directory.account(&nobody).await, Ok(None));
    }
}

/// The holder of a session is found by their one name, which another may have as an address, and which cannot be used to log in.
#[tokio::test]
async fn whose_a_session_is_is_looked_up_by_the_one_name() {
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let by_mail = LdapSettings { login_attributes: vec!["mail".to_owned()], ..settings(&slapd) };
    let directory = directory(by_mail);
    let anna = right(&directory, "anna@example.org").await;
    assert_eq!(directory.account(&anna.user().unwrap()).await.unwrap().unwrap().subject, "anna");
    let typed = User::new("/", "anna@example.org").unwrap();
    assert_eq!(directory.account(&typed).await, Ok(None), "no session has that name");
}

/// Else the time, or a directory that fails there, tells who exists.
#[tokio::test]
async fn groups_are_looked_for_only_once_the_password_is_right() {
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let nowhere = LdapGroups {
        base: "ou=missing,dc=example,dc=org".to_owned(),
        membership: LdapMembership::OfGroup {
            filter: "(objectClass=groupOfNames)".to_owned(),
            attribute: "member".to_owned(),
            holds: LdapMember::Dn,
            name_attribute: "cn".to_owned(),
        },
    };
    let directory = directory(LdapSettings { groups: Some(nowhere), ..settings(&slapd) });
    assert_eq!(check(&directory, "anna", "other").await, WRONG);
    assert_eq!(check(&directory, "nobody", "other").await, UNKNOWN);
    let message = failure(check(&directory, "anna", "secret").await);
    assert!(message.contains("ou=missing"), "{message}");
}

/// Nor does an entry tell of itself that cannot become an account.
#[tokio::test]
async fn an_entry_without_one_name_fails_only_for_who_has_its_password() {
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let directory = directory(LdapSettings { name_attribute: "mail".to_owned(), ..settings(&slapd) });
    assert_eq!(check(&directory, "anna", "other").await, WRONG);
    let message = failure(check(&directory, "anna", "secret").await);
    assert!(message.contains("2 values of `mail`"), "{message}");
}

#[tokio::test]
async fn what_is_typed_finds_only_what_has_that_name() {
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let directory = directory(settings(&slapd));
    for typed in [
        "*",
        "a*",
        "ann?",
        "anna)(uid=*",
        "*)(objectClass=*",
        "anna)(|(uid=*",
        "x)(|(uid=anna",
        "anna))%00",
        "\\61nna",
        "anna\\",
        "uid=anna",
        "uid=anna,ou=people,dc=example,dc=org",
        "anna,ou=people",
        "(uid=anna)",
        "!(uid=x)",
        "anna\n",
        "\u{feff}anna",
        "\u{1}",
    ] {
        // Spaces at the ends do not count in a directory, and a line's end may count as one.
        let result = check(&directory, typed, "secret").await;
        let is_anna = matches!(&result, Ok(PasswordCheck::Right(account)) if account.subject == "anna" && typed.trim() == "anna");
        assert!(result == UNKNOWN || is_anna, "{typed:?}: {result:?}");
    }
    assert_eq!(right(&directory, "a*b(c)\\d, e").await.subject, "a*b(c)\\d, e");
}

/// OpenLDAP takes letters of full width for the usual ones. Told apart from a name that nobody has, they would say who exists.
#[tokio::test]
async fn a_name_that_only_the_directory_takes_for_another_is_nobodys() {
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let directory = directory(settings(&slapd));
    for typed in ["\u{ff41}nna", "\u{ff41}\u{ff4e}\u{ff4e}\u{ff41}", "\u{ff4f}tto"] {
        for password in ["secret", "other"] {
            assert_eq!(check(&directory, typed, password).await, UNKNOWN, "{typed}");
        }
        let account = directory.account(&User::new("/", typed).unwrap()).await;
        assert_eq!(account, Ok(None), "{typed}");
    }
}

#[tokio::test]
async fn a_name_that_two_have_lets_nobody_in() {
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let directory = directory(LdapSettings { login_attributes: vec!["mail".to_owned()], ..settings(&slapd) });
    assert_eq!(right(&directory, "anna@example.org").await.subject, "anna");
    assert_eq!(check(&directory, "shared@example.org", "secret").await, UNKNOWN);
}

#[tokio::test]
async fn passwords_are_not_shown_to_a_server_that_is_not_who_it_should_be() {
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let servers = [
        // Not the authority; not the name; nothing of TLS.
        (LdapSettings { ca_file: None, ..settings(&slapd) }, "certificate"),
        (
            LdapSettings {
                servers: vec![slapd.tls_url().replace("localhost", "127.0.0.1")],
                ..settings(&slapd)
            },
            "certificate",
        ),
        (
            LdapSettings { servers: vec![slapd.url().replace("localhost", "127.0.0.1")], ..settings(&slapd) },
            "certificate",
        ),
    ];
    for (settings, why) in servers {
        let message = failure(check(&directory(settings), "anna", "secret").await);
        assert!(message.contains(why), "{message}");
    }
}

#[tokio::test]
async fn a_searcher_who_is_not_let_in_is_named() {
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let wrong = slapd.folder.0.join("wrong");
    std::fs::write(&wrong, "other\n").unwrap();
    std::fs::set_permissions(&wrong, PermissionsExt::from_mode(0o600)).unwrap();
    let directory =
        directory(LdapSettings { search_as: Some((SEARCHER.to_owned(), wrong)), ..settings(&slapd) });
    let message = failure(check(&directory, "anna", "secret").await);
    assert!(message.contains(SEARCHER) && message.contains("`search_as`"), "{message}");
    assert!(!message.contains("other"), "{message}");
}

#[tokio::test]
async fn the_next_server_answers_for_one_that_is_down_or_silent() {
    let (Some(mut first), Some(mut second)) =
        (Slapd::start(Far::Nowhere).await, Slapd::start(Far::Nowhere).await)
    else {
        return;
    };
    let settings = both(&first, &second);
    let directory = directory(LdapSettings {
        answer_within: Duration::from_millis(700),
        rest: Duration::ZERO,
        ..settings
    });
    right(&directory, "anna").await;
    first.stop();
    right(&directory, "anna").await;
    assert_eq!(check(&directory, "anna", "wrong").await, WRONG);
    second.stop();
    let message = failure(check(&directory, "anna", "secret").await);
    assert!(message.contains("no server"), "{message}");
    first.go_on();
    right(&directory, "anna").await;
    first.end();
    second.go_on();
    right(&directory, "anna").await;
    // Connections that are kept have ended without a word: nobody notices.
    first.begin();
    assert!(first.listens().await);
    right(&directory, "anna").await;
    second.end();
    right(&directory, "anna").await;
}

/// Both servers, with both authorities.
fn both(first: &Slapd, second: &Slapd) -> LdapSettings {
    let authorities = [first.ca(), second.ca()].map(|path| std::fs::read_to_string(path).unwrap()).concat();
    let path = first.folder.0.join("both.pem");
    std::fs::write(&path, authorities).unwrap();
    LdapSettings { servers: vec![first.tls_url(), second.tls_url()], ca_file: Some(path), ..settings(first) }
}

#[tokio::test]
async fn who_comes_when_too_many_wait_is_told_to_come_later() {
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let settings = LdapSettings { connections_max: 2, ..settings(&slapd) };
    let directory = Arc::new(directory(settings));
    right(&directory, "anna").await;
    slapd.stop();
    let mut attempts = tokio::task::JoinSet::new();
    for _ in 0..60 {
        let directory = Arc::clone(&directory);
        attempts.spawn(async move { check(&directory, "anna", "secret").await });
    }
    let mut busy = 0;
    for _ in 0..20 {
        let result = attempts.join_next().await.unwrap().unwrap();
        busy += usize::from(matches!(result, Err(DirectoryFault::Busy { .. })));
    }
    assert!(busy > 0);
    slapd.go_on();
    while attempts.join_next().await.is_some() {}
    right(&directory, "anna").await;
}

/// Anybody may try to log in. What decisions ask about who has done so must not wait behind that.
#[tokio::test]
async fn a_flood_of_logins_does_not_turn_away_who_asks_about_a_session() {
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let answer_within = Duration::from_secs(60);
    let settings =
        LdapSettings { connections_max: 1, answer_within, connect_within: answer_within, ..settings(&slapd) };
    let directory = Arc::new(directory(settings));
    let anna = User::new("/", "anna").unwrap();
    slapd.stop();
    let mut logins = tokio::task::JoinSet::new();
    for _ in 0..30 {
        let directory = Arc::clone(&directory);
        logins.spawn(async move { check(&directory, "anna", "secret").await });
    }
    // No more of them have room, and none is answered.
    let turned_away = logins.join_next().await.unwrap().unwrap();
    assert!(matches!(turned_away, Err(DirectoryFault::Busy { .. })), "{turned_away:?}");
    let mut account = std::pin::pin!(directory.account(&anna));
    tokio::select! {
        biased;
        account = &mut account => panic!("{account:?}"),
        more = logins.join_next() => assert!(matches!(more, Some(Ok(Err(DirectoryFault::Busy { .. }))))),
    }
    slapd.go_on();
    assert_eq!(account.await.unwrap().unwrap().subject, "anna");
}

/// The way to lock somebody: an entry that the filter does not find is nobody's, for logins and for what decisions ask.
#[tokio::test]
async fn who_is_not_found_by_the_filter_any_more_is_no_user() {
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let anna = User::new("/", "anna").unwrap();
    let before = directory(settings(&slapd));
    assert_eq!(before.account(&anna).await.unwrap().unwrap().subject, "anna");
    let user_filter = "(&(objectClass=person)(!(title=doctor)))".to_owned();
    let locked = directory(LdapSettings { user_filter, ..settings(&slapd) });
    assert_eq!(locked.account(&anna).await, Ok(None));
    assert_eq!(check(&locked, "anna", "secret").await, UNKNOWN);
    right(&locked, "berta").await;
}

#[tokio::test]
async fn referrals_lead_to_named_servers_only_and_only_when_wanted() {
    let Some(there) = Slapd::start(Far::Here).await else { return };
    let Some(here) = Slapd::start(Far::There(&there.tls_url())).await else { return };
    let never = directory(LdapSettings { servers: vec![here.tls_url()], ..both(&here, &there) });
    right(&never, "anna").await;
    assert_eq!(check(&never, "clara", "secret").await, UNKNOWN);
    let named = LdapSettings { referrals: LdapReferrals::SameHosts, ..both(&here, &there) };
    let follows = directory(named.clone());
    assert_eq!(right(&follows, "clara").await.subject, "clara");
    assert_eq!(check(&follows, "clara", "wrong").await, WRONG);
    right(&follows, "anna").await;
    let other = directory(LdapSettings { servers: vec![here.tls_url()], ..named });
    assert_eq!(check(&other, "clara", "secret").await, UNKNOWN);
}

#[tokio::test]
async fn a_directory_that_lies_is_not_believed() {
    use liar::Liar;
    let ask = async |liar: Liar, answer_within: Duration| {
        let settings = LdapSettings {
            security: LdapSecurity::DangerPlainText,
            answer_within,
            ..LdapSettings::new(vec![liar.start().await], BASE)
        };
        check(&directory(settings), "anna", "secret").await
    };
    let (short, long) = (Duration::from_millis(500), Duration::from_secs(60));
    let elsewhere = Liar::Entry { dn: "uid=anna,ou=evil,dc=example,dc=org", uid: "anna" };
    assert!(failure(ask(elsewhere, long).await).contains("not asked for"));
    let other = Liar::Entry { dn: "uid=root,ou=people,dc=example,dc=org", uid: "root" };
    assert_eq!(ask(other, long).await, UNKNOWN);
    // Neither a message without an end nor messages without an end are waited for.
    for endless in [Liar::EndlessMessage, Liar::EndlessEntries] {
        let message = failure(ask(endless, long).await);
        assert!(message.contains("no server") && !message.contains("in time"), "{message}");
    }
    // Its second byte says that more is to come.
    assert!(failure(ask(Liar::Garbage, short).await).contains("in time"));
    let nonsense = failure(ask(Liar::Nonsense, long).await);
    assert!(nonsense.contains("no server") || nonsense.contains("understood"), "{nonsense}");
}

fn lookup(settings: LdapSettings) -> LdapLookup {
    LdapLookup::new(settings).unwrap()
}

fn search(filter: &str, attribute: &str) -> LdapSearch {
    let scope = LdapScope::Subtree;
    LdapSearch { base: None, scope, filter: filter.to_owned(), attribute: attribute.to_owned() }
}

/// Whatever somebody is called, a name made with it is that of their entry or of none, and a filter means theirs or none.
#[tokio::test]
async fn a_value_within_a_name_finds_no_other_entry() {
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let lookup = lookup(settings(&slapd));
    let below = async |name: &str| {
        let base = Some(format!("uid={},{BASE}", LdapPlace::Dn.escaped(name)));
        lookup.values(LdapSearch { base, ..search("(objectClass=person)", "uid") }).await
    };
    let member = async |name: &str| {
        let name = LdapPlace::DnInFilter.escaped(name);
        lookup
            .values(LdapSearch {
                base: Some(GROUPS.to_owned()),
                ..search(&format!("(member=uid={name},{BASE})"), "cn")
            })
            .await
    };
    let odd = "a*b(c)\\d, e";
    assert_eq!(below("anna").await.unwrap(), ["anna"]);
    assert_eq!(below(odd).await.unwrap(), [odd]);
    assert_eq!(member("anna").await.unwrap(), ["doctors"]);
    for hostile in [
        "anna,ou=people",
        "anna+cn=Anna A",
        "anna\\",
        "#616e6e61",
        "\"anna\"",
        "anna\0",
        "*",
        "anna)(uid=*",
        "an;na",
        "<anna>",
    ] {
        let message = below(hostile).await.unwrap_err().to_string();
        assert!(message.contains("there is no entry"), "{hostile:?}: {message}");
        assert_eq!(member(hostile).await.unwrap(), [""; 0], "{hostile:?}");
    }
}

/// Each request asks again; the log tells it once in a minute, for each server.
#[tokio::test]
async fn a_directory_that_is_down_is_one_line_for_each_server_and_not_for_each_question() {
    let log = lines::Lines::default();
    let _guard = tracing::subscriber::set_default(log.subscriber());
    let gone = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let servers = [gone(), gone()].map(|address| format!("ldap://{address}"));
    let plain =
        LdapSettings { security: LdapSecurity::DangerPlainText, ..LdapSettings::new(servers.to_vec(), BASE) };
    let lookup = lookup(plain);
    for _ in 0..5 {
        lookup.values(search("(uid=anna)", "cn")).await.unwrap_err();
    }
    for server in servers {
        let lines = log.with(server.trim_start_matches("ldap://"));
        assert_eq!(lines.len(), 1, "{lines:?}");
    }
}

#[tokio::test]
async fn a_lookup_gives_all_values_of_all_entries_that_fit() {
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let lookup = lookup(settings(&slapd));
    let values = async |search: LdapSearch| {
        let mut values = lookup.values(search).await.unwrap();
        values.sort();
        values
    };
    let anna = format!("(uid={})", LdapPlace::Filter.escaped("anna"));
    assert_eq!(values(search(&anna, "MAIL")).await, ["anna@example.org", "shared@example.org"]);
    assert_eq!(values(search("(mail=shared@example.org)", "uid")).await, ["anna", "berta"]);
    assert!(values(search(&anna, "telephoneNumber")).await.is_empty());
    let odd = "a*b(c)\\d, e";
    assert_eq!(values(search(&format!("(uid={})", LdapPlace::Filter.escaped(odd)), "uid")).await, [odd]);
    let below = LdapSearch { base: Some(GROUPS.to_owned()), ..search("(cn=doctors)", "cn") };
    assert_eq!(values(below).await, ["doctors"]);
    let nowhere = LdapSearch { base: Some("ou=none,dc=example,dc=org".to_owned()), ..search(&anna, "uid") };
    assert!(
        lookup.values(nowhere).await.is_err(),
        "no such base is a mistake in the settings, not an empty answer"
    );
    drop(slapd);
    assert!(lookup.values(search(&anna, "uid")).await.is_err());
}

#[tokio::test]
async fn a_lookup_does_not_believe_a_directory_that_lies() {
    use liar::Liar;
    let ask = async |liar: Liar, answer_within: Duration| {
        let settings = LdapSettings {
            security: LdapSecurity::DangerPlainText,
            answer_within,
            ..LdapSettings::new(vec![liar.start().await], BASE)
        };
        lookup(settings).values(search("(uid=anna)", "uid")).await
    };
    let long = Duration::from_secs(60);
    let elsewhere = Liar::Entry { dn: "uid=anna,ou=evil,dc=example,dc=org", uid: "anna" };
    assert!(ask(elsewhere, long).await.unwrap_err().to_string().contains("not asked for"));
    assert!(ask(Liar::Range, long).await.unwrap_err().to_string().contains("in parts"));
    for wrong in [Liar::EndlessMessage, Liar::EndlessEntries, Liar::Nonsense] {
        assert!(ask(wrong, long).await.is_err());
    }
    assert!(ask(Liar::Garbage, Duration::from_millis(500)).await.is_err());
}

//! What tokens call those whom they are about: `sub`, which no two may share.
//!
//! A client is `client:ID`. A user of the root realm is called as he is; one of another realm has the realm behind an `@`:
//! `demo@/sales`. A user of the root realm whose own name could be taken for one of these has the root realm behind his: `client:x@/`.
//! Realms have no `@` in them ([`super::Issued::new`] sees to that), so that the last `@/` begins the realm.

use durward_session::identity::session::User;

const CLIENT: &str = "client:";

/// What a client is called.
pub fn of_client(id: &str) -> String {
    format!("{CLIENT}{id}")
}

/// What a user is called.
pub fn of_user(user: &User) -> String {
    let (realm, name) = (user.realm(), user.subject());
    if realm == "/" && !name.starts_with(CLIENT) && !name.contains("@/") {
        return name.to_owned();
    }
    format!("{name}@{realm}")
}

/// The user that is called so.
pub fn read(sub: &str) -> Option<User> {
    match sub.rfind("@/") {
        Some(at) => User::new(sub.get(at + 1..)?, sub.get(..at)?).ok(),
        None if sub.starts_with(CLIENT) => None,
        None => User::new("/", sub).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_share_a_subject_and_each_is_read_back() {
        let users = [
            ("/", "demo"),
            ("/sales", "demo"),
            ("/", "demo@/sales"),
            ("/", "demo@/"),
            ("/", "demo@example.org"),
            ("/sales", "demo@example.org"),
            ("/sales", "demo@/sales"),
            ("/sales/north", "demo"),
            ("/", "client:demo"),
            ("/sales", "client:demo"),
            ("/", "uid=demo,ou=people@/"),
        ];
        let mut called = vec![of_client("demo"), of_client("demo2")];
        for (realm, name) in users {
            let user = User::new(realm, name).unwrap();
            called.push(of_user(&user));
            assert_eq!(read(&of_user(&user)), Some(user));
        }
        assert_eq!(read(&of_client("demo")), None);
        let count = called.len();
        called.sort();
        called.dedup();
        assert_eq!(called.len(), count, "{called:?}");
    }

    #[test]
    fn a_usual_user_keeps_his_name() {
        assert_eq!(of_user(&User::new("/", "demo").unwrap()), "demo");
        assert_eq!(of_user(&User::new("/sales", "demo").unwrap()), "demo@/sales");
    }
}

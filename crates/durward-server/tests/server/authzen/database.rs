//! Entities of a database, in a server of PostgreSQL that a test has for itself.

/// Whoever expects entities of a database must not run without them.
#[cfg(not(feature = "postgres"))]
#[test]
fn a_build_without_it_does_not_start_with_a_database() {
    use crate::support::{Directory, TestServer};
    let directory = Directory::new();
    directory.write("policies/p.sapl", "policy \"p\" permit");
    let text = "authzen.entities = [{ database = 'postgres://a@localhost/r', query = 'TABLE e' }]\n";
    let error = TestServer::start_in(directory, text).err().unwrap().to_string();
    assert!(error.contains("the feature `postgres`"), "{error}");
}

#[cfg(feature = "postgres")]
mod asked {
    use std::net::TcpListener;

    use durward_testdata::Postgres;
    use serde_json::{Value, json};

    use super::super::world::{OPEN, entity, found, ok};
    use crate::support::{Directory, TestServer, workspace};
    use crate::tls::certificates;

    /// A server of PostgreSQL.
    struct Database {
        server: Postgres,
        port: u16,
        /// Goes last: the server has its files in it.
        directory: Directory,
    }

    impl Database {
        /// `None` without PostgreSQL, which is said.
        fn start(sql: &str) -> Option<Database> {
            let Some(program) = Postgres::program() else {
                durward_testdata::skip("no PostgreSQL: apt-get install postgresql");
                return None;
            };
            let directory = Directory::new();
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let settings = ["listen_addresses=127.0.0.1", &format!("port={port}"), "shared_buffers=16MB"];
            let server = Postgres::start(&program, &directory.path("pg"), &settings).unwrap();
            let database = Database { server, port, directory };
            database.run(sql);
            Some(database)
        }

        fn run(&self, sql: &str) {
            self.server.ask(sql).unwrap();
        }

        /// By its socket.
        fn address(&self) -> String {
            let folder = self.directory.path("pg").display().to_string().replace('/', "%2F");
            format!("postgres://postgres@{folder}:{}/postgres", self.port)
        }
    }

    /// A server whose users may do what the policies say, with entities of a query and what else is said of them.
    fn start(policies: &str, address: &str, query: &str, more: &str) -> Result<TestServer, String> {
        start_with(Directory::new(), policies, address, query, more)
    }

    fn start_with(
        directory: Directory,
        policies: &str,
        address: &str,
        query: &str,
        more: &str,
    ) -> Result<TestServer, String> {
        directory.write("policies/p.sapl", policies);
        let file = directory.path("users.jsonl");
        directory.write("users.jsonl", "{\"type\":\"user\",\"id\":\"ada\"}\n");
        let text = format!(
            "{OPEN}[[authzen.entities]]\npath = '{}'\n[[authzen.entities]]\ndatabase = '{address}'\nquery = \"\"\"{query}\"\"\"\n{more}",
            file.display()
        );
        TestServer::start_in(directory, &text).map_err(|error| error.to_string())
    }

    const OWNERS: &str = "policy \"owners\" permit resource.owner == subject.id;";

    const RECORDS: &str = "CREATE TABLE records (id text, owner text);
        INSERT INTO records VALUES ('r1', 'ada'), ('r2', 'bob'), ('r3', 'ada');";

    const TABLE: &str = "SELECT 'record' AS type, id, owner FROM records";

    /// The records that ada may read.
    fn of_ada(server: &TestServer) -> Vec<String> {
        let body = json!({ "subject": entity("user", "ada"), "action": { "name": "read" }, "resource": { "type": "record" } });
        found(&ok(server, "search/resource", &body))
    }

    fn problem(server: &TestServer) -> Option<String> {
        let sources = server.ready()["entities"].clone();
        let problem = |source: &Value| Some(source["problem"].as_str()?.to_owned());
        sources.as_array().into_iter().flatten().find_map(problem)
    }

    #[test]
    fn rows_are_searched_and_read_again_when_the_database_tells_of_a_change() {
        let Some(database) = Database::start(RECORDS) else { return };
        let more = "refresh_s = 0\nnotify = 'Records \"changed\"'\n";
        let server = start(OWNERS, &database.address(), TABLE, more).unwrap();
        assert_eq!(of_ada(&server), ["r1", "r3"]);
        database.run("UPDATE records SET owner = 'ada' WHERE id = 'r2'; NOTIFY \"Records \"\"changed\"\"\"");
        server.eventually("r2 is ada's", |server| of_ada(server) == ["r1", "r2", "r3"]);
        database.run("DELETE FROM records WHERE id = 'r1'; NOTIFY \"Records \"\"changed\"\"\"");
        server.eventually("r1 is gone", |server| of_ada(server) == ["r2", "r3"]);
        assert_eq!(server.metric("durward_entities"), 3.0);
        assert_eq!(server.metric("durward_entities_stale"), 0.0);
        assert_eq!(problem(&server), None);
        let source = server.ready()["entities"][0].clone();
        assert!(source["source"].as_str().unwrap().ends_with("/postgres"), "{source}");
        assert!(source["age_s"].as_f64().is_some() && source["tenant"] == "default", "{source}");
    }

    #[test]
    fn rows_are_asked_for_again_and_again_where_nobody_tells() {
        let Some(database) = Database::start(RECORDS) else { return };
        let server = start(OWNERS, &database.address(), &format!("{TABLE};\n"), "refresh_s = 1\n").unwrap();
        assert_eq!(of_ada(&server), ["r1", "r3"]);
        server.eventually("the same came again", |server| {
            server.metric("durward_entity_loads_total{result=\"unchanged\"}") > 0.0
        });
        database.run("DELETE FROM records WHERE id = 'r1'");
        server.eventually("r1 is gone", |server| of_ada(server) == ["r3"]);
    }

    /// Each value is what a policy expects of it.
    #[test]
    fn values_are_what_their_types_say() {
        let cases = [
            ("'x'::varchar", "== \"x\""),
            ("'550E8400-E29B-41D4-A716-446655440000'::uuid", "== \"550e8400-e29b-41d4-a716-446655440000\""),
            ("true", "== true"),
            ("7::int2", "== 7"),
            ("9007199254740993::int8", "== 9007199254740993"),
            ("1.5::float4", "== 1.5"),
            ("0.1::float8", "== 0.1"),
            ("12345678901234567890.123456789::numeric", "== 12345678901234567890.123456789"),
            ("'{\"a\":[1,null]}'::json", "== {\"a\":[1,null]}"),
            ("'{\"a\":1}'::jsonb", "== {\"a\":1}"),
            ("'2026-01-02 03:04:05.5+02'::timestamptz", "== \"2026-01-02T01:04:05.5+00:00\""),
            ("'2026-01-02 03:04:05'::timestamp", "== \"2026-01-02T03:04:05\""),
            ("'2026-01-02'::date", "== \"2026-01-02\""),
            ("ARRAY['a','b']", "== [\"a\",\"b\"]"),
            ("ARRAY[1,2]::int8[]", "== [1,2]"),
            ("ARRAY[true]", "== [true]"),
            ("'green'::colour", "== \"green\""),
            ("'ada'::name_of_user", "== \"ada\""),
            ("NULL::text", "== undefined"),
        ];
        let Some(database) =
            Database::start("CREATE TYPE colour AS ENUM ('green'); CREATE DOMAIN name_of_user AS text")
        else {
            return;
        };
        let columns: Vec<String> =
            cases.iter().enumerate().map(|(number, (value, _))| format!("{value} AS c{number}")).collect();
        let policies: Vec<String> = cases
            .iter()
            .enumerate()
            .map(|(number, (_, expected))| {
                format!("policy \"c{number}\" permit action == \"c{number}\"; resource.c{number} {expected};")
            })
            .collect();
        let query = format!("SELECT 'record' AS type, 'r' AS id, {}", columns.join(", "));
        let set = format!("set \"types\"\nfirst or deny errors propagate\n{}", policies.join("\n"));
        let server = start(&set, &database.address(), &query, "").unwrap();
        for (number, (value, expected)) in cases.iter().enumerate() {
            let action = json!({ "name": format!("c{number}") });
            let body = json!({ "subject": entity("user", "ada"), "action": action, "resource": entity("record", "r") });
            assert_eq!(ok(&server, "evaluation", &body)["decision"], true, "{value} {expected}");
        }
    }

    #[test]
    fn a_column_of_properties_is_taken_as_it_is() {
        let Some(database) = Database::start(
            "CREATE TABLE records (number int, properties jsonb);
            INSERT INTO records VALUES (1, '{\"owner\": \"ada\"}'), (2, NULL)",
        ) else {
            return;
        };
        let query = "SELECT number::text AS id, properties FROM records -- all of them";
        let server = start(OWNERS, &database.address(), query, "type = 'record'\n").unwrap();
        assert_eq!(of_ada(&server), ["1"]);
    }

    #[test]
    fn what_cannot_be_read_stops_the_start_and_is_said_with_a_way_out() {
        let Some(database) = Database::start(&format!("{RECORDS} CREATE SEQUENCE numbers")) else { return };
        let row = "SELECT 'record' AS type, 'r' AS id";
        for (query, more, words) in [
            (
                format!("{row}, 'x'::bytea AS key"),
                "",
                "the column `key` is of the type `bytea`, which is not read; write `key::text AS key`",
            ),
            (
                format!("{row}, '1 day'::interval AS \"term\""),
                "",
                "the column `term` is of the type `interval`",
            ),
            (format!("{row}, ROW(1, 2) AS pair"), "", "the column `pair` is of the type `record`"),
            (
                "SELECT 'record' AS type, 7 AS id".to_owned(),
                "",
                "the column `id` is of the type `int4`, and must be a text: write `id::text AS id`",
            ),
            ("SELECT 'r' AS id".to_owned(), "", "there is no column `type`"),
            ("SELECT 'record' AS type".to_owned(), "", "there is no column `id`"),
            (format!("{row}, 1 AS a, 2 AS a"), "", "the column `a` is there twice"),
            (
                format!("{row}, 'x' AS properties"),
                "",
                "the column `properties` is of the type `text`, and must be `json` or `jsonb`",
            ),
            (
                format!("{row}, '{{}}'::json AS properties, 1 AS a"),
                "",
                "there are columns `properties` and `a`",
            ),
            (format!("{row}, '[]'::json AS properties"), "", "row 1: `properties` must be an object"),
            (format!("{row}, 'NaN'::float8 AS score"), "", "row 1: `score` holds NaN"),
            ("SELECT 'record' AS type, NULL::text AS id".to_owned(), "", "row 1: `id` must be a string"),
            (
                "SELECT 'record' AS type,\n id FROM recrods".to_owned(),
                "",
                "the database says: relation \"recrods\" does not exist (line 2, column 10 of `query`)",
            ),
            (
                format!("{row}; DELETE FROM records"),
                "",
                "cannot insert multiple commands into a prepared statement",
            ),
            (format!("{row} WHERE $1"), "", "`query` has parameters"),
            (
                "SELECT 'record' AS type, nextval('numbers')::text AS id".to_owned(),
                "",
                "cannot execute nextval() in a read-only transaction",
            ),
            ("DELETE FROM records RETURNING 'record' AS type, id".to_owned(), "", "the database says: "),
            (
                format!("{row} FROM pg_sleep(3600)"),
                "query_time_ms_max = 50\n",
                "canceling statement due to statement timeout",
            ),
            (format!("{row} UNION ALL {row}"), "", "`r` of type `record` is there already: postgres://"),
            ("SELECT 'user' AS type, 'ada' AS id".to_owned(), "", "`ada` of type `user` is there already: "),
            (TABLE.to_owned(), "[authzen]\nentities_max = 3\n", "there are more than 3 entities"),
            (TABLE.to_owned(), "[authzen]\nentities_bytes_max = 60\n", "60 bytes"),
            (
                TABLE.to_owned(),
                "notify = 'x'\npassword_path = '/nowhere'\n",
                "/nowhere: No such file or directory (os error 2); see `password_path`",
            ),
        ] {
            let error = start("policy \"p\" permit", &database.address(), &query, more).err();
            let error = error.unwrap_or_else(|| panic!("{query}"));
            assert!(error.starts_with("`authzen.entities` cannot be used: postgres://"), "{error}");
            assert!(error.contains(words), "{query}: {error}");
        }
        assert_eq!(database.server.ask("SELECT count(*) FROM records").unwrap(), "3", "nothing was changed");
    }

    #[test]
    fn a_database_that_is_gone_leaves_what_was_read_and_is_asked_again() {
        let Some(mut database) = Database::start(RECORDS) else { return };
        let server = start(OWNERS, &database.address(), TABLE, "notify = 'records'\n").unwrap();
        database.server.end();
        server.eventually("it is said", |server| server.metric("durward_entities_stale") == 1.0);
        let said = problem(&server).unwrap();
        assert!(said.starts_with("postgres://"), "{said}");
        assert_eq!(
            (of_ada(&server), server.ready()["status"].as_str()),
            (vec!["r1".into(), "r3".into()], Some("ready"))
        );
        assert!(server.metric("durward_entity_loads_total{result=\"failed\"}") > 0.0);
        database.server.begin().unwrap();
        server.eventually("it is well again", |server| server.metric("durward_entities_stale") == 0.0);
        database.run("DELETE FROM records WHERE id = 'r1'; NOTIFY records");
        server.eventually("changes are heard", |server| of_ada(server) == ["r3"]);
    }

    #[test]
    fn rows_that_cannot_be_used_change_nothing_until_they_can() {
        let Some(database) = Database::start(RECORDS) else { return };
        let query = format!("{TABLE} UNION ALL SELECT 'user', id, owner FROM records WHERE id = 'ada'");
        let server = start(OWNERS, &database.address(), &query, "notify = 'records'\n").unwrap();
        database.run(
            "DELETE FROM records WHERE id = 'r1'; INSERT INTO records VALUES ('ada', 'x'); NOTIFY records",
        );
        server.eventually("it is said", |server| problem(server).is_some());
        let said = problem(&server).unwrap();
        assert!(
            said.contains("`ada` of type `user` is there already: ") && said.contains("users.jsonl:1"),
            "{said}"
        );
        assert_eq!(of_ada(&server), ["r1", "r3"]);
        // The file may change meanwhile, and then the rows fit.
        server.directory.write("users.jsonl", "{\"type\":\"user\",\"id\":\"bob\"}\n");
        server.eventually("the rows are in place", |server| {
            of_ada(server) == ["r3"] && problem(server).is_none()
        });
        // What does not fit of the file fits when rows are gone.
        server
            .directory
            .write("users.jsonl", "{\"type\":\"user\",\"id\":\"ada\"}\n{\"type\":\"user\",\"id\":\"eve\"}\n");
        server.eventually("it is said of the file", |server| {
            problem(server).is_some_and(|said| said.contains("users.jsonl") || said.contains("`ada`"))
        });
        database.run("DELETE FROM records WHERE id = 'ada'; NOTIFY records");
        let is_known = |server: &TestServer| {
            let body = json!({ "subject": entity("user", "eve"), "action": { "name": "read" }, "resource": entity("record", "r3") });
            problem(server).is_none()
                && server.metric("durward_entities") == 4.0
                && ok(server, "evaluation", &body)["decision"] == false
        };
        server.eventually("the file is in place", is_known);
    }

    /// Over TCP on this machine with a password, which nothing repeats, and under TLS where authorities are named.
    #[test]
    fn passwords_are_sent_to_whom_they_are_for_and_shown_to_nobody() {
        let Some(made) = certificates() else { return };
        let Some(mut database) = Database::start(RECORDS) else { return };
        database.run("CREATE ROLE ada LOGIN PASSWORD 's3cr3t-word'; GRANT SELECT ON records TO ada");
        database.server.demand_passwords().unwrap();
        made.write_secret("right", "s3cr3t-word\n");
        made.write_secret("wrong", "wr0ng-word\n");
        made.write("shown", "s3cr3t-word\n");
        made.permit("shown", 0o644);
        made.write("other.pem", &std::fs::read_to_string(made.path("client.pem")).unwrap());
        let path = |name: &str| made.path(name).display().to_string();
        let password = |name: &str| format!("password_path = '{}'\n", path(name));
        let trust = |name: &str| format!("authorities = '{}'\n", path(name));
        let port = database.port;
        let try_one = |host: &str, more: &str| {
            start(OWNERS, &format!("postgres://ada@{host}:{port}/postgres"), TABLE, more)
        };
        let refused = |host: &str, more: &str, words: &str| {
            let error = try_one(host, more).err().unwrap_or_else(|| panic!("{more}"));
            assert!(error.contains(words), "{error}");
            assert!(!error.contains("s3cr3t") && !error.contains("wr0ng"), "{error}");
        };
        refused("127.0.0.1", "", "the database asks for a password; name a file with `password_path`");
        refused("127.0.0.1", &password("wrong"), "password authentication failed");
        refused("127.0.0.1", &password("shown"), "`chmod 600` it");
        refused("localhost", &(password("right") + &trust("ca.pem")), "server does not support TLS");
        let server = try_one("127.0.0.1", &password("right")).unwrap();
        assert_eq!(of_ada(&server), ["r1", "r3"]);
        database.server.encrypt(&made.path("server.pem"), &made.path("server.key")).unwrap();
        refused("localhost", &(password("right") + &trust("other.pem")), "certificate");
        refused("127.0.0.1", &(password("right") + &trust("ca.pem")), "certificate");
        let server = try_one("localhost", &(password("right") + &trust("ca.pem"))).unwrap();
        assert_eq!(of_ada(&server), ["r1", "r3"]);
        let encrypted = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND usename = 'ada'";
        assert_eq!(database.server.ask(encrypted).unwrap(), "1");
        let told = server.ready().to_string() + &server.get("/metrics").text();
        assert!(!told.contains("s3cr3t"));
    }

    /// The table, the trigger and the query of docs/authzen.md.
    #[test]
    fn the_example_of_the_manual_tells_of_changes() {
        let page = std::fs::read_to_string(workspace("docs/authzen.md")).unwrap();
        let (_, page) = page.split_once("### From a database").unwrap();
        let block =
            |kind: &str| page.split_once(&format!("```{kind}\n")).unwrap().1.split_once("```").unwrap().0;
        let Some(database) = Database::start(
            "CREATE TABLE records (id int, owner text, pages int, tags text[]); INSERT INTO records VALUES (1, 'ada', 3, '{a}')",
        ) else {
            return;
        };
        database.run(block("sql"));
        let example: toml::Table = toml::from_str(block("toml")).unwrap();
        let entry = example["authzen"]["entities"][0].as_table().unwrap();
        let text = |name: &str| entry[name].as_str().unwrap();
        let address = database.address().replace("postgres@", "durward@");
        let more = format!("notify = '{}'\nrefresh_s = 0\n", text("notify"));
        let server = start(OWNERS, &address, text("query"), &more).unwrap();
        assert_eq!(of_ada(&server), ["1"]);
        database.run("INSERT INTO records VALUES (2, 'ada', 1, NULL)");
        server.eventually("the new one is there", |server| of_ada(server) == ["1", "2"]);
    }

    #[test]
    fn the_next_server_is_taken_where_one_is_away() {
        let Some(database) = Database::start(RECORDS) else { return };
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let address = format!("postgres://postgres@{gone},127.0.0.1:{}/postgres", database.port);
        assert_eq!(of_ada(&start(OWNERS, &address, TABLE, "").unwrap()), ["r1", "r3"]);
        let address = format!("postgres://postgres@{gone}/postgres");
        let error = start(OWNERS, &address, TABLE, "").err().unwrap();
        assert!(error.contains("Connection refused"), "{error}");
    }
}

//! One database for many, whose user may not do everything, or whose schema is not as it should be: it is said which
//! right is missing, and nothing is made elsewhere.
//!
//! Each test has a server of its own; on a machine without one it says so and tests nothing.

use tests::bench::{Answer, Place};
use tests::postgres::Postgres;

const FLOW: &str = "const greet = handler({ name: \"greet\", execute: () => \"hello\" });
export default defineFlow({ kind: \"greeter\", actions: { greet: { block: greet } } });";

fn run(place: &Place, address: &str) -> Answer {
    place.run(&["run", "greeter", "greet", "--user", "ada", "--data", address])
}

#[track_caller]
fn refuses(answer: &Answer, words: &str) {
    assert!(answer.code != Some(0) && answer.stderr.contains(words), "{words}\n{answer}");
}

/// A database without tables is there all the same: what only reads says so, and a worker makes them.
#[test]
fn a_database_without_tables_is_no_missing_one() {
    let Some(server) = Postgres::start() else { return };
    let place = Place::with_flow(FLOW);
    let address = server.address("new");
    for words in ["requests", "check", "stats", "verify", "compact", "suspensions"] {
        let answer = place.run(&[words, "--data", &address]);
        assert_eq!(answer.code, Some(6), "{words}: {answer}");
        assert!(answer.stderr.contains("has no tables of Flowglass yet"), "{words}: {answer}");
    }
    assert_eq!(place.run(&["worker", "--until-idle", "--data", &address]).code, Some(0));
    assert_eq!(place.run(&["requests", "--data", &address]).code, Some(0));
}

/// Each right that may be missing is named, and nothing is made in another schema.
#[test]
fn a_missing_right_is_named() {
    let Some(server) = Postgres::start() else { return };
    let place = Place::with_flow(FLOW);
    let ours = server.address("ours");
    assert_eq!(run(&place, &ours).code, Some(0));
    server.query("CREATE ROLE guest LOGIN; CREATE SCHEMA empty").expect("they can be made");
    let guest = |schema: &str| server.address(schema).replace("postgres@", "guest@");
    for answer in [run(&place, &guest("ours")), place.run(&["requests", "--data", &guest("ours")])] {
        refuses(&answer, "GRANT USAGE ON SCHEMA ours TO guest");
    }
    refuses(&run(&place, &guest("empty")), "GRANT USAGE ON SCHEMA empty TO guest");
    server.query("GRANT USAGE ON SCHEMA ours, empty TO guest").expect("it can be granted");
    refuses(&run(&place, &guest("empty")), "GRANT CREATE ON SCHEMA empty TO guest");
    refuses(&run(&place, &guest("none")), "CREATE SCHEMA none AUTHORIZATION guest");
    refuses(&place.run(&["requests", "--data", &guest("ours")]), "GRANT SELECT ON ALL TABLES IN SCHEMA ours TO guest");
    server.query("GRANT SELECT ON ALL TABLES IN SCHEMA ours TO guest").expect("it can be granted");
    assert_eq!(place.run(&["requests", "--data", &guest("ours")]).code, Some(0));
    refuses(&run(&place, &guest("ours")), "GRANT ALL ON ALL TABLES IN SCHEMA ours TO guest");
    // Rights are not everything: what the server sets for a user holds.
    server.query("GRANT ALL ON ALL TABLES IN SCHEMA ours TO guest").expect("it can be granted");
    server.query("ALTER ROLE guest SET default_transaction_read_only = on").expect("it can be set");
    refuses(&run(&place, &guest("ours")), "ALTER ROLE guest SET default_transaction_read_only = off");
    assert_eq!(place.run(&["requests", "--data", &guest("ours")]).code, Some(0));
    assert_eq!(server.query("SELECT count(*) FROM ours.request").as_deref(), Some("1"));
}

/// Tables of another program in the schema, and a table of ours that says nothing right.
#[test]
fn a_schema_that_is_not_ours_or_damaged_is_refused() {
    let Some(server) = Postgres::start() else { return };
    let place = Place::with_flow(FLOW);
    let others = ["request (a int)", "revision (a int)", "scope (a int)"].into_iter().zip(["a1", "a2", "a3"]);
    for (table, schema) in others {
        server.query(&format!("CREATE SCHEMA {schema}; CREATE TABLE {schema}.{table}")).expect("it can be made");
        let answer = run(&place, &server.address(schema));
        refuses(&answer, "holds tables that are not of Flowglass");
        refuses(&answer, "?schema=NAME");
    }
    assert_eq!(place.run(&["requests", "--data", &server.address("information_schema")]).code, Some(2));
    let ours = server.address("ours");
    assert_eq!(run(&place, &ours).code, Some(0));
    for change in ["UPDATE ours.revision SET format = 0", "UPDATE ours.revision SET format = -3"] {
        server.query(change).expect("it can be changed");
        refuses(&place.run(&["requests", "--data", &ours]), "is a damaged Flowglass database");
    }
    server.query("DELETE FROM ours.revision").expect("it can be changed");
    refuses(&place.run(&["requests", "--data", &ours]), "has 0 rows and not one");
    refuses(&run(&place, &ours), "has 0 rows and not one");
}

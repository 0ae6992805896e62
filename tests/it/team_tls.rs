//! The connection to a server is encrypted as its address asks for, and its certificate is checked.
//!
//! The server refuses connections that are not; on a machine without one, nothing is tested.

use tests::bench::{Answer, Place};
use tests::postgres::Postgres;

const FLOW: &str = "const greet = handler({ name: \"greet\", execute: () => \"hello\" });
export default defineFlow({ kind: \"greeter\", actions: { greet: { block: greet } } });";

fn run(place: &Place, address: &str) -> Answer {
    place.run(&["run", "greeter", "greet", "--user", "ada", "--json", "--data", address])
}

#[test]
fn a_connection_is_encrypted_as_its_address_says() {
    let Some(server) = Postgres::start_with_tls() else { return };
    let place = Place::with_flow(FLOW);
    let authority = format!("&sslrootcert={}", server.authority().display());
    for (host, more) in [
        ("127.0.0.1", String::new()),
        ("127.0.0.1", "&sslmode=require".to_owned()),
        ("localhost", format!("&sslmode=verify-full{authority}")),
        ("127.0.0.1", format!("&sslmode=verify-ca{authority}")),
    ] {
        let answer = run(&place, &server.address_at(host, "tls", &more));
        assert_eq!(answer.code, Some(0), "{host} {more}\n{answer}");
    }
    for (host, more, why, hint) in [
        ("127.0.0.1", "&sslmode=disable".to_owned(), "no encryption", "leave sslmode=disable out"),
        // The certificate is for another name.
        ("127.0.0.1", format!("&sslmode=verify-full{authority}"), "not valid for name", "or sslmode=verify-ca"),
        // Nobody whom this machine trusts has signed it.
        ("localhost", "&sslmode=verify-full".to_owned(), "certificate", "sslrootcert=FILE"),
    ] {
        let answer = run(&place, &server.address_at(host, "tls", &more));
        assert_eq!(answer.code, Some(1), "{host} {more}\n{answer}");
        assert!(answer.stderr.contains(why) && answer.stderr.contains(hint), "{host} {more}\n{answer}");
    }
    assert_eq!(server.query("SELECT count(*) FROM tls.request").as_deref(), Some("4"));
}

#[test]
fn what_an_address_says_wrong_of_encryption_is_told() {
    let place = Place::with_flow(FLOW);
    let at = |more: &str| run(&place, &format!("postgres://ann:secret@127.0.0.1:1/d?{more}"));
    let wrong = at("sslmode=strict");
    assert_eq!(wrong.code, Some(2), "{wrong}");
    assert!(wrong.stderr.contains("unknown sslmode \"strict\"") && wrong.stderr.contains("verify-full"), "{wrong}");
    let unnamed = at("sslmode=verify-ca");
    assert!(unnamed.code == Some(2) && unnamed.stderr.contains("needs sslrootcert=FILE"), "{unnamed}");
    place.write("empty.pem", "");
    for (file, why) in [("none.pem", "none.pem"), ("empty.pem", "no certificate in it")] {
        let answer = at(&format!("sslmode=verify-full&sslrootcert={file}"));
        assert_eq!(answer.code, Some(2), "{answer}");
        assert!(answer.stderr.contains(why) && !answer.stderr.contains("secret"), "{answer}");
    }
}

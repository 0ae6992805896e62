//! One database for many, where connections are cut off or scarce: nothing is lost, and nothing happens twice.
//!
//! Each test has a server of its own; on a machine without one it says so and tests nothing.

use tests::bench::Place;
use tests::counting::Counter;
use tests::cutting::{Cut, CuttingProxy};
use tests::postgres::Postgres;

/// Three steps, each of which happens outside and changes a record.
const FLOW: &str = r#"
const step = (name: string) => handler({ name, execute: async (value: any, ctx) => {
  await fetch("http://HOST", { method: "POST", body: ctx.idempotencyKey });
  await ctx.session.incState({ total: 1 });
  return value;
}});
export default defineFlow({
  kind: "steps",
  session: { stateSchema: z.object({ total: z.number().default(0) }) },
  actions: { go: { inputSchema: z.any(), block: sequencer({ name: "all", inputSchema: z.any() })
    .step(step("a")).step(step("b")).step(step("c")) } },
});
"#;

fn place(counter: &Counter) -> Place {
    let settings = format!(r#"{{"fetch":{{"allow":["{}"]}}}}"#, counter.host());
    Place::with_flow(&FLOW.replace("HOST", &counter.host())).file("flowglass.json", &settings)
}

fn at_port(server: &Postgres, port: u16) -> String {
    server.address("net").replace(&format!(":{}/", server.port()), &format!(":{port}/"))
}

/// A connection is cut off at each commit of a request, before the server has it and after: the program connects again,
/// asks what became of it, and goes on. Each step happens once.
#[test]
fn a_connection_may_be_cut_off_at_each_commit() {
    let Some(server) = Postgres::start() else { return };
    let counter = Counter::start();
    let place = place(&counter);
    let direct = server.address("net");
    assert_eq!(place.run(&["run", "steps", "go", "--input", "1", "--user", "ann", "--data", &direct]).code, Some(0));
    for cut in [Cut::Before, Cut::After] {
        for nth in 1.. {
            let proxy = CuttingProxy::start(server.port(), nth, cut);
            let request = format!("{cut:?}{nth}");
            let data = at_port(&server, proxy.port());
            let words = ["run", "steps", "go", "--input", "1", "--user", "ann", "--session", &request];
            let answer = place.run(&[&words[..], &["--request", &request, "--data", &data]].concat());
            assert_eq!(answer.code, Some(0), "{request}\n{answer}");
            let counts = counter.of(&request);
            assert!(counts.len() == 3 && counts.values().all(|count| *count == 1), "{request}: {counts:?}");
            let state = place.run(&["state", "--session", &request, "--json", "--data", &direct]);
            assert!(state.stdout.contains(r#""total":3"#), "{request}\n{state}");
            if proxy.commits() < nth {
                assert!(nth > 5, "{nth} commits");
                break;
            }
        }
    }
    let checked = place.run(&["check", "--json", "--data", &direct]);
    assert_eq!(checked.json()["ok"], true, "{checked}");
}

/// More processes than the server has room for: those that find none wait for it.
#[test]
fn more_connections_are_wanted_than_there_are() {
    let Some(server) = Postgres::start_with(&["max_connections=15"]) else { return };
    let counter = Counter::start();
    let place = place(&counter).variable("FLOWGLASS_DATA", &server.address("net"));
    place.get("requests");
    let running: Vec<_> = (0..10)
        .map(|n| (n, place.start(&format!("run steps go --input 1 --user ann --session s{n} --request r{n}"))))
        .collect();
    for (n, going) in running {
        let answer = going.ended();
        assert_eq!(answer.code, Some(0), "r{n}\n{answer}");
        let counts = counter.of(&format!("r{n}"));
        assert!(counts.len() == 3 && counts.values().all(|count| *count == 1), "r{n}: {counts:?}");
    }
    assert_eq!(place.get("check --data")["ok"], true);
}

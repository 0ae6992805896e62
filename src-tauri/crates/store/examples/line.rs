//! The reference line of `make bench`: the least that a durable step can cost on this disk.
//!
//! `line FILE process|power STEPS BYTES` makes a table, commits one row of so many bytes at a time,
//! and prints the nanoseconds of a median step: batches of a hundred, so that the clock does not count.

use std::error::Error;
use std::time::Instant;

use rusqlite::Connection;

/// Steps between two looks at the clock.
const BATCH: usize = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, durability, steps, bytes] = args.as_slice() else {
        return Err("line FILE process|power STEPS BYTES".into());
    };
    let connection = Connection::open(file)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", if durability == "power" { "FULL" } else { "NORMAL" })?;
    connection.execute_batch("CREATE TABLE step (id INTEGER PRIMARY KEY, body TEXT)")?;
    let body = "x".repeat(bytes.parse()?);
    let mut batches = Vec::new();
    for _ in 0..steps.parse::<usize>()? / BATCH {
        let begin = Instant::now();
        for _ in 0..BATCH {
            connection.prepare_cached("BEGIN IMMEDIATE")?.execute(())?;
            connection.prepare_cached("INSERT INTO step (body) VALUES (?1)")?.execute((&body,))?;
            connection.prepare_cached("COMMIT")?.execute(())?;
        }
        batches.push(begin.elapsed().as_nanos() / BATCH as u128);
    }
    batches.sort_unstable();
    println!("{}", batches.get(batches.len() / 2).ok_or("at least a hundred steps")?);
    Ok(())
}

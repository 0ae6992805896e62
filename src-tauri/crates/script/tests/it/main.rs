//! Tests that bundle, run and limit real TypeScript flows, with the log in memory.

mod host;
mod left_out;
mod load;
mod recorded_order;
mod run;

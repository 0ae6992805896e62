//! What the debugger may be told.

use clap::Args;
use runner::InsideAt;

/// `debug`.
#[derive(Args)]
#[command(after_help = "Examples:
  flowglass debug req_3f2a                           begins where the request failed
  flowglass debug req_3f2a --at root/step:total#0+12
  printf 'b flows/cart.ts:15 if sum > 100\\nc\\np item\\n' | flowglass debug req_3f2a --json
Words: n s o (next, step into, out), bn bs bo (the same back in time), c rc (to the next or previous breakpoint),
b FILE:LINE [if EXPR], watch session.plan, p EXPR, bt, where, locals, u LINE, ub LINE, until EXPR, t, h, q. An empty
line repeats the last movement. With --json each answer is one JSON document on a line; the first one says where the
prompt begins. Nothing is written, and no model is asked.")]
pub(crate) struct Debug {
    pub(crate) request: String,
    /// Where to begin (default: the statement that threw, or the first statement)
    #[arg(long, value_name = "PATH[#ATTEMPT][+TICK]")]
    pub(crate) at: Option<InsideAt>,
}

/// `dap`.
#[derive(Args)]
#[command(after_help = "Example of a launch configuration:
  { \"type\": \"flowglass\", \"request\": \"launch\", \"name\": \"Last failed run\",
    \"dir\": \"${workspaceFolder}\", \"requestId\": \"last-failed\" }
Arguments of launch and attach: dir (default: --dir), data (default: --data), requestId (an id, last-failed or last;
default: last-failed), at (PATH[#ATTEMPT][+TICK]), stopOnEntry. The editor steps forward and back; nothing is written,
and no model is asked.")]
pub(crate) struct Dap {}

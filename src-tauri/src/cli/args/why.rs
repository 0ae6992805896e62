//! Arguments of `why`.

use clap::{ArgGroup, Args};
use runner::WhyQuery;

/// `why`.
#[derive(Args)]
#[command(group = ArgGroup::new("what").required(true))]
#[command(after_help = "Examples:
  flowglass why req_3f2a --at root/step:draft --value /topic           the block's input
  flowglass why req_3f2a --at root/step:draft --value prompt:/messages/0/content
  flowglass why req_3f2a --at root/step:draft --value prompt#2:/messages
  flowglass why req_3f2a --at root/step:draft --text 'three days in Lisbon'
  flowglass why req_3f2a --at 42 --value session.topic                 as of event 42
Edges are recorded (from outside), copied, computed or written. A copy that is not proven has the same content as an
earlier value; the log does not say that it went that way. A value under 8 bytes is compared only with what is next to
its block: a field of the same name, a branch, an entry, the state. If none is equal, it is not known whether it was
computed. A part of a text under 20 bytes is looked for only in what the block got.")]
pub(crate) struct Why {
    pub(crate) request: String,
    /// A block and one of its executions (default: the newest), or the number of an event
    #[arg(long, value_name = "PATH[#ATTEMPT]|SEQ")]
    at: String,
    /// A place of a value there: a JSON pointer in the input, or after input:, output:, error:, prompt: or
    /// prompt#N:; or a place of a state, as history takes it
    #[arg(long, group = "what", value_name = "POINTER", allow_hyphen_values = true)]
    value: Option<String>,
    /// A text in a prompt, in the input, in the output or in the error
    #[arg(long, group = "what", value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// At most so many edges (default: 40)
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

impl Why {
    pub(crate) fn query(self) -> (String, WhyQuery) {
        let Why { request, at, value, text, limit } = self;
        (request, WhyQuery { at, value, text, limit })
    }
}

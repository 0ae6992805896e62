//! Whether a database is what its events say.

use store::{OpenError, Options, Store};

use super::read_only::{open_fault, open_store};
use super::{OpenOptions, Workspace, default_data, folder, on_busy};
use crate::core::fault::Fault;
use crate::views::{DataCheck, ProblemRow};

impl Workspace {
    /// Looks at a whole database and changes nothing in it. One that is too damaged to be opened as a
    /// workspace is looked at too, which is why nothing else is opened first.
    pub fn check_data(options: &OpenOptions) -> Result<DataCheck, Fault> {
        let dir = folder(&options.dir)?;
        let data = options.data.clone().unwrap_or_else(|| default_data(&dir).into());
        let settings = Options { on_busy: on_busy(options.on_busy, None), skip_removals: true, ..Options::default() };
        let store = match open_store(&data, options, settings) {
            Ok(opened) => opened.store,
            Err(OpenError::Missing { .. }) if options.data.is_none() => return Ok(DataCheck::new(0, 0, Vec::new())),
            Err(wrong @ (OpenError::Damaged { .. } | OpenError::NotADatabase { .. })) => {
                let problem = ProblemRow { request_id: None, seq: None, what: wrong.to_string() };
                return Ok(DataCheck::new(0, 0, vec![problem]));
            }
            Err(other) => return Err(open_fault(other)),
        };
        checked(&store)
    }

    /// The same of the database that is open, while requests may run.
    pub fn check_own_data(&self) -> Result<DataCheck, Fault> {
        checked(&self.store)
    }
}

fn checked(store: &Store) -> Result<DataCheck, Fault> {
    let checked = store.check().map_err(Fault::internal)?;
    let row =
        |problem: store::Problem| ProblemRow { request_id: problem.request, seq: problem.seq, what: problem.what };
    let problems = checked.problems.into_iter().map(row).collect();
    Ok(DataCheck { unknown: checked.unknown, ..DataCheck::new(checked.requests, checked.events, problems) })
}

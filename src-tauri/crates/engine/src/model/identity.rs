//! The ids of executions and of their state in the log, as types. All other code uses these to parse and write the ids.

use std::fmt;

/// One execution of one path within its request: `path:attempt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InstanceId<'t> {
    /// The logical path.
    pub path: &'t str,
    /// Which execution of it, from 0.
    pub attempt: u32,
}

impl<'t> InstanceId<'t> {
    /// Reads `path:attempt`; nothing where it is not one.
    pub fn parse(text: &'t str) -> Option<InstanceId<'t>> {
        let (path, attempt) = text.rsplit_once(':')?;
        Some(InstanceId { path, attempt: attempt.parse().ok()? })
    }
}

impl fmt::Display for InstanceId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path, self.attempt)
    }
}

/// The id of a sequencer's or a block's scope, by the execution that owns the state: `request:path:attempt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StateOwner<'t> {
    /// The request; of a fork, the one that it shares the execution with.
    pub request: &'t str,
    /// The execution.
    pub instance: InstanceId<'t>,
}

impl<'t> StateOwner<'t> {
    /// Reads a scope's id; nothing where it is not of this form. Ids of requests have no `:`.
    pub fn parse(text: &'t str) -> Option<StateOwner<'t>> {
        let (request, instance) = text.split_once(':')?;
        Some(StateOwner { request, instance: InstanceId::parse(instance)? })
    }
}

impl fmt::Display for StateOwner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.request, self.instance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["r:root:0", "r:root/step:a~2:13", "r:root/parallel/x/work:b[1]:4294967295"] {
            let owner = StateOwner::parse(text).expect("it is one");
            assert_eq!((owner.to_string().as_str(), owner.request), (text, "r"));
            assert_eq!(InstanceId::parse(&text[2..]), Some(owner.instance));
        }
        for text in ["", "r", "r:root", "r:root:", "r:root:-1", "r:root:4294967296"] {
            assert_eq!(StateOwner::parse(text), None, "{text}");
        }
    }
}

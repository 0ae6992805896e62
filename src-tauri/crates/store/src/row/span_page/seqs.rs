//! Lists of events in pages, as short as they can be written.

use engine::event::Seq;

use crate::row::error::Error;

/// Reads the events of a path in the page that begins with event `first`.
pub(crate) fn read_seqs(first: Seq, bytes: &[u8]) -> Result<Vec<Seq>, Error> {
    let steps: Vec<u64> = postcard::from_bytes(bytes).map_err(|error| Error::Damaged(error.to_string()))?;
    let next = |seq: &mut Seq, step| {
        *seq = seq.saturating_add(step);
        Some(*seq)
    };
    Ok(steps.into_iter().scan(first, next).collect())
}

/// Ascending numbers as runs, relative to `to`.
pub(super) fn runs(to: Seq, seqs: &[Seq]) -> Vec<(i64, u64)> {
    let mut runs: Vec<(i64, u64)> = Vec::new();
    for seq in seqs {
        let difference = *seq as i64 - to as i64;
        match runs.last_mut() {
            Some((start, count)) if *start + *count as i64 == difference => *count += 1,
            _ => runs.push((difference, 1)),
        }
    }
    runs
}

/// The numbers that [`runs`] made these of. None if they are not of this request, or more than it can have.
pub(super) fn seqs(to: Seq, runs: &[(i64, u64)]) -> Option<Vec<Seq>> {
    let mut seqs = Vec::new();
    for (difference, count) in runs {
        let first = to.checked_add_signed(*difference)?;
        if first == 0 || *count > to {
            return None;
        }
        seqs.extend(first..first.checked_add(*count)?);
    }
    Some(seqs)
}

//! A page for another database: its paths have other numbers there.

use engine::event::Seq;
use engine::views::spans::{Fact, Names, PathNumber};

use super::{encode, read};
use crate::row::error::Error;

/// Replaces the path numbers of a page by those of another database.
pub(crate) fn renumber(
    of: (Seq, Seq),
    body: &[u8],
    mut number: impl FnMut(PathNumber) -> Result<i64, Error>,
) -> Result<Vec<u8>, Error> {
    let (mut facts, mut names) = (Vec::new(), Names::default());
    read(of, body, &mut names, &mut facts)?;
    let mut other = |path: &mut PathNumber| -> Result<(), Error> {
        *path = PathNumber::try_from(number(*path)?).map_err(|_| Error::Damaged("too many paths".to_owned()))?;
        Ok(())
    };
    for event in &mut facts {
        event.path.as_mut().map_or(Ok(()), &mut other)?;
        if let Fact::Started { parent: Some((path, _)), .. } = &mut event.fact {
            other(path)?;
        }
    }
    encode(of, &facts, &names)
}

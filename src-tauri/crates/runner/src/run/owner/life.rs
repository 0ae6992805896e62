//! A sign that a job lives, besides its lock: a socket in Linux's abstract namespace, which ends with the process and
//! has no file that somebody could delete. Elsewhere the lock is the only sign.

#[cfg(not(target_os = "linux"))]
pub(super) use nothing::{Database, Sign, is_given};
#[cfg(target_os = "linux")]
pub(super) use socket::{Database, Sign, is_given};

#[cfg(target_os = "linux")]
mod socket {
    use std::fs::Metadata;
    use std::os::linux::fs::MetadataExt;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    use uuid::Uuid;

    /// The file of a database: a copy names the same jobs, but they are not jobs of the copy.
    pub(in super::super) struct Database {
        device: u64,
        inode: u64,
    }

    impl Database {
        pub(in super::super) fn of(file: &Metadata) -> Database {
            Database { device: file.st_dev(), inode: file.st_ino() }
        }
    }

    /// Held while the job lives.
    pub(in super::super) struct Sign(#[expect(dead_code, reason = "it only has to be open")] UnixDatagram);

    impl Sign {
        /// None if the system refuses: then the lock is the only sign.
        pub(in super::super) fn give(database: &Database, name: Uuid) -> Option<Sign> {
            UnixDatagram::bind_addr(&address(database, name)?).ok().map(Sign)
        }
    }

    /// Whether a job gives its sign.
    pub(in super::super) fn is_given(database: &Database, name: Uuid) -> bool {
        let connected = || UnixDatagram::unbound().ok()?.connect_addr(&address(database, name)?).ok();
        connected().is_some()
    }

    fn address(Database { device, inode }: &Database, name: Uuid) -> Option<SocketAddr> {
        SocketAddr::from_abstract_name(format!("flowglass-{}-{device:x}-{inode:x}", name.hyphenated())).ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod nothing {
    use std::fs::Metadata;

    use uuid::Uuid;

    pub(in super::super) struct Database;

    impl Database {
        pub(in super::super) fn of(_file: &Metadata) -> Database {
            Database
        }
    }

    pub(in super::super) struct Sign;

    impl Sign {
        pub(in super::super) fn give(_database: &Database, _name: Uuid) -> Option<Sign> {
            None
        }
    }

    pub(in super::super) fn is_given(_database: &Database, _name: Uuid) -> bool {
        false
    }
}

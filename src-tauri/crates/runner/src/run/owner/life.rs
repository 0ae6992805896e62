//! A sign that a job lives, besides its lock: a socket in Linux's abstract namespace, which ends with the process and
//! has no file that somebody could delete. Elsewhere the lock is the only sign.

#[cfg(not(target_os = "linux"))]
pub(super) use nothing::{Sign, is_given};
#[cfg(target_os = "linux")]
pub(super) use socket::{Sign, is_given};

#[cfg(target_os = "linux")]
mod socket {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    use uuid::Uuid;

    /// Held while the job lives.
    pub(in super::super) struct Sign(#[expect(dead_code, reason = "it only has to be open")] UnixDatagram);

    impl Sign {
        /// None if the system refuses: then the lock is the only sign.
        pub(in super::super) fn give(name: Uuid) -> Option<Sign> {
            UnixDatagram::bind_addr(&address(name)?).ok().map(Sign)
        }
    }

    /// Whether a job gives its sign.
    pub(in super::super) fn is_given(name: Uuid) -> bool {
        let connected = || UnixDatagram::unbound().ok()?.connect_addr(&address(name)?).ok();
        connected().is_some()
    }

    fn address(name: Uuid) -> Option<SocketAddr> {
        SocketAddr::from_abstract_name(format!("flowglass-{}", name.hyphenated())).ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod nothing {
    use uuid::Uuid;

    pub(in super::super) struct Sign;

    impl Sign {
        pub(in super::super) fn give(_name: Uuid) -> Option<Sign> {
            None
        }
    }

    pub(in super::super) fn is_given(_name: Uuid) -> bool {
        false
    }
}

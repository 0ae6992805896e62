//! How the window's web view draws.
//!
//! WebKitGTK hands its frames on in memory of the graphics processor. Where there is none, each frame takes 28 to 40 ms
//! that way, whatever is drawn, and 16 ms without it; where there is one, it must stay.

use std::path::Path;

/// Where Linux lists the graphics processors that a program may draw with.
const DEVICES: &str = "/dev/dri";
/// Their names begin so.
const RENDER_NODE: &str = "renderD";
/// WebKitGTK draws in usual memory where this is `1`.
const VARIABLE: &str = "WEBKIT_DISABLE_DMABUF_RENDERER";

/// Who decided how the window draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rendering {
    /// The environment had the variable already.
    Given,
    /// A graphics processor can be opened.
    Graphics,
    /// None can.
    Memory,
}

/// Decides how the window draws. Must run before the process has a second thread.
pub(crate) fn choose() -> Rendering {
    let is_given = std::env::var_os(VARIABLE).is_some();
    let rendering = decide(is_given, Path::new(DEVICES));
    if cfg!(target_os = "linux") && rendering == Rendering::Memory {
        // SAFETY: no other thread reads the environment, because there is none yet.
        unsafe { std::env::set_var(VARIABLE, "1") };
    }
    rendering
}

fn decide(is_given: bool, devices: &Path) -> Rendering {
    if is_given {
        return Rendering::Given;
    }
    let mut nodes = std::fs::read_dir(devices).into_iter().flatten().flatten();
    let can_draw = |node: std::fs::DirEntry| {
        node.file_name().to_string_lossy().starts_with(RENDER_NODE)
            && std::fs::OpenOptions::new().read(true).write(true).open(node.path()).is_ok()
    };
    if nodes.any(can_draw) { Rendering::Graphics } else { Rendering::Memory }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graphics_processor_is_one_that_can_be_opened() {
        let dir = tempfile::tempdir().expect("a folder");
        let devices = dir.path();
        assert_eq!(decide(false, &devices.join("none")), Rendering::Memory);
        std::fs::write(devices.join("card0"), "").expect("a file");
        assert_eq!(decide(false, devices), Rendering::Memory, "a card is for the display alone");
        std::fs::create_dir(devices.join("renderD128")).expect("a folder");
        assert_eq!(decide(false, devices), Rendering::Memory, "what cannot be opened");
        std::fs::write(devices.join("renderD129"), "").expect("a file");
        assert_eq!(decide(false, devices), Rendering::Graphics);
        assert_eq!(decide(true, devices), Rendering::Given);
    }
}

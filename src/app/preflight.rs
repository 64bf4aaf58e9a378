//! Is there a display to open a window on, and which one? Asked before the event loop is made,
//! because winit neither falls back from Wayland to X11 nor makes a second event loop.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// Through what the window is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// A Wayland compositor answered.
    Wayland,
    /// An X server answered.
    X11,
    /// The system has its own (not a Unix with X or Wayland).
    Native,
}

/// There is none, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoDisplay {
    /// Neither variable is set.
    #[error("no display: neither WAYLAND_DISPLAY nor DISPLAY is set")]
    Unset,
    /// They are set, but nobody answers.
    #[error("no display: {0}")]
    Unreachable(String),
}

/// Finds the display.
///
/// # Errors
/// There is none; the message says what was tried.
pub fn preflight() -> Result<Backend, NoDisplay> {
    if !cfg!(unix) || cfg!(target_os = "macos") {
        return Ok(Backend::Native);
    }
    let variable = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
    find(
        variable("WAYLAND_DISPLAY"),
        variable("WAYLAND_SOCKET").is_some(),
        variable("XDG_RUNTIME_DIR").map(PathBuf::from),
        variable("DISPLAY"),
        Path::new("/tmp/.X11-unix"),
    )
}

fn find(
    wayland: Option<OsString>,
    wayland_socket: bool,
    runtime_dir: Option<PathBuf>,
    x: Option<OsString>,
    x_sockets: &Path,
) -> Result<Backend, NoDisplay> {
    let mut tried = Vec::new();
    // A socket handed over by the parent (WAYLAND_SOCKET) is connected already.
    if wayland_socket {
        return Ok(Backend::Wayland);
    }
    if let Some(name) = wayland {
        // An absolute name stands for itself; `join` keeps it so.
        let path = runtime_dir.unwrap_or_default().join(&name);
        match connect_unix(&path) {
            Ok(()) => return Ok(Backend::Wayland),
            Err(error) => tried.push(format!(
                "WAYLAND_DISPLAY names {}, but {error}",
                path.display()
            )),
        }
    }
    if let Some(display) = x {
        let text = display.to_string_lossy().into_owned();
        match connect_x(&text, x_sockets) {
            Ok(()) => return Ok(Backend::X11),
            Err(reason) => tried.push(format!("DISPLAY is {text}, but {reason}")),
        }
    }
    if tried.is_empty() {
        Err(NoDisplay::Unset)
    } else {
        Err(NoDisplay::Unreachable(tried.join("; ")))
    }
}

/// Knocks at an X server: `:0`, `:0.1`, `unix:0`, `host:0`, or a socket's path.
fn connect_x(display: &str, sockets: &Path) -> Result<(), String> {
    if display.starts_with('/') {
        return connect_unix(Path::new(display));
    }
    let (host, rest) = display
        .rsplit_once(':')
        .ok_or("a display is written like “:0”")?;
    let number: u16 = rest
        .split('.')
        .next()
        .and_then(|n| n.parse().ok())
        .ok_or("a display is written like “:0”")?;
    if host.is_empty() || host == "unix" {
        let path = sockets.join(format!("X{number}"));
        // Some servers listen only in the abstract name space, which has no file to knock at.
        return if path.exists() {
            connect_unix(&path)
        } else {
            connect_abstract(&path).map_err(|()| format!("there is no {}", path.display()))
        };
    }
    let port = 6000_u16
        .checked_add(number)
        .ok_or("the display's number is too large")?;
    connect_tcp(host.trim_matches(['[', ']']), port)
}

fn connect_tcp(host: &str, port: u16) -> Result<(), String> {
    use std::net::{TcpStream, ToSocketAddrs as _};
    let addresses = (host, port)
        .to_socket_addrs()
        .map_err(|error| format!("{host} is unknown ({error})"))?;
    for address in addresses {
        if TcpStream::connect_timeout(&address, Duration::from_secs(2)).is_ok() {
            return Ok(());
        }
    }
    Err(format!("nobody answers at {host}:{port}"))
}

#[cfg(unix)]
fn connect_unix(path: &Path) -> Result<(), String> {
    std::os::unix::net::UnixStream::connect(path)
        .map(drop)
        .map_err(|error| format!("nobody answers there ({error})"))
}

#[cfg(not(unix))]
fn connect_unix(_path: &Path) -> Result<(), String> {
    Err("this system has no such sockets".to_owned())
}

#[cfg(target_os = "linux")]
fn connect_abstract(path: &Path) -> Result<(), ()> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::net::{SocketAddr, UnixStream};
    let address = SocketAddr::from_abstract_name(path.as_os_str().as_bytes()).map_err(|_| ())?;
    UnixStream::connect_addr(&address).map(drop).map_err(|_| ())
}

#[cfg(not(target_os = "linux"))]
const fn connect_abstract(_path: &Path) -> Result<(), ()> {
    Err(())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    fn dir() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn nothing_set_is_said_so() {
        let none = find(None, false, None, None, Path::new("/nonexistent"));
        assert_eq!(none, Err(NoDisplay::Unset));
    }

    #[test]
    fn a_stale_wayland_socket_gives_way_to_x() {
        let dir = dir();
        let _x = UnixListener::bind(dir.path().join("X7")).unwrap();
        drop(UnixListener::bind(dir.path().join("wayland-0")).unwrap());
        let found = find(
            Some("wayland-0".into()),
            false,
            Some(dir.path().to_owned()),
            Some(":7.0".into()),
            dir.path(),
        );
        assert_eq!(found, Ok(Backend::X11));
    }

    #[test]
    fn a_compositor_that_answers_is_taken() {
        let dir = dir();
        let _w = UnixListener::bind(dir.path().join("wayland-0")).unwrap();
        let found = find(
            Some("wayland-0".into()),
            false,
            Some(dir.path().to_owned()),
            None,
            dir.path(),
        );
        assert_eq!(found, Ok(Backend::Wayland));
    }

    #[test]
    fn stale_displays_are_named() {
        let dir = dir();
        let refused = find(
            Some("wayland-0".into()),
            false,
            Some(dir.path().to_owned()),
            Some(":4242".into()),
            dir.path(),
        );
        let text = refused.unwrap_err().to_string();
        assert!(
            text.contains("wayland-0") && text.contains("X4242"),
            "{text}"
        );
        for bad in ["x", ":", ":a", "localhost:70000"] {
            assert!(connect_x(bad, dir.path()).is_err(), "{bad}");
        }
    }
}

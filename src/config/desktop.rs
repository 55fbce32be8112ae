//! The ways from sentbox to the user's desktop: clipboard, notifications, browser;
//! and the settings of the file that hold for every profile. `tui/desktop.rs` uses them.

use super::ListColumn;
use super::env::Env;

/// The settings of the configuration file for the screen and the desktop,
/// for every profile.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DesktopSettings {
    pub(crate) clipboard: ClipboardSetting,
    pub(crate) notify: NotifySetting,
    /// The columns of the list; empty for the default.
    pub(crate) columns: Vec<ListColumn>,
    /// Lines of prose in an email are at most this wide; zero is the width of the pane.
    pub(crate) prose_width: Option<u16>,
}

impl DesktopSettings {
    pub(crate) fn prose_width(&self) -> u16 {
        /// Wider lines of prose are hard to read.
        const DEFAULT: u16 = 90;
        self.prose_width.unwrap_or(DEFAULT)
    }
}

/// How text reaches the user's clipboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClipboardRoute {
    /// The terminal sets it (OSC 52), also over SSH. It never answers, and may refuse.
    Terminal {
        /// It must pass the sequence on.
        multiplexer: Option<Multiplexer>,
    },
    /// A program and its arguments, which reads the text from its standard input.
    Program(&'static [&'static str]),
    /// The user has switched copying off.
    #[default]
    Off,
}

/// A terminal in a terminal, which passes on only sequences that are wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Multiplexer {
    /// tmux.
    Tmux,
    /// GNU screen.
    Screen,
}

impl Multiplexer {
    /// Finds it by its variables.
    ///
    /// `TERM` is `screen` also in tmux on another machine.
    pub(crate) fn find(env: &Env) -> Option<Self> {
        if env.get("TMUX").is_some() {
            Some(Self::Tmux)
        } else {
            env.get("STY").map(|_| Self::Screen)
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ClipboardSetting {
    /// The environment decides.
    #[default]
    Auto,
    /// Always the terminal.
    Osc52,
    Off,
}

impl ClipboardSetting {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "osc52" => Ok(Self::Osc52),
            "off" => Ok(Self::Off),
            _ => Err("clipboard is \"auto\", \"osc52\" or \"off\"".to_owned()),
        }
    }

    /// Chooses by the environment, unless the user has:
    /// the terminal over SSH, where a program would set the clipboard of the remote machine, and in
    /// tmux and GNU screen, which may run over SSH; else a program of the desktop, if there is one.
    pub(crate) fn route(self, env: &Env) -> ClipboardRoute {
        let multiplexer = Multiplexer::find(env);
        match self {
            Self::Off => ClipboardRoute::Off,
            Self::Auto if multiplexer.is_none() && !is_over_ssh(env) => {
                if cfg!(target_os = "macos") {
                    ClipboardRoute::Program(&["pbcopy"])
                } else if env.get("WAYLAND_DISPLAY").is_some() {
                    ClipboardRoute::Program(&["wl-copy"])
                } else if env.get("DISPLAY").is_some() {
                    ClipboardRoute::Program(&["xclip", "-selection", "clipboard"])
                } else {
                    ClipboardRoute::Terminal { multiplexer }
                }
            }
            Self::Auto | Self::Osc52 => ClipboardRoute::Terminal { multiplexer },
        }
    }
}

/// How the terminal announces an event that the user waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum NotifyRoute {
    /// The bell, and a notification of the desktop by this sequence.
    Desktop {
        sequence: NotifySequence,
        /// The terminal is tmux, which must pass the sequence on.
        tmux: bool,
    },
    Bell,
    #[default]
    Off,
}

/// The sequences for a notification; terminals that know neither ignore both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotifySequence {
    /// OSC 9, of iTerm2; most terminals know it.
    Osc9,
    /// OSC 777, of urxvt and foot.
    Osc777,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum NotifySetting {
    #[default]
    Desktop,
    Bell,
    Off,
}

impl NotifySetting {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "desktop" => Ok(Self::Desktop),
            "bell" => Ok(Self::Bell),
            "off" => Ok(Self::Off),
            _ => Err("notify is \"desktop\", \"bell\" or \"off\"".to_owned()),
        }
    }

    /// Chooses one sequence, because some terminals know both and would notify twice.
    pub(crate) fn route(self, env: &Env) -> NotifyRoute {
        let term = env.get("TERM").unwrap_or_default();
        let is_osc777 = ["rxvt", "foot"].iter().any(|name| term.starts_with(name));
        match self {
            Self::Desktop => NotifyRoute::Desktop {
                sequence: if is_osc777 {
                    NotifySequence::Osc777
                } else {
                    NotifySequence::Osc9
                },
                tmux: env.get("TMUX").is_some(),
            },
            Self::Bell => NotifyRoute::Bell,
            Self::Off => NotifyRoute::Off,
        }
    }
}

/// Returns the command that opens a URL: that of `BROWSER`, also over SSH;
/// else that of the desktop. `None` without a desktop, and over SSH, where the page would open on
/// the remote machine.
pub(crate) fn find_browser(env: &Env) -> Option<String> {
    if let Some(browser) = env.get("BROWSER") {
        return Some(browser.to_owned());
    }
    if is_over_ssh(env) {
        None
    } else if cfg!(target_os = "macos") {
        Some("open".to_owned())
    } else {
        let display = env.get("WAYLAND_DISPLAY").or_else(|| env.get("DISPLAY"));
        display.map(|_| "xdg-open".to_owned())
    }
}

fn is_over_ssh(env: &Env) -> bool {
    let variables = ["SSH_TTY", "SSH_CONNECTION", "SSH_CLIENT"];
    variables.iter().any(|name| env.get(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_and_tmux_go_by_the_terminal() {
        let route = |names: &[&str]| {
            let env: Env = names.iter().map(|name| (*name, "x")).collect();
            ClipboardSetting::Auto.route(&env)
        };
        let terminal_in = |multiplexer| ClipboardRoute::Terminal { multiplexer };
        let terminal = terminal_in(None);
        assert_eq!(route(&["SSH_TTY", "DISPLAY"]), terminal);
        assert_eq!(
            route(&["TMUX", "WAYLAND_DISPLAY"]),
            terminal_in(Some(Multiplexer::Tmux))
        );
        assert_eq!(
            route(&["STY", "DISPLAY"]),
            terminal_in(Some(Multiplexer::Screen))
        );
        if !cfg!(target_os = "macos") {
            assert_eq!(route(&[]), terminal);
            let expected = ClipboardRoute::Program(&["wl-copy"]);
            assert_eq!(route(&["WAYLAND_DISPLAY", "DISPLAY"]), expected);
        }
    }
}

//! `man`: the manual page, made from the command line itself.

use std::io::{self, Write as _};

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use super::Args;

/// The whole page: the program first, then each command as a section of its own.
pub(super) fn render_man_page() -> io::Result<Vec<u8>> {
    let program = Args::command();
    let commands = list_commands("sentbox", &program);
    let after = program
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let man = Man::new(program.after_help(""));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    writeln!(page, ".SH COMMANDS")?;
    for (name, command) in commands {
        writeln!(page, ".SS \"{name}\"")?;
        let man = Man::new(command.bin_name(name));
        let mut section = Vec::new();
        man.render_description_section(&mut section)?;
        man.render_options_section(&mut section)?;
        // Its parts are paragraphs here, not sections of the page.
        let text = String::from_utf8_lossy(&section);
        let lines = text.lines().filter(|line| {
            !line.starts_with(".SH ") && !line.starts_with(".ie") && !line.starts_with(".el")
        });
        for line in lines {
            writeln!(page, "{line}")?;
        }
    }
    writeln!(page, ".SH NOTES")?;
    for line in after.lines() {
        // A blank line is a paragraph, and a full stop at the start would be a request.
        writeln!(
            page,
            "{}",
            if line.is_empty() {
                ".PP".to_owned()
            } else {
                format!("\\&{}", line.replace('\\', "\\e").replace('-', "\\-"))
            }
        )?;
    }
    man.render_version_section(&mut page)?;
    Ok(page)
}

/// The commands below `above` with their whole names; one that only holds others is left out.
fn list_commands(above: &str, holder: &Command) -> Vec<(String, Command)> {
    let each = holder.get_subcommands().flat_map(|command| {
        let name = format!("{above} {}", command.get_name());
        if command.has_subcommands() {
            list_commands(&name, command)
        } else {
            vec![(name, command.clone())]
        }
    });
    each.collect()
}

//! The keys of a mirror: a private file of `name = key` lines,
//! read again when it changes.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use ring::rand::{SecureRandom as _, SystemRandom};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use super::private_file::{NoteWriter, PrivateFile, numbered_lines};
use crate::config::create_secret;
use crate::error::{Error, ErrorKind, Result};
use crate::text::hash::{sha256, to_hex};

/// The shortest key that is accepted: a shorter one could be guessed.
const MIN_KEY_LEN: usize = 20;

/// The name of the key in a new file.
const FIRST_NAME: &str = "default";

const FILE_KIND: &str = "the key file";

/// The keys of a file. Only their hashes are in memory.
pub(crate) struct KeyFile(PrivateFile<Key>);

struct Key {
    name: Arc<str>,
    hash: [u8; 32],
}

impl KeyFile {
    /// Opens the file, and creates it with one key if there is none; true if it did.
    pub(crate) fn open_or_create(path: &Path, note: NoteWriter) -> Result<(Self, bool)> {
        let is_missing = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
        let is_new = fs::metadata(path).is_err_and(is_missing);
        if is_new {
            let text = format!("{FIRST_NAME} = {}\n", random_key());
            create_secret(path, &text).map_err(|error| {
                let name = format!("{FILE_KIND} {}", path.display());
                Error::cannot("created", ErrorKind::Io, name, &error)
            })?;
        }
        let file = PrivateFile::open(FILE_KIND, path, parse_keys, note)?;
        Ok((Self(file), is_new))
    }

    /// Returns the name of a key; `None` if the file does not have it.
    pub(super) fn find(&self, key: &str) -> Option<Arc<str>> {
        let hash = sha256(key.as_bytes());
        self.0.with(|keys| {
            // All keys are compared, so that the time tells nothing about the position of the right
            // one.
            let (mut found, mut index) = (u64::MAX, 0);
            for key in keys {
                found.conditional_assign(&index, key.hash.ct_eq(&hash));
                index += 1;
            }
            let key = keys.get(usize::try_from(found).ok()?)?;
            Some(Arc::clone(&key.name))
        })
    }
}

/// Parses the lines. No error quotes a line: it may have a key.
fn parse_keys(text: &str) -> Result<Vec<Key>> {
    let mut keys: Vec<Key> = Vec::new();
    for (number, line) in numbered_lines(text) {
        let wrong = |why: &str| {
            Error::new(ErrorKind::Config, format!("line {number}: {why}"))
                .with_hint("a line is NAME = KEY; # at its start or after a space begins a comment")
        };
        let Some((name, key)) = line.split_once('=') else {
            return Err(wrong("there is no = in it"));
        };
        let (name, key) = (name.trim(), key.trim());
        let is_word = |c: char| c.is_alphanumeric() || "._-@".contains(c);
        if name.is_empty() || !name.chars().all(is_word) {
            return Err(wrong("a name has letters, digits and ._-@ only"));
        }
        if key.len() < MIN_KEY_LEN {
            return Err(wrong(&format!(
                "the key is shorter than {MIN_KEY_LEN} characters"
            )));
        }
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong("the key is not one word of ASCII characters"));
        }
        let hash = sha256(key.as_bytes());
        if keys.iter().any(|other| *other.name == *name) {
            return Err(wrong("an earlier line has the same name"));
        }
        if keys.iter().any(|other| other.hash == hash) {
            return Err(wrong("an earlier line has the same key"));
        }
        let name = name.into();
        keys.push(Key { name, hash });
    }
    if keys.is_empty() {
        return Err(Error::new(ErrorKind::Config, "there is no key in it")
            .with_hint("add a line NAME = KEY; without a file, one with a new key is created"));
    }
    Ok(keys)
}

/// Returns a new key. It begins as the service's do: some clients refuse others.
fn random_key() -> String {
    let mut bytes = [0; 24];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.expect("the system has random numbers");
    format!("re_{}", to_hex(&bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::sync::mpsc::channel;

    use super::*;

    const ONE: &str = "re_0123456789abcdef0123";
    const TWO: &str = "re_fedcba98765432100123";

    fn write(path: &Path, text: &str) {
        let _ = fs::remove_file(path);
        create_secret(path, text).unwrap();
    }

    fn open(path: &Path) -> Result<(KeyFile, bool)> {
        KeyFile::open_or_create(path, Box::new(|_| ()))
    }

    fn find(file: &KeyFile, key: &str) -> Option<String> {
        file.find(key).map(|name| name.to_string())
    }

    #[test]
    fn new_file_is_private_with_one_random_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let (file, is_new) = open(&path).unwrap();
        assert!(is_new);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let text = fs::read_to_string(&path).unwrap();
        let key = text.trim().strip_prefix("default = ").unwrap();
        assert_eq!((key.len(), find(&file, key)), (51, Some("default".into())));
        assert!(!open(&path).unwrap().1, "it is kept");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        let other = folder.path().join("other");
        open(&other).unwrap();
        assert_ne!(fs::read_to_string(other).unwrap(), text);
    }

    #[test]
    fn deleted_line_revokes_its_key_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        write(
            &path,
            &format!("# team\n\nana = {ONE}\n b.o-b = {TWO}  # his #2\n"),
        );
        let (file, _) = open(&path).unwrap();
        assert_eq!(find(&file, ONE).as_deref(), Some("ana"));
        assert_eq!(find(&file, TWO).as_deref(), Some("b.o-b"));
        assert_eq!(find(&file, &ONE[..22]), None);
        write(&path, &format!("b.o-b = {TWO}\n"));
        assert_eq!(find(&file, ONE), None);
        assert_eq!(find(&file, TWO).as_deref(), Some("b.o-b"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(find(&file, TWO), None, "others may read it");
        fs::remove_file(&path).unwrap();
        assert_eq!(find(&file, TWO), None);
        write(&path, &format!("ana = {ONE}"));
        assert_eq!(find(&file, ONE).as_deref(), Some("ana"));
    }

    #[test]
    fn wrong_line_keeps_earlier_keys_and_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        write(&path, &format!("ana = {ONE} # of the shop\n"));
        let (sender, notes) = channel();
        let note = move |note: &str| sender.send(note.to_owned()).unwrap();
        let (file, _) = KeyFile::open_or_create(&path, Box::new(note)).unwrap();
        let refused = |key| find(&file, key).is_none();
        let noted = |expected: &str| {
            let notes: Vec<String> = notes.try_iter().collect();
            let [note] = notes.as_slice() else {
                panic!("one note about {expected}: {notes:?}");
            };
            assert!(note.contains(expected), "{note}");
        };
        write(&path, &format!("ana = {TWO}\nbob {TWO}\n"));
        assert!(!refused(ONE) && refused(TWO) && !refused(ONE));
        noted("line 2: there is no = in it; what was read before stays accepted");
        write(&path, "# all are revoked\n");
        assert!(refused(ONE) && refused(ONE));
        noted("there is no key in it; nothing of it is accepted");
        write(&path, &format!("ana = {TWO}\n"));
        assert!(refused(ONE) && !refused(TWO));
        fs::remove_file(&path).unwrap();
        assert!(refused(TWO) && refused(TWO));
        noted("does not exist; nothing of it is accepted");
        write(&path, &format!("bob {TWO}\n"));
        assert!(refused(TWO));
        noted("line 1: there is no = in it; nothing of it is accepted");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(refused(TWO) && refused(TWO));
        noted("; nothing of it is accepted");
    }

    #[test]
    fn wrong_line_is_named_without_its_key() {
        for (text, expected) in [
            (ONE.to_owned(), "line 1: there is no ="),
            (format!("#\n= {ONE}"), "line 2: a name has"),
            (format!("a b = {ONE}"), "line 1: a name has"),
            ("a = short".to_owned(), "line 1: the key is shorter than 20"),
            (
                format!("a = {ONE} {TWO}"),
                "line 1: the key is not one word",
            ),
            (
                format!("a = {ONE}\na = {TWO}"),
                "line 2: an earlier line has the same name",
            ),
            (
                format!("a = {ONE}\nb = {ONE}"),
                "line 2: an earlier line has the same key",
            ),
            ("# nothing\n".to_owned(), "there is no key"),
        ] {
            let error = parse_keys(&text).err().expect(expected);
            assert!(error.message.contains(expected), "{}", error.message);
            assert!(!format!("{error:?}").contains("0123"), "{}", error.message);
        }
    }
}

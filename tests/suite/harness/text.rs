//! Checks of what a command has printed; a failed one shows the whole text.

pub trait TextChecks {
    fn text(&self) -> &str;

    #[track_caller]
    fn assert_contains(&self, part: &str) {
        let text = self.text();
        assert!(text.contains(part), "no {part:?} in: {text}");
    }

    #[track_caller]
    fn assert_lacks(&self, part: &str) {
        let text = self.text();
        assert!(!text.contains(part), "{part:?} in: {text}");
    }

    #[track_caller]
    fn assert_starts(&self, part: &str) {
        let text = self.text();
        assert!(text.starts_with(part), "no {part:?} first in: {text}");
    }

    #[track_caller]
    fn assert_ends(&self, part: &str) {
        let text = self.text();
        assert!(text.ends_with(part), "no {part:?} last in: {text}");
    }
}

impl TextChecks for str {
    fn text(&self) -> &str {
        self
    }
}

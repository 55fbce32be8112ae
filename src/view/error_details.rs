//! Draws all there is to know about a failure, for whoever asks the people who run the service.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Paragraph, Wrap};

use super::render_ctx::{RenderCtx, Theme};
use crate::app::{Layout, Model};
use crate::error::{Error, RequestDetails};

/// Draws the details if somebody looks at them; says whether somebody does.
pub fn draw(model: &Model, layout: &Layout, look: &RenderCtx, frame: &mut Frame) -> bool {
    let Some(failure) = &model.error_details else {
        return false;
    };
    let area = layout.main;
    let left = 2.min(area.width);
    let inner = Rect {
        x: area.x + left,
        width: area.width - left,
        ..area
    };
    frame.render_widget(
        Paragraph::new(Text::from(build_lines(failure, look))).wrap(Wrap { trim: true }),
        inner,
    );
    true
}

fn build_lines<'a>(failure: &'a Error, look: &RenderCtx) -> Vec<Line<'a>> {
    let theme = &look.theme;
    let mut lines = vec![
        Line::styled("What failed", Theme::title()),
        Line::default(),
        Line::styled(&*failure.message, theme.error()),
    ];
    if !failure.hint.is_empty() {
        lines.push(Line::raw(&*failure.hint));
    }
    lines.push(Line::default());
    let mut tell = |label: &'static str, value: String| {
        lines.push(Line::from(vec![
            Span::styled(format!("{label:<14}"), Theme::chrome()),
            Span::raw(value),
        ]));
    };
    tell("kind", failure.kind.code().to_owned());
    if let Some(details) = &failure.details {
        let RequestDetails {
            endpoint,
            status,
            request_id,
            attempts,
        } = &**details;
        tell("request", (*endpoint).to_owned());
        tell(
            "status",
            status.map_or_else(|| "no answer".to_owned(), |status| status.to_string()),
        );
        tell(
            "request id",
            request_id
                .clone()
                .unwrap_or_else(|| "the service gave none".to_owned()),
        );
        tell("attempts", attempts.to_string());
    }
    if let Some(wait) = failure.retry_after {
        tell("asked to wait", format!("{} s", wait.as_secs()));
    }
    lines
}

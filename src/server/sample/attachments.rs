//! The attachments of a sample email:
//! rendered templates, as they are or as a page of a PDF.

use std::fmt::Write as _;

use super::template::{AttachmentTemplate, Escaping, render_template};
use super::variables::Variables;
use crate::server::SourceAttachment;

/// Makes an attachment; the ending of its name decides its type.
pub(super) fn build_attachment(
    id: String,
    template: &AttachmentTemplate,
    variables: &Variables<'_>,
) -> SourceAttachment {
    let AttachmentTemplate(name, file) = template;
    let text = render_template(&file.0, Escaping::None, variables);
    let (_, ending) = name.rsplit_once('.').unwrap_or_default();
    let (content_type, content) = match ending {
        "pdf" => ("application/pdf", write_pdf(&text)),
        "csv" => ("text/csv", text.into_bytes()),
        "ics" => ("text/calendar", text.replace('\n', "\r\n").into_bytes()),
        _ => ("text/plain", text.into_bytes()),
    };
    SourceAttachment {
        id,
        name: render_template(name, Escaping::None, variables),
        content_type: content_type.to_owned(),
        content,
    }
}

/// Writes a PDF of one page with these lines (ISO 32000-1, 7.5).
fn write_pdf(text: &str) -> Vec<u8> {
    let mut lines = String::new();
    for line in text.lines() {
        let line = line
            .replace('\\', "\\\\")
            .replace('(', "\\(")
            .replace(')', "\\)");
        let _ = writeln!(lines, "({line}) '");
    }
    let stream = format!("BT /F1 10 Tf 14 TL 56 780 Td\n{lines}ET");
    // Latin-1 is a part of WinAnsiEncoding.
    let to_latin_1 = |c| u8::try_from(c).unwrap_or(b'?');
    let stream: Vec<u8> = stream.chars().map(to_latin_1).collect();
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> >> >>".to_vec(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>".to_vec(),
        [
            format!("<< /Length {} >>\nstream\n", stream.len()).as_bytes(),
            &stream,
            b"\nendstream",
        ]
        .concat(),
    ];
    let mut pdf = b"%PDF-1.4\n".to_vec();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (index, object) in objects.iter().enumerate() {
        let _ = writeln!(table, "{:010} 00000 n ", pdf.len());
        pdf.extend(format!("{} 0 obj\n", index + 1).as_bytes());
        pdf.extend(object);
        pdf.extend(b"\nendobj\n");
    }
    let start = pdf.len();
    let size = objects.len() + 1;
    let _ = writeln!(
        table,
        "trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF"
    );
    pdf.extend(table.as_bytes());
    pdf
}

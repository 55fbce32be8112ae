//! How long it takes to read an email, and to lay it out again at another width.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sentbox::render::{Document, ansi, lay_out_html};

/// A receipt: one column, one data table, a button.
fn receipt() -> String {
    let row = "<tr><td style=\"padding:8px 0\">Blue notebook</td><td align=\"right\">2</td><td align=\"right\">€14.00</td></tr>";
    let head = "<style>body{font-family:Arial;color:#333} .total td{font-weight:bold} @media (max-width:600px){.box{width:100%!important}}</style>";
    let button = "<a href=\"https://example.com/order\" style=\"background:#06c;color:#fff;padding:12px 24px;display:inline-block\">View your order</a>";
    format!(
        "<!doctype html><html><head>{head}</head><body bgcolor=\"#f4f4f4\"><div style=\"display:none;max-height:0\">Thanks for your order</div>\
         <table class=\"box\" width=\"600\" align=\"center\" bgcolor=\"#ffffff\"><tr><td style=\"padding:24px\"><h1>Your receipt</h1>\
         <p>Thanks for your order, Ana.</p><table width=\"100%\"><tr><th align=\"left\">Item</th><th>Qty</th><th>Price</th></tr>{}\
         <tr class=\"total\"><td colspan=\"2\">Total</td><td align=\"right\">€140.00</td></tr></table><p>{button}</p></td></tr></table></body></html>",
        row.repeat(10)
    )
}

/// A newsletter: cards in nested layout tables, styled by classes and attributes
/// alike.
fn newsletter(cards: usize) -> String {
    let css: String = (0..150).fold(String::new(), |all, i| {
        all + &format!(".c{i} .t{i} > p {{ color:#{i:03x}; margin:0 0 {i}px }}\n")
    });
    let card = "<table role=\"presentation\" width=\"100%\" cellpadding=\"0\"><tr><td class=\"c1\" style=\"padding:16px\"><table><tr><td>\
        <img src=\"https://example.com/i.png\" width=\"280\" height=\"160\" alt=\"A picture\"></td><td class=\"t1\" valign=\"top\"><h2>A story</h2>\
        <p style=\"font-size:14px;line-height:21px\">Some sentences about what happened, with <b>weight</b> and a <a href=\"https://example.com/a\">link</a>.</p>\
        </td></tr></table></td></tr></table>";
    format!(
        "<!doctype html><html><head><style>{css}</style></head><body><center>{}</center></body></html>",
        card.repeat(cards)
    )
}

/// A thread: replies within replies.
fn thread() -> String {
    let reply = "<div>On Friday somebody wrote:<br></div><blockquote type=\"cite\"><div>One answer of a few words, and another sentence.</div>";
    format!(
        "<div>Thanks!</div>{}{}",
        reply.repeat(12),
        "</blockquote>".repeat(12)
    )
}

fn mails() -> Vec<(&'static str, String)> {
    vec![
        ("receipt", receipt()),
        ("newsletter", newsletter(20)),
        ("thread", thread()),
        ("large", newsletter(600)),
    ]
}

fn reading(c: &mut Criterion) {
    let mut group = c.benchmark_group("read and lay out at 80");
    for (name, source) in mails() {
        group.throughput(Throughput::Bytes(source.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(name), &source, |b, source| {
            b.iter(|| lay_out_html(black_box(source), 80));
        });
    }
    group.finish();
}

fn resizing(c: &mut Criterion) {
    let mut group = c.benchmark_group("lay out again");
    for (name, source) in mails() {
        let prepared = Document::from_html(&source);
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter(|| prepared.lay_out(black_box(100)));
        });
    }
    group.finish();
}

fn writing(c: &mut Criterion) {
    let body = lay_out_html(&newsletter(20), 80);
    c.bench_function("write with colours", |b| {
        b.iter(|| {
            ansi::write(
                black_box(&body),
                ansi::AnsiOptions {
                    colour: true,
                    links: true,
                    masked: false,
                },
            )
        });
    });
}

criterion_group!(benches, reading, resizing, writing);
criterion_main!(benches);

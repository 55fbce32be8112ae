//! Text that style sheets give to pseudo-elements.

use super::*;

#[test]
fn text_of_pseudo_elements_is_shown() {
    let text_of = |css: &str| {
        text(&format!(
            "<style>{css}</style><p class=a data-n=3>One<p>Two"
        ))
    };
    for (css, expected) in [
        (
            ".a::before{content:'Step ' attr(data-n) ': '}",
            "Step 3: One\n\nTwo\n",
        ),
        (".a:after{content:' →'}", "One →\n\nTwo\n"),
        (
            "p::before{content:open-quote} p::after{content:close-quote}",
            "“One”\n\n“Two”\n",
        ),
        (
            "p::before{content:'No. '} .a::before{content:none}",
            "One\n\nNo. Two\n",
        ),
        (
            "p::before{content:'x'} .a::before{content:normal;content:bogus}",
            "One\n\nxTwo\n",
        ),
        (
            ".a::before{content:'Status';display:block}",
            "Status\nOne\n\nTwo\n",
        ),
        (".a{&::before{content:'- '}}", "- One\n\nTwo\n"),
        (
            ".a{--c:'> '} .a::before{--c:'> ';content:var(--c)}",
            "> One\n\nTwo\n",
        ),
        (
            "p::before{content:'x'} p:first-child::before{content:'y'} p + p{color:red}",
            "yOne\n\nxTwo\n",
        ),
    ] {
        assert_eq!(text_of(css), expected, "{css}");
    }
    for css in [
        ".a::before{content:'HIDDEN';display:none}",
        ".a::before{content:'\\e801'}",
        ".a::before{content:counter(i) ') '}",
        ".a::before{content:url(x.png)}",
        ".a::after{content:'';display:table;clear:both}",
        ".a::before{color:red}",
        ".a::placeholder{content:'HIDDEN'}",
        "@media (max-width:500px){p::before{content:'HIDDEN'}}",
    ] {
        assert_eq!(text_of(css), "One\n\nTwo\n", "{css}");
    }
}

#[test]
fn label_of_a_cell_stays_beside_its_value() {
    let css = "<style>td::before{content:attr(data-label) ': '}</style>";
    let cells = "<td data-label=Amount>€5<td data-label=Date>2 May";
    let html = format!("{css}<table><tr>{cells}</table>");
    assert_eq!(text(&html), "Amount: €5  Date: 2 May\n");
}

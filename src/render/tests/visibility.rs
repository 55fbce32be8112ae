//! Text is shown where Chromium shows it, and hidden where Chromium hides it.

use super::*;

/// Html whose text `seen` a browser shows.
const SHOWN: &[&str] = &[
    // Styles that hide only together with others.
    "<div style='display:none;display:block'>seen",
    "<div style='height:0'>seen",
    "<div style='clip:rect(0,0,0,0)'>seen",
    "<div style='color:#f4f4f4'>seen",
    "<div style='max-height:0'>seen",
    "<div style='left:-9999px'>seen",
    "<div style='line-height:0'>seen",
    "<div style='text-indent:-20px'>seen",
    // Boxes that clip what is in their flow, and indents of first lines.
    "<!doctype html><div style='height:0;overflow:hidden'><p style='position:absolute;top:40px'>seen",
    "<!doctype html><div style='max-height:0;overflow:hidden'><div><p style='position:absolute'>seen",
    "<div style='text-indent:-9999px'>gone<br>seen",
    "<div style='text-indent:-9999px'><a href='http://a.example'>gone<br><b>seen</b></a>",
    // Legacy colours.
    "<table><tr><td bgcolor='44CC44'><a href=http://a.example/ style='color:#fff'>seen</a></table>",
    "<table><tr><td bgcolor='000'><font color='#fff'>seen</table>",
    "<table><tr><td bgcolor='#00336'><font color='#fff'>seen</table>",
    "<table><tr><td bgcolor='#0'><font color='#fff'>seen</table>",
    "<table><tr><td bgcolor='rgb(0,0,0)'><font color='#fff'>seen</table>",
    "<table><tr><td bgcolor='chucknorris'><font color='#fff'>seen</table>",
    "<table><tr><td bgcolor='#00000080'><font color='#fff'>seen</table>",
    "<body bgcolor=000000><font color=ffffff>seen",
    "<body bgcolor='#fff'><font color='fffffg'>seen",
    "<body text='ffffff' bgcolor='000080'>seen",
    "<body bgcolor='#0000ee' link='#ffffff'><a href='http://a.example'>seen</a>",
    // Colours in styles.
    "<div style='background-color:44CC44;color:#fff'>seen",
    "<div style='background-color:000;color:#fff'>seen",
    "<!doctype html><div style='color:ffffff'>seen",
    "<div style='background:#0008;color:#fff'>seen",
    "<div style='background-color:rgba(0,0,0,.5);color:#fff'>seen",
    "<div style='background-color:rgba(0,0,0,.3);color:#fff'>seen",
    "<div style='background:#000'><div style='background:rgba(255,255,255,.2);color:#000'>seen",
    "<div style='background:#000'><div style='background:rgba(255,255,255,.9);color:#fff'>seen",
    "<div style='color:rgba(0,0,0,.4)'>seen",
    "<div style='background:oklch(.3 .1 200);color:#fff'>seen",
    "<div style='background-color:oklab(0.2 0 0);color:#fff'>seen",
    "<div style='background-color:lab(20% 0 0);color:#fff'>seen",
    "<div style='background-color:lch(10% 10 20);color:#fff'>seen",
    "<div style='background-color:hwb(200 0% 80%);color:#fff'>seen",
    "<div style='background-color:hsl(200deg 50% 20%);color:#fff'>seen",
    "<div style='background-color:color(srgb 0 0 0);color:#fff'>seen",
    "<div style='background-color:color-mix(in srgb, #000, #111);color:#fff'>seen",
    "<div style='background-color:light-dark(#000,#fff);color:#fff'>seen",
    "<div style='background-color:rgb(from red 0 0 0);color:#fff'>seen",
    "<div style='background-color:rgb(calc(1 * 2) 0 0);color:#fff'>seen",
    "<div style='background-color:CanvasText;color:#fff'>seen",
    "<div style='background-color:Highlight;color:#000'>seen",
    "<div style='color:#000;background:currentColor'><span style='color:#fff'>seen",
    "<div style='background:#000 bogus;color:#000'>seen",
    // Custom properties.
    "<div style='background:var(--x,#000);color:#fff'>seen",
    "<div style='background-color:var(--nope, var(--also, #000))'><p style='color:#fff'>seen",
    "<style>:root{--x:#000}</style><div style='background-color:var(--x);color:#fff'>seen",
    "<style>:root{--x:#fff}</style><div style='background:#000'><p style='color:var(--x)'>seen",
    "<style>.a{--t:1;background-color:rgb(0 0 0 / var(--t));color:#fff}</style><p class=a>seen",
    "<style>.a{--c:#000}.b{--c:#fff}</style><div class=a><p style='background:var(--c);color:#fff'>seen",
    "<div style='display:var(--nope)'>seen",
    // Backgrounds that text does not get from its parents.
    "<table><tbody bgcolor='#000000'><tr><td><font color='#fff'>seen</table>",
    "<table><tbody style='background:#000'><tr><td><font color='#fff'>seen</table>",
    "<table><thead style='background:#000'><tr><td><font color='#fff'>seen</table>",
    "<table><colgroup><col style='background:#000'></colgroup><tr><td><font color='#fff'>seen</table>",
    "<div style='position:relative'><img src=a width=400 height=200><div style='position:absolute;top:20px;left:20px;color:#fff'>seen",
    "<div style='position:relative'><div style='position:absolute;top:0;left:0;width:300px;height:100px;background:#000'></div><p style='position:relative;color:#fff'>seen",
    "<div style='position:relative'><img style='position:absolute;top:0;left:0;z-index:-1' src=a width=400 height=200><p style='color:#fff'>seen",
    "<img src=a width=400 height=200 style='display:block'><div style='margin-top:-150px;color:#fff;position:relative'>seen",
    "<div style='display:grid'><img style='grid-area:1/1' src=a width=400 height=200><div style='grid-area:1/1;color:#fff;position:relative'>seen",
    "<div style='background:url(a);color:#fff'>seen",
    "<div style='background:url(a)'><p style='color:#fff'>seen",
    "<table background='a'><tr><td style='color:#fff'>seen</table>",
    "<div style='box-shadow:inset 0 0 0 1000px #000;color:#fff'>seen",
    // Letters painted by other properties.
    "<div style='color:#fff;text-shadow:0 0 2px #000'>seen",
    "<div style='color:#fff;-webkit-text-fill-color:#000'>seen",
    "<div style='color:#fff;-webkit-text-stroke:1px #000'>seen",
    "<div style='background:linear-gradient(red,blue);-webkit-background-clip:text;color:transparent'>seen",
    "<div style='background:linear-gradient(red,blue);-webkit-background-clip:text;-webkit-text-fill-color:transparent'>seen",
    "<div style='background:#000;mix-blend-mode:difference;color:#fff'>seen",
    // In quirks mode tables get the text colour of the body.
    "<div style='color:#fff'><table bgcolor='#ffffff'><tr><td>seen</table>",
    "<!doctype html><div style='color:#fff;background:#000'><table><tr><td>seen</table>",
    // Selectors and conditions.
    "<style>.p{display:none}#c:checked~.p{display:block}</style><input type=checkbox id=c checked><div class=p>seen",
    "<style>#c:not(:checked)~.p{display:block}.p{display:none}</style><input type=radio id=c><div class=p>seen",
    "<style>.p{display:none}:enabled~.p{display:block}</style><input><div class=p>seen",
    "<style>.p{display:none}:disabled~.p{display:block}</style><input disabled><div class=p>seen",
    "<style>.p{display:none}div:has(.x){display:block}</style><div class=p><b class=x>seen",
    "<style>@supports (-ms-ime-align:auto){.p{display:none}}</style><div class=p>seen",
    "<style>@media (max-width:600px){.p{display:none}}</style><div class=p>seen",
    "<![if !mso]><p>seen</p><![endif]>",
    "<style>@supports not (display:grid){.p{display:none}}</style><div class=p>seen",
    "<style>.p{display:none}@media (400px<=width<=900px){.p{display:block}}</style><div class=p>seen",
    "<style>.p{display:none}#q{display:revert}</style><div class=p id=q>seen",
    "<style>.p{opacity:0}#q{opacity:initial}</style><div class=p id=q>seen",
    "<style>.p{display:none;color:#fff}#q{all:unset}</style><div class=p id=q>seen",
    "<style>@keyframes f{to{opacity:1}}.p{opacity:0;animation:f .01s forwards}</style><div class=p>seen",
    "<style type='text/x-template'>.p{display:none}</style><div class=p>seen",
    // Values that a browser ignores.
    "<div style='display:none2'>seen",
    "<div style='display:none important'>seen",
    "<div style='visibility:bogus'>seen",
    "<div style='display:\"none\"'>seen",
    "<div style='*display:none'>seen",
    // Boxes.
    "<div style='font-size:0'><b style='font-size:clamp(14px,2vw,20px)'>seen",
    "<div style='max-height:0;min-height:30px;overflow:hidden'>seen",
    "<div style='height:0;overflow:hidden;padding:20px'>seen",
    "<span style='height:0;overflow:hidden'>seen",
    "<div style='display:contents;opacity:0'>seen",
    "<div style='height:600px'>a</div><div style='position:relative;top:-450px'>seen",
    "<div style='text-indent:-9999px'><p style='text-indent:0'>seen",
    "<span style='text-indent:-9999px'>seen",
    "<div style='visibility:hidden'><b style='visibility:visible'>seen",
    "<div style='filter:opacity(50%)'>seen",
    "<style>.p{filter:opacity(0)}#q{filter:none}</style><div class=p id=q>seen",
    "<div style='position:relative;left:-100%'>seen",
    // Elements.
    "<dialog open>seen</dialog>",
    "<map name=m><p>seen</p></map>",
    "<canvas>seen</canvas>",
    "<textarea>seen</textarea>",
    "<svg width=200 height=50><text x=10 y=20>seen</text></svg>",
    "<math><mi>seen</mi></math>",
    "<noscript>seen</noscript>",
    "<object data=a type='application/x-none'>seen</object>",
];

/// Html whose text `gone` a browser hides.
const HIDDEN: &[&str] = &[
    "<div style='display:none'>gone",
    "<div style='DISPLAY : NONE !important'>gone",
    "<div style='visibility:hidden'>gone",
    "<div style='opacity:0'>gone",
    "<div style='font-size:0'>gone",
    "<div style='font-size:1px;line-height:1px'>gone",
    "<div style='max-height:0;overflow:hidden'>gone",
    "<div style='width:0;overflow:hidden'>gone",
    "<div style='position:absolute;left:-9999px'>gone",
    "<div style='color:#fff'>gone",
    "<div style='color:#010203;background-color:#000'>gone",
    "<div style='color:transparent'>gone",
    "<div style='*zoom:1;display:none'>gone",
    "<div style='clip:rect(0,0,0,0);position:absolute'>gone",
    "<div style='clip-path:inset(50%)'>gone",
    "<div style='transform:scale(0)'>gone",
    "<div style='transform:translateX(-9999px)'>gone",
    "<div style='position:absolute;top:-200em'>gone",
    "<div style='visibility:hidden'>gone <b style='visibility:visible'>seen",
    "<p hidden>gone</p><input type=hidden value=gone><details>gone<p>gone</p></details>",
    "<template>gone</template><!-- gone --><title>gone</title>",
    "<!--[if mso]><p>gone</p><![endif]-->",
    "<style>@media only screen and (min-width:480px){.p{display:none}}</style><p class=p>gone",
    "<!doctype html><div style='height:0;overflow:hidden'>gone<p style='position:relative'>gone",
    "<!doctype html><div style='height:0;overflow:hidden;position:relative'><p style='position:absolute'>gone",
    "<!doctype html><div style='height:0;overflow:hidden'><div style='position:relative'><p style='position:absolute'>gone",
    "<!doctype html><div style='height:0;overflow:hidden'><div style='display:none'><p style='position:absolute'>gone",
    "<!doctype html><div style='height:0;overflow:hidden;opacity:0'><p style='position:absolute'>gone",
    "<div style='text-indent:-9999px'>gone <b>gone</b>",
    "one<br><div style='text-indent:-9999px'>gone",
    "<table><tr><td>one<br>two<td style='text-indent:-9999px'>gone</table>",
    "<table><tr><td bgcolor='#ffffffff'><font color='white'>gone</table>",
    "<table><tr><td bgcolor='transparent'><font color='white'>gone</table>",
    "<table><tr><td bgcolor=''><font color='white'>gone</table>",
    "<body bgcolor='#0000ee'><a href='http://a.example'>gone</a>",
    "<div bgcolor='#000000'><font color='white'>gone</div>",
    "<!doctype html><div style='background-color:44CC44;color:#fff'>gone",
    "<div style='background:000;color:#fff'>gone",
    "<div style='color:ffffff'>gone",
    "<div style='background:#000 bogus;color:#fff'>gone",
    "<div style='color:oklch(1 0 0)'>gone",
    "<div style='color:color(srgb 1 1 1)'>gone",
    "<div style='color:hwb(0 100% 0%)'>gone",
    "<div style='color:rgb(100%,100%,100%)'>gone",
    "<div style='color:rgb(300,300,300)'>gone",
    "<div style='color:rgba(255,255,255,.5)'>gone",
    "<div style='color:Canvas'>gone",
    "<div style='background-color:rgba(0,0,0,.01);color:#fff'>gone",
    "<div style='background-color:color(display-p3 1 1 1);color:#fff'>gone",
    "<div style='color:#000;background-color:currentcolor'>gone",
    "<div style='color:#fff'><p style='color:currentColor'>gone",
    "<div style='background:#000'><div style='background:initial'><span style='color:#000'>gone",
    "<div style='color:var(--nope, #fff)'>gone",
    "<style type=TEXT/CSS>.p{display:none}</style><div class=p>gone",
    "<style type=''>.p{display:none}</style><div class=p>gone",
    "<div style='display:var(--nope, none)'>gone",
    "<div style='--d:none;display:var(--d)'>gone",
    "<style>:root{--o:0}</style><div style='opacity:var(--o)'>gone",
    "<style>:root{--x:#fff}</style><div style='background-color:var(--x);color:#fff'>gone",
    "<div style='background-color:#000;background-color:var(--nope)'><p style='color:#fff'>gone",
    "<table><tbody style='opacity:0'><tr><td>gone</table>",
    "<table><tbody style='visibility:hidden'><tr><td>gone</table>",
    "<table><tr style='visibility:collapse'><td>gone</table>",
    "<div style='background:linear-gradient(#000,#222);background:#fff;color:#fff'>gone",
    "<div style='color:#fff;text-shadow:0 1px 0 #fff'>gone",
    "<div style='-webkit-text-fill-color:#fff'>gone",
    "<div style='-webkit-text-fill-color:transparent'>gone",
    "<div style='color:#fff;background:#000'><table><tr><td>gone</table></div>",
    "<style>#c:checked~.p{display:none}</style><input type=radio id=c checked><div class=p>gone",
    "<style>#c:not(:checked)~.p{display:none}</style><input type=radio id=c><div class=p>gone",
    "<style>.p{display:none}.p:hover{display:block}</style><div class=p>gone",
    "<style>@supports (display:grid){.p{display:none}}</style><div class=p>gone",
    "<style>@media (400px<=width<=900px){.p{display:none}}</style><div class=p>gone",
    "<style>.p{display:none}@layer a{.p{opacity:1}}</style><div class=p>gone",
    "<div style='display:none'><p style='display:block'>gone",
    "<div style='display:none;display:bogus'>gone",
    "<div style='opacity:0'><b style='opacity:1'>gone",
    "<div style='opacity:0%'>gone",
    "<div style='font:0/0 a'>gone",
    "<div style='overflow:auto;height:0'>gone",
    "<div style='overflow-y:hidden;height:0'>gone",
    "<span style='display:inline-block;width:0;overflow:hidden'>gone",
    "<div style='position:absolute;right:2000px'>gone",
    "<div style='position:relative;left:-9999px'>gone",
    "<div style='position:fixed;top:-100vh'>gone",
    "<div style='margin-left:-9999px'>gone",
    "<div style='text-indent:-9999px'>gone",
    "<div style='scale:0'>gone",
    "<div style='content-visibility:hidden'>gone",
    "<dialog>gone</dialog>",
    "<svg width=200 height=50><title>gone</title></svg>",
    "<svg width=200 height=50><defs><text x=10 y=20>gone</text></defs></svg>",
    "<ruby>a<rp>gone</rp></ruby>",
    "<div style='filter:opacity(0)'>gone",
    "<div style='position:absolute;left:-100vw'>gone",
    "<div style='transform:scale(0);filter:none;mix-blend-mode:normal'>gone",
    "<div style='position:absolute;inset:0 auto auto -9999px'>gone",
    "<div style='transform:translateX(-100vw)'>gone",
];

#[test]
fn text_that_browsers_show_is_shown() {
    let lost: Vec<&&str> = SHOWN
        .iter()
        .filter(|html| !text(html).contains("seen"))
        .collect();
    assert!(lost.is_empty(), "{lost:#?}");
}

#[test]
fn text_that_browsers_hide_is_hidden() {
    let leaked: Vec<&&str> = HIDDEN
        .iter()
        .filter(|html| text(html).contains("gone"))
        .collect();
    assert!(leaked.is_empty(), "{leaked:#?}");
}

#[test]
fn hidden_boxes_inside_a_word_leave_it_whole() {
    for style in [
        "position:absolute;visibility:hidden",
        "position:absolute;opacity:0",
        "position:absolute;font-size:0",
        "position:absolute;left:-9999px",
        "position:fixed;color:#fff;background:#fff",
        "float:left;font-size:0",
        "float:right;visibility:hidden",
        "display:inline-block;width:0;overflow:hidden",
        "display:inline-block;font-size:0",
        "display:inline-block;opacity:0;position:absolute",
        "display:none",
    ] {
        for inner in ["x", "<b>x</b> y", "<div>x</div>"] {
            let html =
                format!("<div>C<span style='{style}'>{inner}</span>orreios <b>now</b></div>");
            assert_eq!(text(&html), "Correios now\n", "{style} {inner}");
        }
    }
    let inline = "<p>C<span style='opacity:0'>x y</span>orreios";
    assert_eq!(text(inline), "Correios\n");
    let shown = "<div>One<span style='float:left'>two</span>three</div>";
    assert_eq!(text(shown), "One\ntwo\nthree\n", "it breaks the line");
}

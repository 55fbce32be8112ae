//! Images: their gaps, their captions, what those without a text show.

use super::*;

#[test]
fn image_is_apart_from_the_caption_of_the_one_before() {
    let cell = |name: &str| {
        format!(
            "<td><img alt='{name} photo' style='display:block' width=200><div style='padding:20px 0 10px;font-weight:700'>{name}</div>"
        )
    };
    let html = format!(
        "<table width=600><tr>{}{}</table>",
        cell("Hats"),
        cell("Boys")
    );
    let lines = ["[Hats photo]", "", "Hats", "", "[Boys photo]", "", "Boys"];
    assert_eq!(shown(&html, 40), lines);
}

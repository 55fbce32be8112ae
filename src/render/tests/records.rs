//! Records of data tables: each value stays below or beside its own heading.

use super::*;

#[test]
fn text_stays_in_the_column_of_its_heading() {
    let cases: [(&str, &[&str]); 5] = [
        (
            "<table border=1><tr><th>Name<th>In<th>Out<tr><td>Ana<td>29 Nov 8:00<td><tr><td>Bo<td>8:05<td>16:30</table>",
            &[
                "Name  In           Out",
                "Ana   29 Nov 8:00",
                "Bo    8:05         16:30",
            ],
        ),
        (
            "<table><tr><th>Field<th>Old<th>New<tr><td>Phone<td>600 111 222<td>&nbsp;<tr><td>Mail<td><td>a@x.example</table>",
            &[
                "Field  Old          New",
                "Phone  600 111 222",
                "Mail                a@x.example",
            ],
        ),
        (
            "<table><tr><td>Name<td>In<td>Out<tr><td>Ana<td>29 Nov 8:00<td><tr><td>Bo<td>8:05<td>16:30</table>",
            &[
                "Name  In           Out",
                "Ana   29 Nov 8:00",
                "Bo    8:05         16:30",
            ],
        ),
        (
            "<table border=1><tr><th rowspan=2>Day<th colspan=2>Mails<th rowspan=2>Total<tr><th>Sent<th>Complaints<tr><td>Mon<td>12<td>9<td>21</table>",
            &[
                "Day  Mails             Total",
                "     Sent  Complaints",
                "Mon  12    9           21",
            ],
        ),
        (
            "<table border=1><tr><th>Item<th>Old<th>New<tr><td>All items of the shop<tr><td>Tea<td>1<td>2</table>",
            &["Item  Old  New", "All items of the shop", "Tea   1    2"],
        ),
    ];
    for (html, lines) in cases {
        assert_shown(html, lines);
    }
}

#[test]
fn text_extends_over_column_without_heading() {
    let html = "<table><tr><td>5.<td>Payments on account<td><td>£<td>p\
        <tr><td><td>(a)<td>31 January<td align=right>1,204<td>50\
        <tr><td><td>(b)<td>31 July<td align=right>1,204<td>50</table>";
    let lines = [
        "5.  Payments on account  £      p",
        "    (a)  31 January      1,204  50",
        "    (b)  31 July         1,204  50",
    ];
    assert_shown(html, &lines);
}

//! The words that the sample letters are varied with.

/// What the shop sells: names in English, German and Japanese, and the price in pence.
pub(super) struct Product {
    pub(super) english: &'static str,
    pub(super) german: &'static str,
    pub(super) japanese: &'static str,
    pub(super) pence: u64,
}

const fn product(
    english: &'static str,
    german: &'static str,
    japanese: &'static str,
    pence: u64,
) -> Product {
    Product {
        english,
        german,
        japanese,
        pence,
    }
}

/// All of it.
pub(super) static PRODUCTS: [Product; 14] = [
    product(
        "Blue field notebook",
        "Feldnotizbuch, blau",
        "フィールドノート（青）",
        700,
    ),
    product(
        "Dotted journal, A5",
        "Punktrastertagebuch, A5",
        "ドット方眼ジャーナル A5",
        1450,
    ),
    product(
        "Brass pencil sharpener",
        "Messingbleistiftspitzer",
        "真鍮の鉛筆削り",
        1190,
    ),
    product(
        "Harbour ink, 50 ml",
        "Hafenblau-Tintenfass, 50 ml",
        "港のインク 50ml",
        1325,
    ),
    product(
        "Pine green ink, 50 ml",
        "Kieferngrün-Tintenfass, 50 ml",
        "松葉色のインク 50ml",
        1325,
    ),
    product(
        "Fountain pen “Tern”, fine nib",
        "Füllfederhalter „Seeschwalbe“, feine Feder",
        "万年筆「アジサシ」細字",
        4800,
    ),
    product(
        "Letter paper, 40 sheets",
        "Briefpapier, 40 Blatt",
        "便箋 40枚",
        960,
    ),
    product(
        "Envelopes, lined, 20",
        "Briefumschläge, gefüttert, 20 Stück",
        "裏打ち封筒 20枚",
        640,
    ),
    product(
        "Desk calendar 2027",
        "Schreibtischkalender 2027",
        "卓上カレンダー 2027",
        1600,
    ),
    product(
        "Washi tape, set of six",
        "Klebebandsortiment, sechsteilig",
        "マスキングテープ 6巻",
        1175,
    ),
    product(
        "Canvas pencil roll",
        "Segeltuch-Stifterolle",
        "帆布のペンケース",
        2250,
    ),
    product("Sealing wax, red", "Siegelwachs, rot", "封蝋（赤）", 575),
    product(
        "Sketchbook, 140 gsm",
        "Skizzenblock, 140 g/m²",
        "スケッチブック 140g",
        1890,
    ),
    product(
        "Gift box “Rainy Sunday”",
        "Geschenkschachtel „Regensonntag“",
        "ギフトボックス「雨の日曜日」",
        3600,
    ),
];

/// People of the company.
pub(super) const AGENTS: [&str; 6] = [
    "Tamsin Penrose",
    "Idris Vale",
    "Marguerite Oake",
    "Jonah Kestle",
    "Sunniva Bray",
    "Wilf Carrow",
];

pub(super) const STREETS: [&str; 8] = [
    "12 Chapel Row",
    "3 Weavers’ Yard",
    "88 Station Road",
    "7b Mill Lane",
    "41 Orchard Street",
    "Flat 5, 20 Quay Street",
    "1 Lighthouse Hill",
    "16 Market Square",
];

pub(super) const DEVICES: [&str; 6] = [
    "a browser on Linux",
    "a phone",
    "a browser on Windows",
    "a tablet",
    "the desktop app on macOS",
    "a browser we do not know",
];

pub(super) const WORKSPACES: [&str; 8] = [
    "Harvest planning",
    "Studio notebook",
    "Class 4b",
    "The reading room",
    "Kitchen & cellar",
    "Tidal survey",
    "Spring exhibition",
    "Allotment society",
];

pub(super) const BANK_REASONS: [&str; 4] = [
    "card expired",
    "insufficient funds",
    "do not honour",
    "the issuer did not answer in time",
];

pub(super) const WORKSHOPS: [&str; 5] = [
    "Bookbinding for beginners",
    "Ink-making with oak galls",
    "Letters by hand",
    "Paper marbling",
    "Repair café for fountain pens",
];

pub(super) const SERVICES: [&str; 5] = ["outbox", "search", "ledger", "thumbs", "gateway"];

pub(super) const METRICS: [&str; 4] = ["disk usage", "queue depth", "memory", "error rate"];

/// What a colleague did in the digest, and to which page.
pub(super) const ACTIVITIES: [(&str, &str); 8] = [
    ("rewrote", "Opening hours"),
    ("commented on", "Autumn catalogue"),
    ("added", "Meeting, second week"),
    ("moved", "Suppliers of blue"),
    ("finished", "Stocktaking list"),
    ("asked about", "Who has the key"),
    ("translated", "Returns policy"),
    ("archived", "Summer fête"),
];

/// Leads of the newsletter: headline, what its picture shows, first words.
pub(super) const LEADS: [(&str, &str, &str); 7] = [
    (
        "Ink that does not bleed",
        "A drop of ink on rough paper",
        "We asked three paper makers why the same ink behaves on one sheet and runs on the next. The answer is older than paper.",
    ),
    (
        "The man who sharpens pencils",
        "A workbench with shavings",
        "Every Thursday he walks down from the hill with a leather roll of knives, and by noon the schools of three villages can draw again.",
    ),
    (
        "A notebook for the rain",
        "A wet notebook on a harbour wall",
        "Stone paper, waxed thread and a pencil: what surveyors on the tidal flats carry, and why you may want one for the bath.",
    ),
    (
        "Forty letters to a stranger",
        "A bundle of letters",
        "In January we put forty stamped envelopes into forty parcels. Thirty-one came back, and they have something to say.",
    ),
    (
        "How blue became cheap",
        "Jars of pigment",
        "For centuries it was dearer than gold. Then somebody tried to make red, and failed.",
    ),
    (
        "In praise of the margin",
        "An open book with wide margins",
        "The empty part of the page is where the reader lives. A short history of leaving room.",
    ),
    (
        "What the binder hears",
        "Hands folding a sheet",
        "She knows by the sound of the fold whether the grain runs right. We brought a microphone.",
    ),
];

/// Smaller stories: picture, headline, teaser.
pub(super) const STORIES: [(&str, &str, &str); 8] = [
    (
        "desk",
        "Tidy in ten minutes",
        "A drawer, a tray and a rule about Fridays.",
    ),
    (
        "nibs",
        "Which nib are you?",
        "Fine for lists, broad for letters, music for everything else.",
    ),
    (
        "map",
        "Walk: the paper mill path",
        "Six miles, two stiles, one very good bun.",
    ),
    (
        "stamp",
        "A stamp nobody licked",
        "Misprints, and the people who love them.",
    ),
    (
        "kids",
        "Potato prints",
        "For rainy afternoons and forgiving tables.",
    ),
    (
        "dog",
        "Shop dog of the month",
        "Biscuit, seven, retired from sheep.",
    ),
    (
        "book",
        "We are reading",
        "Three small books about large silences.",
    ),
    (
        "recipe",
        "Ginger biscuits",
        "From the back of an order form, 1962.",
    ),
];

pub(super) const QUOTES: [&str; 5] = [
    "I write it down so that I may stop thinking about it.",
    "A blank page is only shy.",
    "My grandmother kept every list. We can tell what the weather was.",
    "The best pen is the one you lend.",
    "Paper forgives. Screens only forget.",
];

pub(super) const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(super) const MONTHS_GERMAN: [&str; 12] = [
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
];

pub(super) const MONTHS_ARABIC: [&str; 12] = [
    "يناير",
    "فبراير",
    "مارس",
    "أبريل",
    "مايو",
    "يونيو",
    "يوليو",
    "أغسطس",
    "سبتمبر",
    "أكتوبر",
    "نوفمبر",
    "ديسمبر",
];

/// A visitor's name that clears the screen, and reads the other way round.
pub(super) const HOSTILE_NAME: &str = "Mallory\u{1b}[2J \u{202e}nimda\u{202c}";

/// A subject that would retitle the window, ring, and hide a part of a word.
pub(super) const HOSTILE_TITLE: &str =
    "Invoice\u{1b}]0;root shell\u{7} \u{9b}31mpay\u{200b}ment\u{1b}[0m \u{202e}fdp.exe";

/// A message that would write over itself, put a link where none is, and fill the clipboard.
pub(super) const HOSTILE_TEXT: &str = "please pay 10 EUR\r please pay 9000 EUR\u{1b}[1A\u{1b}[2K \u{1b}]8;;https://thief.example/\u{1b}\\your bank\u{1b}]8;;\u{1b}\\ \u{1b}]52;c;cm0gLXJmIH4=\u{7}\u{8}\u{8}\u{0}done\u{e0041}\u{e0042}";

/// Words without a border, of wide, tall and joined characters.
pub(super) const HOSTILE_WIDE: &str = "𒐫𒈙⸻꧅﷽ 👩\u{200d}👩\u{200d}👧\u{200d}👦 \u{feff}a\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}\u{306} AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

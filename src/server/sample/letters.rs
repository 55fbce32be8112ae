//! The kinds of mail that the sample company sends: who from, how often, with which template.

use super::cultures::{ARABIC, GERMAN, JAPANESE};
use super::facts::Tongue;
use super::fate::Appeal;

/// One kind of mail.
#[derive(Debug)]
pub(super) struct Letter {
    /// Also its `category` tag.
    pub(super) name: &'static str,
    pub(super) from: &'static str,
    /// A template.
    pub(super) subject: &'static str,
    /// A template.
    pub(super) html: Option<&'static str>,
    /// A template.
    pub(super) text: Option<&'static str>,
    /// How common it is, in permille of all mail.
    pub(super) share: u64,
    pub(super) appeal: Appeal,
    pub(super) copies: Copies,
    pub(super) reply_to: Option<&'static str>,
    pub(super) tongue: Tongue,
    /// Whether it is scheduled at times.
    pub(super) may_wait: bool,
    /// Name and value, beside the category.
    pub(super) tags: &'static [(&'static str, &'static str)],
    /// Goes to this address rather than to a customer.
    pub(super) to: Option<&'static str>,
}

/// Who else gets a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Copies {
    /// Nobody.
    None,
    /// Colleagues of the customer, as further recipients or as a copy; with a private customer, our own.
    Colleagues,
    /// An archive mailbox, blindly.
    Archive,
}

impl Letter {
    /// The culture its readers are of, if it matters.
    pub(super) const fn culture(&self) -> Option<usize> {
        match self.tongue {
            Tongue::English => None,
            Tongue::German => Some(GERMAN),
            Tongue::Japanese => Some(JAPANESE),
            Tongue::Arabic => Some(ARABIC),
        }
    }

    /// The letter at a place from 0 to 999.
    pub(super) fn at(permille: u64) -> &'static Self {
        let mut end = 0;
        let found = LETTERS.iter().find(|letter| {
            end += letter.share;
            permille < end
        });
        found.expect("the shares add up to a thousand")
    }
}

macro_rules! asset {
    ($name:literal) => {
        Some(include_str!(concat!("../../../assets/sample/", $name)))
    };
}

const SHOP: &str = "Harbour & Pine <orders@shop.harbourpine.example>";
const NOTES: &str = "Pine Notes <hello@notes.harbourpine.example>";
const LOGIN: &str = "Pine Notes <no-reply@id.harbourpine.example>";
const BILLING: &str = "Pine Billing <billing@harbourpine.example>";
const JOURNAL: &str = "The Harbour & Pine Journal <journal@news.harbourpine.example>";
const SUPPORT: &str = "Harbour & Pine Support <help@harbourpine.example>";

const HELP: Option<&str> = Some("Harbour & Pine Support <help@harbourpine.example>");

/// What a letter is unless it says otherwise.
const LETTER: Letter = Letter {
    name: "",
    from: SHOP,
    subject: "",
    html: None,
    text: None,
    share: 0,
    appeal: Appeal {
        opened: 450,
        clicked: 300,
    },
    copies: Copies::None,
    reply_to: None,
    tongue: Tongue::English,
    may_wait: false,
    tags: &[],
    to: None,
};

/// All kinds.
pub(super) static LETTERS: [Letter; 26] = [
    Letter {
        name: "reset_code",
        from: LOGIN,
        subject: "{{code}} is your Pine Notes code",
        html: asset!("reset_code.html"),
        text: asset!("reset_code.txt"),
        share: 85,
        appeal: Appeal {
            opened: 880,
            clicked: 30,
        },
        ..LETTER
    },
    Letter {
        name: "magic_link",
        from: LOGIN,
        subject: "Sign in to Pine Notes",
        html: asset!("magic_link.html"),
        text: asset!("magic_link.txt"),
        share: 95,
        appeal: Appeal {
            opened: 900,
            clicked: 920,
        },
        ..LETTER
    },
    Letter {
        name: "receipt",
        subject: "Your receipt {{order}}",
        html: asset!("receipt.html"),
        text: asset!("receipt.txt"),
        share: 116,
        appeal: Appeal {
            opened: 720,
            clicked: 180,
        },
        copies: Copies::Archive,
        reply_to: HELP,
        tags: &[("product", "shop")],
        ..LETTER
    },
    Letter {
        name: "invoice",
        from: BILLING,
        subject: "Invoice {{invoice}} from Harbour & Pine",
        html: asset!("invoice.html"),
        text: asset!("invoice.txt"),
        share: 55,
        appeal: Appeal {
            opened: 640,
            clicked: 350,
        },
        copies: Copies::Colleagues,
        reply_to: Some("accounts@harbourpine.example"),
        tags: &[("product", "shop"), ("terms", "net_14")],
        ..LETTER
    },
    Letter {
        name: "shipping",
        subject: "On its way: order {{order}}",
        html: asset!("shipping.html"),
        text: asset!("shipping.txt"),
        share: 105,
        appeal: Appeal {
            opened: 820,
            clicked: 610,
        },
        reply_to: HELP,
        tags: &[("product", "shop"), ("carrier", "coast_parcel")],
        ..LETTER
    },
    Letter {
        name: "journal",
        from: JOURNAL,
        subject: "{{lead}} · Journal No. {{issue}}",
        html: asset!("newsletter.html"),
        text: asset!("newsletter.txt"),
        share: 120,
        appeal: Appeal {
            opened: 380,
            clicked: 120,
        },
        may_wait: true,
        tags: &[("campaign", "journal"), ("list", "readers")],
        ..LETTER
    },
    Letter {
        name: "digest",
        from: NOTES,
        subject: "Your week in {{workspace}}: {{changes}} changes",
        html: asset!("digest.html"),
        text: asset!("digest.txt"),
        share: 50,
        may_wait: true,
        tags: &[("product", "notes"), ("plan", "pro")],
        ..LETTER
    },
    Letter {
        name: "dunning",
        from: BILLING,
        subject: "Your payment of {{total}} did not go through",
        html: asset!("dunning.html"),
        text: asset!("dunning.txt"),
        share: 22,
        appeal: Appeal {
            opened: 610,
            clicked: 440,
        },
        copies: Copies::Colleagues,
        reply_to: Some("accounts@harbourpine.example"),
        tags: &[("product", "notes"), ("plan", "team")],
        ..LETTER
    },
    Letter {
        name: "invite",
        from: NOTES,
        subject: "{{inviter}} invited you to {{workspace}}",
        html: asset!("invite.html"),
        text: asset!("invite.txt"),
        share: 48,
        appeal: Appeal {
            opened: 700,
            clicked: 600,
        },
        tags: &[("product", "notes")],
        ..LETTER
    },
    Letter {
        name: "alert",
        from: "Pine Watch <watch@ops.harbourpine.example>",
        subject: "[FIRING] {{metric}} at {{value}} % on {{machine}}",
        text: asset!("alert.txt"),
        share: 30,
        appeal: Appeal {
            opened: 0,
            clicked: 0,
        },
        copies: Copies::Archive,
        tags: &[("severity", "page"), ("team", "operations")],
        to: Some("oncall@ops.harbourpine.example"),
        ..LETTER
    },
    Letter {
        name: "survey",
        subject: "One question about your {{product}}",
        html: asset!("survey.html"),
        share: 26,
        appeal: Appeal {
            opened: 420,
            clicked: 260,
        },
        may_wait: true,
        tags: &[("campaign", "nps_q4")],
        ..LETTER
    },
    Letter {
        name: "order_ja",
        from: "ハーバー＆パイン <support@jp.harbourpine.example>",
        subject: "【ハーバー＆パイン】ご注文の確認（{{order}}）",
        html: asset!("order_ja.html"),
        text: asset!("order_ja.txt"),
        share: 30,
        appeal: Appeal {
            opened: 760,
            clicked: 200,
        },
        tongue: Tongue::Japanese,
        tags: &[("product", "shop"), ("lang", "ja")],
        ..LETTER
    },
    Letter {
        name: "welcome_ar",
        from: "هاربر وباين <salam@ar.harbourpine.example>",
        subject: "أهلاً بك في هاربر وباين يا {{given}}",
        html: asset!("welcome_ar.html"),
        text: asset!("welcome_ar.txt"),
        share: 16,
        appeal: Appeal {
            opened: 690,
            clicked: 410,
        },
        tongue: Tongue::Arabic,
        tags: &[("lang", "ar")],
        ..LETTER
    },
    Letter {
        name: "notice_de",
        from: "Harbour & Pine GmbH <bestellung@de.harbourpine.example>",
        subject: "Auftragsbestätigung {{order}}: Ihre Schreibwarenzusammenstellung",
        html: asset!("notice_de.html"),
        text: asset!("notice_de.txt"),
        share: 32,
        appeal: Appeal {
            opened: 740,
            clicked: 90,
        },
        copies: Copies::Archive,
        reply_to: Some("Kundenzufriedenheit <hilfe@de.harbourpine.example>"),
        tongue: Tongue::German,
        tags: &[("product", "shop"), ("lang", "de")],
        ..LETTER
    },
    Letter {
        name: "sale",
        from: JOURNAL,
        subject: "🍂 30 % off everything blue 💙 until {{weekday}}",
        html: asset!("sale.html"),
        share: 38,
        appeal: Appeal {
            opened: 300,
            clicked: 90,
        },
        may_wait: true,
        tags: &[("campaign", "blue_autumn"), ("list", "readers")],
        ..LETTER
    },
    Letter {
        name: "product_news",
        from: NOTES,
        subject: "Pine Notes 4.{{issue}}: search on a plane",
        html: asset!("changelog.html"),
        text: asset!("changelog.txt"),
        share: 24,
        may_wait: true,
        tags: &[("product", "notes"), ("campaign", "product_news")],
        ..LETTER
    },
    Letter {
        name: "contact_form",
        from: SUPPORT,
        subject: "We got your message: {{nasty_title}}",
        html: asset!("contact.html"),
        text: asset!("contact.txt"),
        share: 8,
        appeal: Appeal {
            opened: 100,
            clicked: 0,
        },
        tags: &[("source", "contact_form")],
        to: Some("Mallory\u{1b}[2J \u{202e}nimda\u{202c} <mallory@thief.example>"),
        ..LETTER
    },
    Letter {
        name: "empty",
        from: SUPPORT,
        subject: "",
        share: 8,
        appeal: Appeal {
            opened: 0,
            clicked: 0,
        },
        ..LETTER
    },
    Letter {
        name: "workshop",
        from: "Harbour & Pine Workshops <events@harbourpine.example>",
        subject: "{{event_weekday}}, {{event_day}} {{event_month}}: {{workshop}}",
        html: asset!("event.html"),
        text: asset!("event.txt"),
        share: 18,
        appeal: Appeal {
            opened: 660,
            clicked: 480,
        },
        copies: Copies::Colleagues,
        may_wait: true,
        tags: &[("campaign", "workshops")],
        ..LETTER
    },
    Letter {
        name: "refund",
        subject: "Your refund of {{total}} is on its way",
        html: asset!("refund.html"),
        text: asset!("refund.txt"),
        share: 14,
        appeal: Appeal {
            opened: 850,
            clicked: 220,
        },
        reply_to: HELP,
        tags: &[("product", "shop")],
        ..LETTER
    },
    Letter {
        name: "welcome",
        from: NOTES,
        subject: "Welcome aboard, {{given}}",
        html: asset!("welcome.html"),
        text: asset!("welcome.txt"),
        share: 20,
        appeal: Appeal {
            opened: 780,
            clicked: 520,
        },
        tags: &[("product", "notes"), ("plan", "free")],
        ..LETTER
    },
    Letter {
        name: "new_sign_in",
        from: LOGIN,
        subject: "New sign-in from {{device}}",
        html: asset!("signin.html"),
        text: asset!("signin.txt"),
        share: 14,
        appeal: Appeal {
            opened: 560,
            clicked: 40,
        },
        ..LETTER
    },
    Letter {
        name: "support_reply",
        from: SUPPORT,
        subject: "Re: missing {{product}} [{{order}}]",
        html: asset!("reply.html"),
        text: asset!("reply.txt"),
        share: 8,
        appeal: Appeal {
            opened: 830,
            clicked: 60,
        },
        copies: Copies::Colleagues,
        tags: &[("source", "desk")],
        ..LETTER
    },
    Letter {
        name: "weekly_report",
        from: "Pine Desk <reports@desk.harbourpine.example>",
        subject: "Shop report, week to {{date}}",
        html: asset!("report.html"),
        share: 6,
        appeal: Appeal {
            opened: 500,
            clicked: 100,
        },
        tags: &[("team", "shop")],
        to: Some("The shop <shop-team@harbourpine.example>"),
        ..LETTER
    },
    Letter {
        name: "terms",
        from: "Wilf Carrow <wilf@harbourpine.example>",
        subject: "Two changes to our terms from 1 {{next_month}}",
        html: asset!("statement.html"),
        share: 6,
        appeal: Appeal {
            opened: 350,
            clicked: 80,
        },
        may_wait: true,
        ..LETTER
    },
    Letter {
        name: "basket",
        subject: "{{given}}, your {{product}} is still here 🧺",
        html: asset!("basket.html"),
        share: 6,
        appeal: Appeal {
            opened: 330,
            clicked: 140,
        },
        tags: &[("campaign", "basket")],
        ..LETTER
    },
];

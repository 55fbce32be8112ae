//! The kinds of mail that the sample company sends: who from, how often, with which template.

use super::cultures::{ARABIC_CULTURE, GERMAN_CULTURE, JAPANESE_CULTURE};
use super::facts::Language;
use super::lifecycle::Engagement;

/// One kind of mail.
#[derive(Debug)]
pub(super) struct EmailTemplate {
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
    pub(super) share_permille: u64,
    pub(super) engagement: Engagement,
    pub(super) copies: CopyRecipients,
    pub(super) reply_to: Option<&'static str>,
    pub(super) language: Language,
    /// Whether it is scheduled at times.
    pub(super) is_schedulable: bool,
    /// Name and value, beside the category.
    pub(super) tags: &'static [(&'static str, &'static str)],
    /// Goes to this address rather than to a customer.
    pub(super) to: Option<&'static str>,
}

/// Who else gets a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyRecipients {
    /// Nobody.
    None,
    /// Colleagues of the customer, as further recipients or as a copy; with a private customer, our own.
    Colleagues,
    /// An archive mailbox, blindly.
    Archive,
}

impl EmailTemplate {
    /// The culture its readers are of, if it matters.
    pub(super) const fn culture(&self) -> Option<usize> {
        match self.language {
            Language::English => None,
            Language::German => Some(GERMAN_CULTURE),
            Language::Japanese => Some(JAPANESE_CULTURE),
            Language::Arabic => Some(ARABIC_CULTURE),
        }
    }

    /// The letter at a place from 0 to 999.
    pub(super) fn pick(permille: u64) -> &'static Self {
        let mut end = 0;
        let found = TEMPLATES.iter().find(|letter| {
            end += letter.share_permille;
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
const DEFAULT_TEMPLATE: EmailTemplate = EmailTemplate {
    name: "",
    from: SHOP,
    subject: "",
    html: None,
    text: None,
    share_permille: 0,
    engagement: Engagement {
        opened_permille: 450,
        clicked_permille: 300,
    },
    copies: CopyRecipients::None,
    reply_to: None,
    language: Language::English,
    is_schedulable: false,
    tags: &[],
    to: None,
};

/// All kinds.
pub(super) static TEMPLATES: [EmailTemplate; 26] = [
    EmailTemplate {
        name: "reset_code",
        from: LOGIN,
        subject: "{{code}} is your Pine Notes code",
        html: asset!("reset_code.html"),
        text: asset!("reset_code.txt"),
        share_permille: 85,
        engagement: Engagement {
            opened_permille: 880,
            clicked_permille: 30,
        },
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "magic_link",
        from: LOGIN,
        subject: "Sign in to Pine Notes",
        html: asset!("magic_link.html"),
        text: asset!("magic_link.txt"),
        share_permille: 95,
        engagement: Engagement {
            opened_permille: 900,
            clicked_permille: 920,
        },
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "receipt",
        subject: "Your receipt {{order}}",
        html: asset!("receipt.html"),
        text: asset!("receipt.txt"),
        share_permille: 116,
        engagement: Engagement {
            opened_permille: 720,
            clicked_permille: 180,
        },
        copies: CopyRecipients::Archive,
        reply_to: HELP,
        tags: &[("product", "shop")],
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "invoice",
        from: BILLING,
        subject: "Invoice {{invoice}} from Harbour & Pine",
        html: asset!("invoice.html"),
        text: asset!("invoice.txt"),
        share_permille: 55,
        engagement: Engagement {
            opened_permille: 640,
            clicked_permille: 350,
        },
        copies: CopyRecipients::Colleagues,
        reply_to: Some("accounts@harbourpine.example"),
        tags: &[("product", "shop"), ("terms", "net_14")],
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "shipping",
        subject: "On its way: order {{order}}",
        html: asset!("shipping.html"),
        text: asset!("shipping.txt"),
        share_permille: 105,
        engagement: Engagement {
            opened_permille: 820,
            clicked_permille: 610,
        },
        reply_to: HELP,
        tags: &[("product", "shop"), ("carrier", "coast_parcel")],
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "journal",
        from: JOURNAL,
        subject: "{{lead}} · Journal No. {{issue}}",
        html: asset!("newsletter.html"),
        text: asset!("newsletter.txt"),
        share_permille: 120,
        engagement: Engagement {
            opened_permille: 380,
            clicked_permille: 120,
        },
        is_schedulable: true,
        tags: &[("campaign", "journal"), ("list", "readers")],
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "digest",
        from: NOTES,
        subject: "Your week in {{workspace}}: {{changes}} changes",
        html: asset!("digest.html"),
        text: asset!("digest.txt"),
        share_permille: 50,
        is_schedulable: true,
        tags: &[("product", "notes"), ("plan", "pro")],
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "dunning",
        from: BILLING,
        subject: "Your payment of {{total}} did not go through",
        html: asset!("dunning.html"),
        text: asset!("dunning.txt"),
        share_permille: 22,
        engagement: Engagement {
            opened_permille: 610,
            clicked_permille: 440,
        },
        copies: CopyRecipients::Colleagues,
        reply_to: Some("accounts@harbourpine.example"),
        tags: &[("product", "notes"), ("plan", "team")],
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "invite",
        from: NOTES,
        subject: "{{inviter}} invited you to {{workspace}}",
        html: asset!("invite.html"),
        text: asset!("invite.txt"),
        share_permille: 48,
        engagement: Engagement {
            opened_permille: 700,
            clicked_permille: 600,
        },
        tags: &[("product", "notes")],
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "alert",
        from: "Pine Watch <watch@ops.harbourpine.example>",
        subject: "[FIRING] {{metric}} at {{value}} % on {{machine}}",
        text: asset!("alert.txt"),
        share_permille: 30,
        engagement: Engagement {
            opened_permille: 0,
            clicked_permille: 0,
        },
        copies: CopyRecipients::Archive,
        tags: &[("severity", "page"), ("team", "operations")],
        to: Some("oncall@ops.harbourpine.example"),
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "survey",
        subject: "One question about your {{product}}",
        html: asset!("survey.html"),
        share_permille: 26,
        engagement: Engagement {
            opened_permille: 420,
            clicked_permille: 260,
        },
        is_schedulable: true,
        tags: &[("campaign", "nps_q4")],
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "order_ja",
        from: "ハーバー＆パイン <support@jp.harbourpine.example>",
        subject: "【ハーバー＆パイン】ご注文の確認（{{order}}）",
        html: asset!("order_ja.html"),
        text: asset!("order_ja.txt"),
        share_permille: 30,
        engagement: Engagement {
            opened_permille: 760,
            clicked_permille: 200,
        },
        language: Language::Japanese,
        tags: &[("product", "shop"), ("lang", "ja")],
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "welcome_ar",
        from: "هاربر وباين <salam@ar.harbourpine.example>",
        subject: "أهلاً بك في هاربر وباين يا {{given}}",
        html: asset!("welcome_ar.html"),
        text: asset!("welcome_ar.txt"),
        share_permille: 16,
        engagement: Engagement {
            opened_permille: 690,
            clicked_permille: 410,
        },
        language: Language::Arabic,
        tags: &[("lang", "ar")],
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "notice_de",
        from: "Harbour & Pine GmbH <bestellung@de.harbourpine.example>",
        subject: "Auftragsbestätigung {{order}}: Ihre Schreibwarenzusammenstellung",
        html: asset!("notice_de.html"),
        text: asset!("notice_de.txt"),
        share_permille: 32,
        engagement: Engagement {
            opened_permille: 740,
            clicked_permille: 90,
        },
        copies: CopyRecipients::Archive,
        reply_to: Some("Kundenzufriedenheit <hilfe@de.harbourpine.example>"),
        language: Language::German,
        tags: &[("product", "shop"), ("lang", "de")],
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "sale",
        from: JOURNAL,
        subject: "🍂 30 % off everything blue 💙 until {{weekday}}",
        html: asset!("sale.html"),
        share_permille: 38,
        engagement: Engagement {
            opened_permille: 300,
            clicked_permille: 90,
        },
        is_schedulable: true,
        tags: &[("campaign", "blue_autumn"), ("list", "readers")],
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "product_news",
        from: NOTES,
        subject: "Pine Notes 4.{{issue}}: search on a plane",
        html: asset!("changelog.html"),
        text: asset!("changelog.txt"),
        share_permille: 24,
        is_schedulable: true,
        tags: &[("product", "notes"), ("campaign", "product_news")],
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "contact_form",
        from: SUPPORT,
        subject: "We got your message: {{nasty_title}}",
        html: asset!("contact.html"),
        text: asset!("contact.txt"),
        share_permille: 8,
        engagement: Engagement {
            opened_permille: 100,
            clicked_permille: 0,
        },
        tags: &[("source", "contact_form")],
        to: Some("Mallory\u{1b}[2J \u{202e}nimda\u{202c} <mallory@thief.example>"),
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "empty",
        from: SUPPORT,
        subject: "",
        share_permille: 8,
        engagement: Engagement {
            opened_permille: 0,
            clicked_permille: 0,
        },
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "workshop",
        from: "Harbour & Pine Workshops <events@harbourpine.example>",
        subject: "{{event_weekday}}, {{event_day}} {{event_month}}: {{workshop}}",
        html: asset!("event.html"),
        text: asset!("event.txt"),
        share_permille: 18,
        engagement: Engagement {
            opened_permille: 660,
            clicked_permille: 480,
        },
        copies: CopyRecipients::Colleagues,
        is_schedulable: true,
        tags: &[("campaign", "workshops")],
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "refund",
        subject: "Your refund of {{total}} is on its way",
        html: asset!("refund.html"),
        text: asset!("refund.txt"),
        share_permille: 14,
        engagement: Engagement {
            opened_permille: 850,
            clicked_permille: 220,
        },
        reply_to: HELP,
        tags: &[("product", "shop")],
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "welcome",
        from: NOTES,
        subject: "Welcome aboard, {{given}}",
        html: asset!("welcome.html"),
        text: asset!("welcome.txt"),
        share_permille: 20,
        engagement: Engagement {
            opened_permille: 780,
            clicked_permille: 520,
        },
        tags: &[("product", "notes"), ("plan", "free")],
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "new_sign_in",
        from: LOGIN,
        subject: "New sign-in from {{device}}",
        html: asset!("signin.html"),
        text: asset!("signin.txt"),
        share_permille: 14,
        engagement: Engagement {
            opened_permille: 560,
            clicked_permille: 40,
        },
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "support_reply",
        from: SUPPORT,
        subject: "Re: missing {{product}} [{{order}}]",
        html: asset!("reply.html"),
        text: asset!("reply.txt"),
        share_permille: 8,
        engagement: Engagement {
            opened_permille: 830,
            clicked_permille: 60,
        },
        copies: CopyRecipients::Colleagues,
        tags: &[("source", "desk")],
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "weekly_report",
        from: "Pine Desk <reports@desk.harbourpine.example>",
        subject: "Shop report, week to {{date}}",
        html: asset!("report.html"),
        share_permille: 6,
        engagement: Engagement {
            opened_permille: 500,
            clicked_permille: 100,
        },
        tags: &[("team", "shop")],
        to: Some("The shop <shop-team@harbourpine.example>"),
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "terms",
        from: "Wilf Carrow <wilf@harbourpine.example>",
        subject: "Two changes to our terms from 1 {{next_month}}",
        html: asset!("statement.html"),
        share_permille: 6,
        engagement: Engagement {
            opened_permille: 350,
            clicked_permille: 80,
        },
        is_schedulable: true,
        ..DEFAULT_TEMPLATE
    },
    EmailTemplate {
        name: "basket",
        subject: "{{given}}, your {{product}} is still here 🧺",
        html: asset!("basket.html"),
        share_permille: 6,
        engagement: Engagement {
            opened_permille: 330,
            clicked_permille: 140,
        },
        tags: &[("campaign", "basket")],
        ..DEFAULT_TEMPLATE
    },
];

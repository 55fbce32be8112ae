//! Tests of finding and masking one-time codes.

use super::*;

#[track_caller]
fn assert_masked(text: &str, masked: &str) {
    assert_eq!(mask_secrets(text), masked);
    assert_eq!(mask_secrets(&mask_secrets(text)), masked);
}

/// Asserts that the digits and capitals of `secret` are masked, and nothing else.
#[track_caller]
fn assert_secret(text: &str, secret: &str) {
    let mask: String = secret.chars().map(mask_char).collect();
    assert_masked(text, &text.replacen(secret, &mask, 1));
}

#[test]
fn codes_near_their_word_are_masked() {
    for (text, secret) in [
        ("482913 is your Pine Notes code", "482913"),
        ("Your verification code:\n\n482 913\n", "482 913"),
        ("Ihr Bestätigungscode lautet 4821.", "4821"),
        ("Votre code de connexion : K7P-4XZ9", "K7P-4XZ9"),
        ("認証コード：482913", "482913"),
        ("您的验证码是 482913，五分钟内有效", "482913"),
        ("验证码：482913，5分钟内有效", "482913"),
        ("验证码：482913；5分钟内有效", "482913"),
        ("رمز التحقق 482913،5 دقائق", "482913"),
        ("您的动态密码为 482913", "482913"),
        ("ワンタイムパスワード：482913", "482913"),
        ("ログインコードは482913です", "482913"),
        ("รหัส OTP ของคุณคือ 482913", "482913"),
        ("Ваш код: 4829", "4829"),
        ("رمز التحقق الخاص بك هو 482913", "482913"),
        ("PIN: 2024", "2024"),
        ("Your login code:\n\n tt226-5398x\nAcme", "tt226-5398x"),
        (
            "Type this code.\nIt is good for ten minutes, and for you alone.\n\n740 274\n",
            "740 274",
        ),
        ("This code is for you:\nDJZ-TLX", "DJZ-TLX"),
        ("A code to paste:\nsparo-ndigo-amurt\n", "sparo-ndigo-amurt"),
    ] {
        assert_secret(text, secret);
    }
    assert_masked(
        "인증번호는 482913입니다. 코드: 482913",
        "인증번호는 482913입니다. 코드: ••••••",
    );
}

#[test]
fn other_numbers_stay() {
    for text in [
        "Your order 482913 has shipped",
        "Invoice 2026-1187 of 21 Nov 2026",
        "Coupon code: 13448278",
        "Use the discount code SAVE2026 today",
        "Use code 48213 at the checkout, or use SAVE2026 as your discount code",
        "Your code is below. Questions? 12345-67890",
        "Please use 482913 instead of the old building code",
        "To enter the building use 4821, the code of conduct applies",
        "Order 4821: use the code at the door",
        "Error code 50012 in the log",
        "ZIP code 94107, area code 41501",
        "The code was written in 2019 by four people",
        "Total 4821.50 EUR, code below",
        "https://example.com/code/482913",
        "Code of Conduct, page 4821",
        "Codes of 2026-11-21, 555-1234, 4821-22",
        "Your code is above\n\nContinue\nSIGN IN\nwell-known",
        "Use code\n\nSKIN15",
        "Call 482913 seven words further than that from any code",
        "The process ended with exit code 1370",
        "Class code 4821AB, return code 4821",
        "The code in PR 48213 and in PR #48213",
        "Passcode for Meeting ID: 845 1234 5678",
        "Your code: call +49 30 1234 5678 or 0800 123 4567",
        "Codes: 4 of 10\n\n1. Sign in\n2. Pay 4821.50",
        "Your code is above.\n1. Open build 4821-22",
        "Codes of 21.11.26, 21-11-26 and 192.168.100.100",
        "Rate the code: 1 2 3 4 5",
        "Your code is BELOW, the code is UNIVERSAL",
        "This code needs sha256sum and iphone15",
        "Order 482913 to confirm, invoice 4821 to sign in",
        "To sign in, use the gate of building 4821",
        "To sign in, use your password. Use 4821 sheets a day",
        "You need 5000 to continue, please pay 4999 to continue",
        "To continue, enter 4711 at the gate",
        "To verify the address, please use #48211 as reference",
        "To continue the claim, please use 48211 in the subject",
        "Your access code was used in Berlin, postcode 101150, order 482913",
    ] {
        assert_masked(text, text);
    }
}

#[test]
fn codes_in_unusual_forms_are_masked() {
    for secret in [
        "4 8 2 9 1 3",
        "4\n8\n2\n9\n1\n3",
        "4-8-2-9-1-3",
        "48 29 13",
        "482.913",
        "482–913",
        "482·913",
        "482\u{2009}913",
        "４８２９１３",
        "٤٨٢٩١٣",
        "۴۸۲۹۱۳",
        "482913482913",
        "a8f3k2x",
        "a1b2-c3d4",
        "BXKQZT",
    ] {
        assert_secret(&format!("Your verification code is {secret}."), secret);
    }
    for text in [
        "Use 482913 to sign in",
        "Enter 482913 to log in to Acme",
        "Enter 482913 to continue signing in",
        "Enter 482913 to continue",
        "Use #482913 to sign in",
        "To sign in to Acme, please use 482913.",
        "To verify your address, enter: 482913",
        "Use 482913 as your verification code",
        "Please use 482913 as your OTP",
        "Your code: #482913",
        "code=482913",
        "https://acme.example/x?code=482913",
        "2FA: 482913",
        "mTAN 482913",
        "Ihre Bestätigungsnummer: 482913",
        "Your verification code, which you need in order to sign in to your account today, is 482913.",
        "Meeting ID: 845 1234 5678\nPasscode: 482913",
        "Exit code 1370 was sent. Your code: 482913",
    ] {
        assert_secret(text, "482913");
    }
    assert_secret("Recovery code: 12345-67890", "12345-67890");
    assert_secret("Your temporary password is hunter2Xy9", "hunter2Xy9");
    assert_masked(
        "Recovery codes:\n\n• a1b2-c3d4\n• e5f6-g7h8\n• i9j0-k1l2\n\nOrder 4821\n",
        "Recovery codes:\n\n• ••••-••••\n• ••••-••••\n• ••••-••••\n\nOrder 4821\n",
    );
}

#[test]
fn numbered_codes_are_masked() {
    for [one, two] in [
        ["a1b2c-d3e4f", "g5h6i-j7k8l"],
        ["4829 1300", "5831 2290"],
        ["7394 18", "2218 90"],
        ["abcd-efgh-ijkl", "mnop-qrst-uvwx"],
    ] {
        for list in [
            "1. {one}\n2. {two}\n",
            "1) {one} \n \n \n6) {two}\n",
            " 9. {one}\n10. {two}\n",
            "1 \n{one} \n2 \n{two} \n\n",
            "> {one}\n> {two}\n",
            ">\n> 1. {one}\n> 2. {two}\n",
            "a. {one}\nb. {two}\n",
            "(iv) {one}\n(v) {two}\n",
            "#1: {one}\n#2: {two}\n",
            "[ ] {one}\n[ ] {two}\n",
            "☐ \n{one} \n\n☐ \n{two} \n\n",
        ] {
            let codes = list.replace("{one}", one).replace("{two}", two);
            let text = format!("Here are your recovery codes.\n{codes}Order 4821\n");
            let masked = mask_secrets(&text);
            assert!(!masked.contains(one) && !masked.contains(two), "{masked}");
            assert!(masked.contains("Order 4821"), "{masked}");
        }
    }
}

#[test]
fn numbered_lists_of_others_stay() {
    for text in [
        "Your code was accepted. Thank you for your patience!\n\nOrders:\n1. 4829130\n2. 4829140\n",
        "Your code was used for these transfers:\n1. 20260481\n2. 20260482\n",
        "Here are your codes.\nInvoices:\n1. 2026-00481\n2. 2026-00482\n",
        "Call us for a new code:\n1. 555-0123\n2. 555-0124\n",
        "How do you want to get your code?\n1. E-MAIL\n2. SMS-TAN\n",
        "You can use the code on:\n1. iPhone15\n2. iPad16\n",
    ] {
        assert_masked(text, text);
    }
}

#[test]
fn long_keys_are_masked() {
    let figures = ["482913"; 8].join("-");
    for key in [
        "8H3K-22LM-9QWE-71AZ-XX12-PL0K",
        "8h3k-22lm-9qwe-71az-xx12-pl0k",
        "8H3K\u{2011}22LM\u{2011}9QWE\u{2011}71AZ",
        &figures,
    ] {
        assert_secret(&format!("Recovery key: {key}"), key);
        assert_secret(
            &format!("Save this recovery key somewhere safe.\n{key}\n"),
            key,
        );
    }
    for text in [
        "A phone ending in 4821 was added for 2-step verification.",
        "The recovery key is in safe 4821, box 20261128.",
        "You changed your recovery key. Write to support and mention case 482913.",
    ] {
        assert_masked(text, text);
    }
}

#[test]
fn long_text_takes_no_long_time() {
    let text = "code 4821 ".repeat(100_000);
    assert!(find_codes(&text).len() > 10_000);
    let signs = "*".repeat(60_000);
    let text = format!(
        "code 4821 {signs} a b c d e f g h {}",
        "4822 ".repeat(30_000)
    );
    assert_eq!(find_codes(&text).len(), 1);
}

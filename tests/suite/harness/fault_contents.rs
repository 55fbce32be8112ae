//! Faults in the content of JSON responses: members of emails, and pages.

use sentbox::error::ErrorKind;
use serde_json::{Value, json};

use super::super::faulty_server::{Answer, Request, refused, truth};
use super::{CIRCLES, NONSENSE, Row, UNREADABLE, row, single};

pub fn fields() -> Vec<Row> {
    vec![
        row("unknown members", |request, _| {
            request.each(|email| email["topic_id"] = json!({ "deep": [1, null] }))
        })
        .garbles(),
        row("unknown statuses", |request, _| {
            request.each(|email| email["last_event"] = "teleported".into())
        })
        .garbles(),
        row("null everywhere", |request, _| {
            request.each(|email| replace_members(email, &Value::Null))
        })
        .garbles(),
        row("an id and nothing else", |request, _| {
            request.each(|email| *email = json!({ "id": email["id"] }))
        })
        .garbles(),
        row("wrong types everywhere", |request, _| {
            request.each(|email| replace_members(email, &json!({ "was": 1 })))
        })
        .show(ErrorKind::NotTheApi, NONSENSE)
        .listing(ErrorKind::NotTheApi, CIRCLES)
        .sync(ErrorKind::NotTheApi, UNREADABLE),
        row("times that are none", |request, _| {
            request.each(|email| email["created_at"] = "last Tuesday".into())
        })
        .garbles(),
        row("times of the real service", |request, _| {
            request.each(|email| {
                email["created_at"] = email["created_at"]
                    .as_str()
                    .unwrap()
                    .replace('T', " ")
                    .replace("+00:00", "+00")
                    .into();
            })
        })
        .garbles(),
        row("ten thousand recipients", |request, n| {
            let many = |email: &mut Value| {
                email["to"] = (0..10_000).map(|n| format!("r{n}@example.com")).collect();
            };
            request.changed(|value| {
                if n == 0
                    && let Some(data) = value.get_mut("data")
                {
                    many(&mut data[0]);
                }
            })
        })
        .garbles(),
        row("another email than asked for", |request, _| {
            single(
                request,
                request.changed(|email| email["id"] = "another".into()),
            )
        })
        .show(ErrorKind::NotTheApi, "another email"),
        row("emails without ids", |request, _| {
            if !request.is_list() {
                return Answer::Honest;
            }
            request.each(|email| drop(email.as_object_mut().unwrap().remove("id")))
        })
        .listing(ErrorKind::NotTheApi, CIRCLES)
        .sync(ErrorKind::NotTheApi, UNREADABLE),
        row("one email without an id", |request, _| {
            match request.after {
                Some(_) => Answer::Honest,
                None => request.changed(|value| {
                    drop(
                        value
                            .get_mut("data")
                            .map(|data| data[3].as_object_mut().unwrap().remove("id")),
                    );
                }),
            }
        })
        .sync(ErrorKind::NotTheApi, UNREADABLE),
    ]
}

fn replace_members(email: &mut Value, value: &Value) {
    let members = email.as_object_mut().unwrap().iter_mut();
    let others = members.filter(|(name, _)| *name != "id");
    others.for_each(|(_, member)| member.clone_from(value));
}

pub fn pages() -> Vec<Row> {
    use ErrorKind::NotTheApi;
    fn listed(request: &Request, change: impl FnOnce(&mut Value)) -> Answer {
        if request.is_list() {
            request.changed(change)
        } else {
            Answer::Honest
        }
    }
    fn empty(request: &Request, has_more: bool) -> Answer {
        listed(request, |page| {
            (page["data"], page["has_more"]) = (json!([]), has_more.into());
        })
    }
    fn later(request: &Request, answer: Answer) -> Answer {
        (request.after.as_ref()).map_or(Answer::Honest, |_| answer)
    }
    vec![
        row("empty pages that have more", |request, _| {
            empty(request, true)
        })
        .listing(NotTheApi, CIRCLES)
        .sync(NotTheApi, CIRCLES),
        row("an empty page in the middle", |request, _| {
            later(request, empty(request, true))
        })
        .sync(NotTheApi, CIRCLES),
        row("says that there is more for ever", |request, _| {
            listed(request, |page| page["has_more"] = true.into())
        })
        .sync(NotTheApi, CIRCLES),
        row("never says that there is more", |request, _| {
            listed(request, |page| page["has_more"] = false.into())
        }),
        row("does not say whether there is more", |request, _| {
            listed(request, |page| {
                drop(page.as_object_mut().unwrap().remove("has_more"));
            })
        }),
        row("says so in quotes", |request, _| {
            listed(request, |page| {
                page["has_more"] = page["has_more"].to_string().into();
            })
        }),
        row("each email twice", |request, _| {
            listed(request, |page| {
                page["data"] = page["data"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .flat_map(|email| [email, email])
                    .cloned()
                    .collect();
            })
        }),
        row("everything at once, whatever is request", |request, _| {
            let all = || truth().iter().map(|(_, email)| email.clone()).collect();
            listed(request, |page| {
                (page["data"], page["has_more"]) = (all(), false.into());
            })
        }),
        row("at most three a page", |request, _| {
            listed(request, |page| {
                let data = page["data"].as_array_mut().unwrap();
                if data.len() > 3 {
                    data.truncate(3);
                    page["has_more"] = true.into();
                }
            })
        })
        .most(16),
        row("no cursor is known", |request, _| {
            let message = "The pagination cursor is malformed";
            later(request, refused("422 No", "validation_error", message))
        })
        .sync(NotTheApi, "no longer knows where to go on")
        .most(12),
        row("cursors lead nowhere", |request, _| {
            later(request, empty(request, false))
        })
        .most(8)
        .garbles(),
    ]
}

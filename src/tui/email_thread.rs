//! `EmailThread`: loads emails and lays them out, one after the other.
//! `RenderCache`: the bodies laid out last.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, mpsc};
use std::thread;

use tokio::sync::oneshot;

use crate::mail::Email;
use crate::render::{Body, BodyView, EmailViews, LayoutOptions};
use crate::tasks;

/// The most bodies in the cache: a screenful of neighbours in one view.
const MAX_BODIES: usize = 24;
/// The most bytes in the cache.
/// An ordinary email has fifty thousand, a hostile one many million: it is laid out each time.
const MAX_CACHE_BYTES: usize = 8 << 20;

/// One thread that loads emails and lays them out. It ends with its handles.
///
/// The C library's allocator keeps some of the memory that a thread has freed, up to 20 megabytes
/// after an email of five. It does so for each thread that has had one, so all of them are on the
/// same thread.
#[derive(Clone)]
pub(super) struct EmailThread {
    jobs: mpsc::Sender<EmailJob>,
}

/// Work for the thread. It does not panic.
type EmailJob = Box<dyn FnOnce(&mut RenderCache) + Send>;

impl EmailThread {
    pub(super) fn start() -> Self {
        let (jobs, queue) = mpsc::channel::<EmailJob>();
        thread::spawn(move || {
            let mut cache = RenderCache::default();
            for job in queue {
                job(&mut cache);
            }
        });
        Self { jobs }
    }

    /// Runs `work` after what was given before;
    /// a panic in it is one of the task that waits for the result.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut RenderCache) -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send + 'static {
        let (done, result) = oneshot::channel();
        // The thread ends after its last handle, and the waiting task may end before.
        let _ = self.jobs.send(Box::new(move |cache| {
            let _ = done.send(catch_unwind(AssertUnwindSafe(|| work(cache))));
        }));
        async {
            let result = tasks::wait_for_result(result).await;
            result.unwrap_or_else(|panic| resume_unwind(panic))
        }
    }
}

/// The most recently used laid-out bodies, newest first,
/// and the parsed views of the latest email: another width or view of it costs the layout alone.
#[derive(Debug, Default)]
pub struct RenderCache {
    bodies: VecDeque<CachedBody>,
    /// With the JSON of the email.
    views: Option<(Arc<str>, EmailViews)>,
    /// Since the first large email.
    large: Option<LayoutThread>,
}

#[derive(Debug)]
struct CachedBody {
    key: CacheKey,
    body: Arc<Body>,
    bytes: usize,
}

/// The inputs of a body's layout. The JSON identifies the content:
/// an email that is fetched again has a new one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CacheKey {
    json: Arc<str>,
    view: BodyView,
    options: LayoutOptions,
}

impl RenderCache {
    /// Returns the body, rendered now if it is not cached. Blocks.
    pub fn get_or_render(
        &mut self,
        email: &Email,
        view: BodyView,
        options: LayoutOptions,
    ) -> Arc<Body> {
        let key = CacheKey {
            json: email.json.clone(),
            view,
            options,
        };
        if let Some(body) = self.get(&key) {
            return body;
        }
        let views = self.views.take().filter(|(json, _)| *json == email.json);
        let mut views = views.map(|(_, views)| views).unwrap_or_default();
        let body;
        if EmailViews::is_large(email) {
            let email = email.clone();
            let large = self.large.get_or_insert_with(LayoutThread::start);
            (body, views) = large.run(move || {
                let body = views.lay_out(&email, view, options);
                (body, views)
            });
        } else {
            body = views.lay_out(email, view, options);
        }
        let body = Arc::new(body);
        self.views = Some((email.json.clone(), views));
        self.insert(key, body.clone());
        body
    }

    fn get(&mut self, key: &CacheKey) -> Option<Arc<Body>> {
        let at = self.bodies.iter().position(|cached| cached.key == *key)?;
        let entry = self.bodies.remove(at)?;
        let body = entry.body.clone();
        self.bodies.push_front(entry);
        Some(body)
    }

    fn insert(&mut self, key: CacheKey, body: Arc<Body>) {
        let bytes = key.json.len() + body.byte_size();
        if bytes > MAX_CACHE_BYTES {
            return;
        }
        self.bodies.push_front(CachedBody { key, body, bytes });
        self.bodies.truncate(MAX_BODIES);
        while self.bodies.iter().map(|cached| cached.bytes).sum::<usize>() > MAX_CACHE_BYTES {
            self.bodies.pop_back();
        }
    }
}

/// A thread that lays out large emails and frees all memory of that itself.
///
/// The C library's allocator returns what a thread has freed, but not what lies below memory that is
/// still used, and up to 60 megabytes stay for each thread that has had so much: one for all
/// layouts, and not a new one for each, which may get the memory of any thread that has ended.
#[derive(Debug)]
struct LayoutThread {
    jobs: mpsc::Sender<LayoutJob>,
}

struct LayoutJob {
    lay_out: Box<dyn FnOnce() -> (Body, EmailViews) + Send>,
    /// Gets the body, or the panic of the layout.
    done: mpsc::Sender<thread::Result<(Arc<Body>, EmailViews)>>,
    /// Ends when the body is copied.
    copied: mpsc::Receiver<()>,
}

impl LayoutThread {
    fn start() -> Self {
        EmailViews::build_tables();
        let (jobs, queue) = mpsc::channel::<LayoutJob>();
        thread::spawn(move || {
            for job in queue {
                let laid_out = catch_unwind(AssertUnwindSafe(job.lay_out));
                let laid_out = laid_out.map(|(body, views)| (Arc::new(body), views));
                // Freed by the thread that allocated it.
                let _body = laid_out.as_ref().ok().map(|(body, _)| body.clone());
                let _ = job.done.send(laid_out);
                let _ = job.copied.recv();
            }
        });
        Self { jobs }
    }

    fn run(
        &self,
        lay_out: impl FnOnce() -> (Body, EmailViews) + Send + 'static,
    ) -> (Body, EmailViews) {
        let (done, results) = mpsc::channel();
        let (_copying, copied) = mpsc::channel();
        let lay_out = Box::new(lay_out);
        let job = LayoutJob {
            lay_out,
            done,
            copied,
        };
        let sent = self.jobs.send(job);
        sent.expect("the thread ends with its sender");
        match results.recv().expect("a job has a result") {
            Ok((body, views)) => {
                let mut copy = Body::clone(&body);
                for link in &mut copy.links {
                    // A clone shares it.
                    link.target = (*link.target).into();
                }
                (copy, views)
            }
            Err(panic) => resume_unwind(panic),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;

    use super::*;
    use crate::api::wire;
    use crate::mail::Summary;

    fn email(html: &str, json: &str) -> Email {
        Email {
            summary: Summary::from(&wire::Summary::default()),
            html: Some(html.into()),
            text: Some("Your code is 482913.".into()),
            tags: Vec::new(),
            json: json.into(),
        }
    }

    #[test]
    fn large_email_is_laid_out_as_any_other() {
        let html = "<p style='color: red'>Hello <a href='https://shop.example/a'>shop</a> 1 < 2"
            .repeat(200);
        let small = email(&html, "{}");
        let large = email(&html, &format!("\"{}\"", "x".repeat(1 << 20)));
        assert!(EmailViews::is_large(&large) && !EmailViews::is_large(&small));
        let mut cache = RenderCache::default();
        for masked in [true, false] {
            for width in [40, 100, 40] {
                for view in [BodyView::Rendered, BodyView::Text, BodyView::Source] {
                    let options = LayoutOptions::from(width).masked(masked);
                    let mut laid_out = |email| cache.get_or_render(email, view, options);
                    assert_eq!(laid_out(&large), laid_out(&small), "{view:?} {width}");
                }
            }
        }
        let source = cache.get_or_render(
            &large,
            BodyView::Source,
            LayoutOptions::from(40).masked(true),
        );
        assert!(source.has_secrets, "the text part has a code");
    }

    #[tokio::test]
    async fn panic_reaches_waiting_task_and_thread_continues() {
        let thread = EmailThread::start();
        let mut tasks = JoinSet::new();
        tasks.spawn(thread.run(|_| panic!("no layout")));
        let panic = tasks.join_next().await.unwrap().unwrap_err().into_panic();
        assert_eq!(panic.downcast_ref(), Some(&"no layout"));
        assert_eq!(thread.run(|_| 1).await, 1);
    }
}

//! exploring
#![allow(unsafe_code)]
mod line;
use gpufeed::transforms::*;
use gpufeed::*;
use line::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

static ON: AtomicBool = AtomicBool::new(false);
static FOUND: Mutex<BTreeMap<String, (usize, usize, usize)>> = Mutex::new(BTreeMap::new());
thread_local! { static INSIDE: Cell<bool> = const { Cell::new(false) }; }
struct Counting;
fn note(size: usize) {
    if size < 16384 || !ON.load(Ordering::Relaxed) || INSIDE.get() {
        return;
    }
    INSIDE.set(true);
    let trace = std::backtrace::Backtrace::force_capture().to_string();
    let mut frames = Vec::new();
    for l in trace.lines() {
        let l = l.trim();
        if let Some((_, f)) = l.split_once(": ") {
            if l.as_bytes()[0].is_ascii_digit()
                && !f.contains("steady_state")
                && !f.contains("alloc::")
                && !f.contains("backtrace")
                && !f.contains("__rust")
            {
                frames.push(f.to_owned());
                if frames.len() == 7 {
                    break;
                }
            }
        }
    }
    let mut m = FOUND.lock().unwrap();
    let e = m.entry(frames.join(" < ")).or_insert((0, usize::MAX, 0));
    e.0 += 1;
    e.1 = e.1.min(size);
    e.2 = e.2.max(size);
    INSIDE.set(false);
}
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, l: Layout) -> *mut u8 {
        note(l.size());
        unsafe { System.alloc(l) }
    }
    unsafe fn alloc_zeroed(&self, l: Layout) -> *mut u8 {
        note(l.size());
        unsafe { System.alloc_zeroed(l) }
    }
    unsafe fn dealloc(&self, p: *mut u8, l: Layout) {
        unsafe { System.dealloc(p, l) }
    }
    unsafe fn realloc(&self, p: *mut u8, l: Layout, n: usize) -> *mut u8 {
        note(n);
        unsafe { System.realloc(p, l, n) }
    }
}
#[global_allocator]
static A: Counting = Counting;

#[test]
fn explore() {
    let pixels = |f: PixelFormat, bpp: usize| {
        let mut d = InMemory::new();
        for i in 0..64u32 {
            let (w, h) = (200 + i % 7, 150 + i % 5);
            d.push_pixels(w, h, f, vec![i as u8; (w * h) as usize * bpp], Label::Class(i)).unwrap();
        }
        d
    };
    let files = |fmt: image::ImageFormat| {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("a")).unwrap();
        for i in 0..64u32 {
            std::fs::write(
                root.path().join(format!("a/{i:03}.jpg")),
                encoded(picture(i, 300 + i % 7, 250 + i % 5), fmt),
            )
            .unwrap();
        }
        let d = ImageFolder::open(root.path()).unwrap();
        (root, d)
    };
    let (r1, jpeg) = files(image::ImageFormat::Jpeg);
    let (r2, png) = files(image::ImageFormat::Png);
    let data: Vec<(&str, std::sync::Arc<dyn Dataset>)> = vec![
        ("rgb8", std::sync::Arc::new(pixels(PixelFormat::Rgb8, 3))),
        ("f32", std::sync::Arc::new(pixels(PixelFormat::F32 { channels: 3 }, 12))),
        ("jpeg", std::sync::Arc::new(jpeg)),
        ("png", std::sync::Arc::new(png)),
    ];
    for place in places() {
        for (name, d) in &data {
            let l = place.build(
                DataLoader::builder(d.clone())
                    .transform(RandomResizedCrop::new(64))
                    .transform(ColorJitter::new(0.4, 0.4, 0.4, 0.1))
                    .transform(Normalize::IMAGENET)
                    .batch_size(8)
                    .workers(2)
                    .slot_bytes(16 << 20)
                    .shuffle(true),
            );
            for e in 0..3 {
                l.epoch(e).unwrap().for_each(|b| drop(b.unwrap()));
            }
            let made = if let Backend::Gpu(g) = &place.backend { g.buffers_made() } else { 0 };
            ON.store(true, Ordering::Relaxed);
            for e in 3..6 {
                l.epoch(e).unwrap().for_each(|b| drop(b.unwrap()));
            }
            ON.store(false, Ordering::Relaxed);
            let made2 = if let Backend::Gpu(g) = &place.backend { g.buffers_made() } else { 0 };
            println!("== {} {name}: buffers {made} {made2}", place.name);
            for (k, v) in std::mem::take(&mut *FOUND.lock().unwrap()) {
                println!("   {v:?} {k}");
            }
        }
    }
    drop((r1, r2));
}

//! A panic inside a decoder becomes an error and is not printed; a program's own panics go through its own hook. This file
//! is a program of its own, because the hook is the process's.

use std::panic::{catch_unwind, set_hook, take_hook};
use std::sync::Mutex;

use gpufeed::decode::{DecodeOptions, probe};
use gpufeed::internals::caught;
use gpufeed_testing::encoded::{all_of, encode, picture};

/// The panics that the program's hook has seen.
static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn note(panic: &std::panic::PanicHookInfo<'_>) {
    let text = panic.payload().downcast_ref::<&str>().map(|text| text.to_string());
    SEEN.lock().unwrap().push(text.unwrap_or_default());
}

fn seen() -> Vec<String> {
    std::mem::take(&mut SEEN.lock().unwrap())
}

/// An animated WebP whose first frame says that it has 2x2 pixels, and holds a lossy image of 10x4 with alpha. image-webp 0.2
/// panics at it.
const PANICKING: &[u8] = include_bytes!("data/larger-frame.webp");

struct DecodesInDrop;

impl Drop for DecodesInDrop {
    fn drop(&mut self) {
        // Runs while a decoder's panic unwinds.
        assert_eq!(caught(|| 3), Ok(3));
    }
}

/// One test, because the parts follow each other in the life of a process.
#[test]
fn a_decoder_that_panics_is_silent_and_the_program_is_not() {
    set_hook(Box::new(note));
    // Before any decoder has run, between them, and on other threads, a program sees its panics.
    let own = |text: &'static str| assert!(catch_unwind(|| std::panic::panic_any(text)).is_err());
    own("before");
    assert_eq!(seen(), ["before"]);
    probe(&encode(picture(4, 4), image::ImageFormat::Png), &DecodeOptions::default()).unwrap();
    own("after a decoder has run");
    assert_eq!(seen(), ["after a decoder has run"]);

    // The panic's text is the error. Nothing else shows it.
    let panics = |text: &'static str| caught(|| -> () { std::panic::panic_any(text) });
    assert_eq!(panics("index out of bounds"), Err("index out of bounds".to_owned()));
    let number = 7;
    assert_eq!(caught(|| -> () { panic!("number {number}") }), Err("number 7".to_owned()));
    assert_eq!(seen(), [""; 0]);

    // A file that makes a decoder panic. Where a newer decoder refuses it, another such file is needed here.
    let error = all_of(PANICKING, &DecodeOptions::default()).unwrap_err().to_string();
    assert!(error.contains("the decoder panicked: ") && error.contains("out of range"), "{error}");
    assert_eq!(seen(), [""; 0]);

    // A decoder inside a decoder, and one that runs while another's panic unwinds.
    let nested = caught(|| {
        assert_eq!(panics("inner"), Err("inner".to_owned()));
        let _unwinds = DecodesInDrop;
        panic!("outer")
    });
    assert_eq!(nested, Err::<(), _>("outer".to_owned()));
    assert_eq!(seen(), [""; 0]);
    own("after these");
    assert_eq!(seen(), ["after these"]);

    // Of two threads at the same time, the one inside a decoder is silent.
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                for _ in 0..50 {
                    match thread % 2 {
                        0 => assert!(panics("decoder").is_err()),
                        _ => assert!(catch_unwind(|| std::panic::panic_any("program")).is_err()),
                    }
                }
            });
        }
    });
    let seen_by_hook = seen();
    assert_eq!((seen_by_hook.len(), seen_by_hook.iter().all(|text| text == "program")), (200, true));
    // A thread that a decoder starts is not inside it: none of them starts one.
    let other = caught(|| std::thread::spawn(|| std::panic::panic_any("another thread")).join().is_err());
    assert_eq!((other, seen()), (Ok(true), vec!["another thread".to_owned()]));

    // A hook that is set later and calls the one before it sees decoders' panics: it is asked first.
    let before = take_hook();
    set_hook(Box::new(move |panic| before(panic)));
    assert!(panics("decoder").is_err());
    assert_eq!(seen(), [""; 0]);
    own("program");
    assert_eq!(seen(), ["program"]);

    // One that does not, takes the place of ours, as the documentation says.
    set_hook(Box::new(note));
    assert!(panics("decoder").is_err());
    own("program");
    assert_eq!(seen(), ["decoder", "program"]);
    drop(take_hook());
}

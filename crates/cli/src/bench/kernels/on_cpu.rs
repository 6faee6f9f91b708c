//! Times the CPU executor on one thread against memcpy.

use super::case::{Case, rows};
use super::plans::{Plans, make_params, one_work, reduction};
use super::turns::{Work, take_turns};
use crate::bench::setup::samples::Samples;
use crate::results::Kernels;
use gpufeed::Plan;
use gpufeed::internals::{Native, TAP_OPERATIONS};
use gpufeed::transforms::Params;
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Images of a row: a thread's caches hold one at a time anyway.
const IMAGES: u64 = 16;
/// Bytes of the copy: more than the processor's caches.
const MEMCPY: usize = 64 << 20;

/// Measures the fixed plans and the recipe, image after image on one thread.
pub(crate) fn measure((recipe, samples): (&Plan, &Samples), time: Duration) -> Result<Kernels, Box<dyn Error>> {
    let (from, mut to) = (vec![1u8; MEMCPY], vec![0u8; MEMCPY]);
    let mut cases = vec![Case {
        name: "copy (memcpy)".to_owned(),
        images: 0,
        bytes: 2 * MEMCPY as u64,
        works: one_work(2 * MEMCPY as u64, 0.0),
    }];
    let copy: Work<'_> = Box::new(|times| {
        let start = Instant::now();
        (0..times).for_each(|_| black_box(&mut to[..]).copy_from_slice(black_box(&from)));
        Ok(start.elapsed())
    });
    let mut works = vec![copy];
    let Plans { train, half, contrast } = Plans::compile()?;
    let fixed =
        [("resized crop, f32", &train, true), ("resized crop, f16", &half, false), ("contrast, f32", &contrast, false)];
    let mut add = |name: &str, plan: &Plan, params: &[Params], pixel: usize, counted: bool| -> gpufeed::Result<()> {
        let mut native = Native::new(plan, params, pixel)?;
        let counted = if counted { one_work(native.bytes(), flops(plan, params)?) } else { Vec::new() };
        let (name, images) = (name.to_owned(), params.len() as u64);
        cases.push(Case { name, images, bytes: native.bytes(), works: counted });
        works.push(Box::new(move |times| {
            let start = Instant::now();
            for _ in 0..times {
                black_box(native.run()?);
            }
            Ok(start.elapsed())
        }));
        Ok(())
    };
    for (name, plan, counted) in fixed {
        add(name, plan, &make_params(plan, IMAGES)?, 4, counted)?;
    }
    let params = &samples.params[..samples.params.len().min(IMAGES as usize)];
    add("the recipe", recipe, params, samples.pixel, false)?;
    let seconds = take_turns(&mut works, time)?;
    drop(works);
    Ok(Kernels { clock: "wall".to_owned(), rows: rows(cases, &seconds, None), roofline: None })
}

/// Counts the operations of a resized crop with Normalize: vertical taps at every source column, then horizontal ones,
/// then Normalize.
fn flops(plan: &Plan, params: &[Params]) -> gpufeed::Result<f64> {
    let [columns, rows] = reduction(plan, params)?;
    let (width, height) = plan.output_size().unwrap_or((1, 1));
    let outputs = params.len() as f64 * f64::from(width) * f64::from(height);
    Ok(outputs * (columns * 2.0 * rows * TAP_OPERATIONS + 2.0 * columns * TAP_OPERATIONS + TAP_OPERATIONS))
}

use super::*;
use crate::plan::{Output, Plan};
use crate::transforms::*;

const SOURCE: (u32, u32) = (64, 48);

/// A split whose prefix is `resize`, and the parameters of two views.
fn split(
    resize: Interpolation,
    executor: Executor,
    cache: Option<CacheMemory>,
    in_bytes: bool,
) -> (CacheSplit, Vec<Params>) {
    let list = [Resize::new(40).interpolation(resize).into(), RandomCrop::new(20).into()];
    of_list(&list, executor, cache, in_bytes)
}

fn of_list(
    list: &[Transform],
    executor: Executor,
    cache: Option<CacheMemory>,
    in_bytes: bool,
) -> (CacheSplit, Vec<Params>) {
    let plan = Plan::compile(list, &Output::default()).unwrap();
    let params =
        (0..2).map(|view| plan.make_params(SOURCE.0, SOURCE.1, &Key { view, seed: 3, ..Key::default() }).unwrap());
    let params = params.collect();
    (CacheSplit::new(plan, executor, cache, in_bytes), params)
}

fn rect(width: u32, height: u32) -> Rect {
    Rect { left: 0, top: 0, width, height }
}

const BYTES: Origin = Origin::Source { float: false };
const INSERT: Origin = Origin::Insert { float: false };

#[test]
fn without_a_cache_a_sample_reads_what_its_views_show() {
    for executor in [Executor::Cpu, Executor::Gpu] {
        let (split, params) = split(Interpolation::Bilinear, executor, None, false);
        let route = split.route(&params, BYTES).unwrap();
        assert!(route.on_worker.is_none() && route.to_cache.is_none());
        let regions: Vec<_> = params.iter().map(|params| split.plan().source_region(params).unwrap()).collect();
        assert_eq!(route.views.iter().map(|view| view.region).collect::<Vec<_>>(), regions);
        assert_eq!(route.read, read_by(&route.views));
        assert!(route.read.width < 64 && regions[0] != regions[1]);
        // Nothing is inserted without a cache.
        let insert = split.route(&params, INSERT).unwrap();
        assert!(insert.to_cache.is_none() && insert.read == route.read);
    }
}

#[test]
fn a_sample_that_is_not_inserted_takes_the_way_without_a_cache() {
    for interpolation in [Interpolation::Bilinear, Interpolation::Nearest] {
        for (executor, cache) in [
            (Executor::Cpu, CacheMemory::Host),
            (Executor::Gpu, CacheMemory::Host),
            (Executor::Gpu, CacheMemory::Device),
        ] {
            let (plain, params) = split(interpolation, executor, None, false);
            let (cached, _) = split(interpolation, executor, Some(cache), false);
            let (plain, cached) = (plain.route(&params, BYTES).unwrap(), cached.route(&params, BYTES).unwrap());
            assert_eq!((plain.read, plain.views.len()), (cached.read, cached.views.len()));
            for (plain, cached) in plain.views.iter().zip(&cached.views) {
                assert_eq!((plain.region, plain.cpu_fallback), (cached.region, cached.cpu_fallback));
            }
        }
    }
}

#[test]
fn the_cpu_executor_goes_on_from_the_floats_that_it_inserts() {
    let (split, params) = split(Interpolation::Bilinear, Executor::Cpu, Some(CacheMemory::Host), false);
    let route = split.route(&params, INSERT).unwrap();
    let (prefix, insertion) = (route.on_worker.as_ref().unwrap(), route.to_cache.as_ref().unwrap());
    assert_eq!((prefix.result(), prefix.float, route.read), (rect(53, 40), true, rect(64, 48)));
    assert_eq!(insertion.cached, CachedPixels { region: rect(53, 40), float: true, from_floats: false });
    assert!(insertion.prefix.is_none() && route.views.iter().all(|view| view.program.stages.len() == 1));
    let again = split.route(&params, Origin::Cache(insertion.cached)).unwrap();
    assert!(again.on_worker.is_none() && again.to_cache.is_none());
    for (first, later) in route.views.iter().zip(&again.views) {
        assert_eq!((&first.program, first.region), (&later.program, later.region));
    }
}

#[test]
fn the_gpu_copies_its_own_intermediate() {
    let (split, params) = split(Interpolation::Bilinear, Executor::Gpu, Some(CacheMemory::Device), false);
    let (plan, cached_stage) = split.plan_for_kernels();
    assert_eq!((plan.stages().len(), cached_stage), (2, 1));
    let route = split.route(&params, INSERT).unwrap();
    assert!(route.on_worker.is_none(), "shaders run the prefix");
    let cached = route.to_cache.as_ref().unwrap().cached;
    assert_eq!(cached, CachedPixels { region: rect(53, 40), float: true, from_floats: false });
    assert!(route.views.iter().all(|view| view.region == route.read && view.program.stages.len() == 2));
    // A streamed sample runs on the same kernels, and computes only the visible part of the prefix.
    let streamed = split.route(&params, BYTES).unwrap();
    assert!(streamed.views.iter().all(|view| view.program.stages.len() == 2 && view.region.width < 64));
    assert!(streamed.views.iter().all(|view| view.program.stages[0].sampling.size() == (20, 20)));
}

#[test]
fn exact_bytes_are_made_for_the_cache_alone_on_the_host_and_for_all_on_the_gpu() {
    let (host, params) = split(Interpolation::Nearest, Executor::Cpu, Some(CacheMemory::Host), false);
    let route = host.route(&params, INSERT).unwrap();
    let insertion = route.to_cache.as_ref().unwrap();
    assert!(route.on_worker.is_none() && !insertion.prefix.as_ref().unwrap().float);
    assert_eq!(route.views[0].region, host.plan().source_region(&params[0]).unwrap(), "views begin at the source");
    let (device, _) = split(Interpolation::Nearest, Executor::Gpu, Some(CacheMemory::Device), false);
    let route = device.route(&params, INSERT).unwrap();
    assert!(route.to_cache.as_ref().unwrap().prefix.is_none());
    assert_eq!(route.views_begin(), (rect(53, 40), false));
    // Float pixels are stored as floats.
    let floats = host.route(&params, Origin::Insert { float: true }).unwrap().to_cache.unwrap();
    assert!(floats.cached.float && floats.cached.from_floats && floats.prefix.unwrap().float);
}

#[test]
fn rounded_bytes_are_made_for_every_sample() {
    for (executor, cache) in [(Executor::Cpu, CacheMemory::Host), (Executor::Gpu, CacheMemory::Device)] {
        let (split, params) = split(Interpolation::Bilinear, executor, Some(cache), true);
        for origin in [BYTES, INSERT] {
            let route = split.route(&params, origin).unwrap();
            let prefix = route.on_worker.as_ref().unwrap();
            assert_eq!((prefix.result(), prefix.float), (rect(53, 40), false));
            assert!(route.views.iter().all(|view| view.program.stages.len() == 1));
            assert_eq!(route.to_cache.is_some(), matches!(origin, Origin::Insert { .. }));
        }
        let cached = CachedPixels { region: rect(53, 40), float: false, from_floats: false };
        assert!(split.route(&params, Origin::Cache(cached)).unwrap().on_worker.is_none());
    }
}

#[test]
fn the_source_is_stored_as_far_as_any_epoch_shows_it() {
    let list = [CenterCrop::new(40).into(), RandomCrop::new(20).into()];
    for (executor, cache) in
        [(Executor::Cpu, CacheMemory::Host), (Executor::Gpu, CacheMemory::Host), (Executor::Gpu, CacheMemory::Device)]
    {
        let (split, params) = of_list(&list, executor, Some(cache), false);
        let route = split.route(&params, INSERT).unwrap();
        assert_eq!(route.read, Rect { left: 12, top: 4, width: 40, height: 40 });
        assert_eq!(route.to_cache.as_ref().unwrap().cached.region, route.read);
        // On the GPU all views share one copy.
        let shared = route.views.iter().all(|view| view.region == route.read);
        assert_eq!(shared, cache == CacheMemory::Device);
    }
}

#[test]
fn an_image_for_the_cpu_is_neither_run_nor_cached_on_the_gpu() {
    let list =
        [Resize::new((8, 8)).antialias(true).interpolation(Interpolation::Bicubic).into(), RandomCrop::new(4).into()];
    let plan = Plan::compile(&list, &Output::default()).unwrap();
    let params = [plan.make_params(2000, 2000, &Key::default()).unwrap()];
    for (executor, cache, falls_back) in
        [(Executor::Cpu, None, false), (Executor::Gpu, None, true), (Executor::Gpu, Some(CacheMemory::Device), true)]
    {
        let split = CacheSplit::new(plan.clone(), executor, cache, false);
        for origin in [BYTES, INSERT] {
            let route = split.route(&params, origin).unwrap();
            assert_eq!((route.views[0].cpu_fallback, route.to_cache.is_some()), (falls_back, false));
        }
        // The program is undivided, whatever the stages of the kernels.
        assert_eq!(split.route(&params, BYTES).unwrap().views[0].program.stages.len(), 1);
    }
}

#[test]
fn the_cpu_executor_reads_pixels_in_place() {
    for executor in [Executor::Cpu, Executor::Gpu] {
        for cache in [None, Some(CacheMemory::Host)] {
            let (split, params) = split(Interpolation::Bilinear, executor, cache, true);
            let (streamed, in_place) =
                (split.route(&params, BYTES).unwrap(), split.route(&params, Origin::InPlace).unwrap());
            let programs = |route: &Route| route.views.iter().map(|view| view.program.clone()).collect::<Vec<_>>();
            assert_eq!(programs(&in_place), programs(&streamed));
            let whole = rect(params[0].width, params[0].height);
            if executor == Executor::Cpu && cache.is_none() {
                assert_ne!(streamed.read, whole, "a crop reads a part");
                assert_eq!(in_place.read, whole);
                assert!(in_place.views.iter().all(|view| view.region == whole));
            } else {
                assert_eq!(in_place.read, streamed.read);
            }
        }
    }
}

//! The route of one sample: what is read, what runs where, and what the cache stores.
//!
//! Only [`CacheSplit::route`] decides this. Feeder, workers, replay and GPU follow its answer. The stage at which the
//! GPU's kernels begin for cached samples is a fact of the plan: [`CacheSplit::plan_for_kernels`].

use super::Plan;
use super::cpu_fallback::{REGION_BYTES, needs_cpu, pixel_bytes};
use super::program::Program;
use super::split::{Boundary, CacheMemory, CacheSplit, Executor, Stored};
use crate::error::Result;
use crate::geometry::{Rect, Scale, Scaled};
use crate::transforms::Params;

/// The origin of a sample's pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// The data set, with float pixels or with bytes. The sample is not cached.
    Source { float: bool },
    /// The data set, in whose memory the CPU executor reads the pixels of the whole image. The sample is not cached.
    InPlace,
    /// The data set. The sample is inserted in the cache if possible.
    Insert { float: bool },
    /// The pixels come from the cache.
    Cache(CachedPixels),
}

/// The cached pixels of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CachedPixels {
    /// The region of the source that is cached, or all of the prefix's result.
    pub(crate) region: Rect,
    /// True if the cache stores four f32 per pixel; false for bytes.
    pub(crate) float: bool,
    /// True if the pixels of the source are floats.
    pub(crate) from_floats: bool,
}

/// The route of a sample: the pixels that are read, the work of each executor, and the pixels that the cache gets.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// The region to decode or read, in pixels of the origin.
    pub(crate) read: Rect,
    /// True if the origin's pixels are floats.
    pub(crate) float: bool,
    /// The program that the worker runs first; the views begin at its result.
    pub(crate) on_worker: Option<Prefix>,
    pub(crate) to_cache: Option<Insertion>,
    pub(crate) views: Vec<View>,
}

/// A program that a worker runs, and the type of its result.
#[derive(Clone, Debug)]
pub(crate) struct Prefix {
    pub(crate) program: Program,
    /// Whether the result is stored as four f32 per pixel; otherwise as RGBA8, each value rounded to the nearest byte.
    pub(crate) float: bool,
}

/// The insertion of a sample in the cache.
#[derive(Clone, Debug)]
pub(crate) struct Insertion {
    pub(crate) cached: CachedPixels,
    /// Makes the pixels to store from the decoded ones, for the cache alone. Without it the cache stores the pixels at
    /// which the views begin, or on the GPU the intermediate at the plan's boundary.
    pub(crate) prefix: Option<Prefix>,
}

/// One output image.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// The program for the executor; for the CPU executor if `cpu_fallback` is set.
    pub(crate) program: Program,
    /// The pixels that the program reads, in the coordinates of `Route::read` or of the worker's result.
    pub(crate) region: Rect,
    /// True if the CPU executor runs the program although the GPU is the executor.
    pub(crate) cpu_fallback: bool,
}

impl Prefix {
    /// The rectangle of the whole result.
    pub(crate) fn result(&self) -> Rect {
        whole(&self.program)
    }
}

impl Route {
    /// The pixels at which the views begin: their region, and true if they are floats.
    pub(crate) fn views_begin(&self) -> (Rect, bool) {
        self.on_worker.as_ref().map_or((self.read, self.float), |prefix| (prefix.result(), prefix.float))
    }

    /// Bytes of the pixels that are decoded.
    pub(crate) fn decoded_bytes(&self) -> u64 {
        pixel_bytes(self.read, self.float)
    }

    /// The smallest scale at which the image may be decoded without being enlarged afterwards.
    pub(crate) fn scale(&self) -> Scale {
        self.views.iter().map(|view| view.program.scale()).min().unwrap_or_default()
    }

    /// The route of the same image, decoded at a scale. The parameters stay those of the full size. `crops` has
    /// the number of each view's.
    pub(crate) fn scaled_down(mut self, to: &Scaled, crops: impl IntoIterator<Item = usize>) -> Route {
        for view in &mut self.views {
            let stages = std::mem::take(&mut view.program.stages);
            view.program = Program { stages }.scaled_down(to);
            view.region = view.program.region();
        }
        let mut rest = &mut self.views[..];
        for crops in crops {
            let Some((crops, others)) = rest.split_at_mut_checked(crops) else { break };
            let region = read_by(crops);
            crops.iter_mut().for_each(|crop| crop.region = region);
            rest = others;
        }
        self.read = read_by(&self.views);
        self
    }

    /// The route of two groups of views of a sample, of which this one comes first: what both read is decoded once. `None`
    /// where a worker computes something before the views of one of them, or the cache holds only one's pixels.
    pub(crate) fn joined(mut self, other: Route) -> Option<Route> {
        self.to_cache = match (self.to_cache, other.to_cache) {
            (None, None) => None,
            (Some(Insertion { cached, prefix: None }), Some(Insertion { cached: its, prefix: None })) => {
                let region = around(cached.region, its.region);
                Some(Insertion { cached: CachedPixels { region, ..cached }, prefix: None })
            }
            _ => return None,
        };
        if self.on_worker.is_some() || other.on_worker.is_some() || self.float != other.float {
            return None;
        }
        self.read = around(self.read, other.read);
        self.views.extend(other.views);
        Some(self)
    }
}

impl CacheSplit {
    /// The route of a sample with the parameters of each of its views.
    ///
    /// The route of a sample that is not cached (its executor, its bits, its errors) is the same with and without a
    /// cache.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if the parameters do not belong to the plan.
    pub(crate) fn route(&self, params: &[Params], origin: Origin) -> Result<Route> {
        match origin {
            Origin::Source { float } => self.streamed(params, float),
            Origin::InPlace => self.in_place(params),
            Origin::Cache(cached) => self.cached(params, cached),
            Origin::Insert { float } => {
                let streamed = self.streamed(params, float)?;
                match self.cache {
                    None => Ok(streamed),
                    Some(CacheMemory::Host) => self.inserted_on_host(params, streamed),
                    Some(CacheMemory::Device) => self.inserted_on_device(params, streamed),
                }
            }
        }
    }

    /// Nothing is decoded or copied, so no region is computed.
    fn in_place(&self, params: &[Params]) -> Result<Route> {
        if self.executor() == Executor::Gpu || self.boundary.is_some() {
            return self.streamed(params, false);
        }
        let read = params.first().map_or(NOTHING, |params| Rect {
            left: 0,
            top: 0,
            width: params.width,
            height: params.height,
        });
        let view =
            |params: &Params| Ok(View { program: self.plan().program(params)?, region: read, cpu_fallback: false });
        let views = params.iter().map(view).collect::<Result<Vec<_>>>()?;
        Ok(Route { read, float: false, on_worker: None, to_cache: None, views })
    }

    fn falls_back(&self, program: &Program, region: Rect, float: bool) -> bool {
        self.executor() == Executor::Gpu && needs_cpu(program, pixel_bytes(region, float), float)
    }

    /// A view that reads only the pixels that its program needs, or those that all crops of the view need. The program
    /// begins at `stage` of `plan`.
    fn view(&self, plan: &Plan, stage: usize, params: &Params, program: Program, float: bool) -> Result<View> {
        let region = plan.region_of_crops(params, stage, &program)?;
        let cpu_fallback = self.falls_back(&program, region, float);
        Ok(View { program, region, cpu_fallback })
    }

    /// A view that begins at the boundary.
    fn view_after(&self, boundary: &Boundary, params: &Params, suffix: Program, float: bool) -> Result<View> {
        self.view(&boundary.plan, boundary.stage, params, suffix, float)
    }

    /// A view that runs the whole plan.
    fn whole_view(&self, params: &Params, float: bool) -> Result<View> {
        self.view(self.plan(), 0, params, self.plan().program(params)?, float)
    }

    fn streamed(&self, params: &[Params], float: bool) -> Result<Route> {
        if let Some(boundary) = self.boundary.as_ref().filter(|boundary| boundary.stored == Stored::Rounded) {
            let (program, suffixes) = boundary.programs(params)?;
            let view = |(params, suffix)| self.view_after(boundary, params, suffix, false);
            let views = params.iter().zip(suffixes).map(view).collect::<Result<_>>()?;
            let (read, on_worker) = (program.region(), Some(Prefix { program, float: false }));
            return Ok(Route { read, float, on_worker, to_cache: None, views });
        }
        let view = |params: &Params| {
            let mut view = self.whole_view(params, float)?;
            if let Some(boundary) = self.boundary_on_gpu().filter(|_| !view.cpu_fallback) {
                // The program follows the stages of the kernels.
                view.program = boundary.plan.program(params)?.with_crop_before(boundary.stage);
            }
            Ok(view)
        };
        let views = params.iter().map(view).collect::<Result<Vec<_>>>()?;
        Ok(Route { read: read_by(&views), float, on_worker: None, to_cache: None, views })
    }

    /// The boundary whose f32 intermediate the GPU stores, if the kernels are those of the divided plan.
    fn boundary_on_gpu(&self) -> Option<&Boundary> {
        self.boundary.as_ref().filter(|boundary| self.executor() == Executor::Gpu && boundary.stored == Stored::Floats)
    }

    /// A worker stores the pixels. It decodes all pixels that any epoch can read, which may be more than the views
    /// read.
    fn inserted_on_host(&self, params: &[Params], streamed: Route) -> Result<Route> {
        let (Some(first), float) = (params.first(), streamed.float) else { return Ok(streamed) };
        let Some(boundary) = &self.boundary else {
            let read = self.prefix_region(first)?;
            let cached = CachedPixels { region: read, float, from_floats: float };
            return Ok(Route { read, to_cache: Some(Insertion { cached, prefix: None }), ..streamed });
        };
        match boundary.stored {
            Stored::Rounded => {
                let (region, float) = streamed.views_begin();
                let cached = CachedPixels { region, float, from_floats: false };
                Ok(Route { to_cache: Some(Insertion { cached, prefix: None }), ..streamed })
            }
            Stored::Exact => {
                let (program, _) = boundary.programs(&params[..1])?;
                let (read, region) = (program.region(), whole(&program));
                if self.executor() == Executor::Gpu && pixel_bytes(region, float) > REGION_BYTES {
                    // The cached sample would be too large for a staging slot.
                    return Ok(streamed);
                }
                let cached = CachedPixels { region, float, from_floats: float };
                let prefix = Some(Prefix { program, float });
                Ok(Route { read, to_cache: Some(Insertion { cached, prefix }), ..streamed })
            }
            Stored::Floats => {
                let (program, suffixes) = boundary.programs(params)?;
                let (read, region) = (program.region(), whole(&program));
                let cached = CachedPixels { region, float: true, from_floats: float };
                let view = |(params, suffix)| self.view_after(boundary, params, suffix, true);
                let views = params.iter().zip(suffixes).map(view).collect::<Result<_>>()?;
                let on_worker = Some(Prefix { program, float: true });
                Ok(Route { read, float, on_worker, to_cache: Some(Insertion { cached, prefix: None }), views })
            }
        }
    }

    /// The GPU stores the pixels, which are copied to a staging slot once for all views. An image that the CPU executor
    /// finishes is not inserted.
    fn inserted_on_device(&self, params: &[Params], streamed: Route) -> Result<Route> {
        let float = streamed.float;
        let Some(first) = params.first().filter(|_| !streamed.views.iter().any(|view| view.cpu_fallback)) else {
            return Ok(streamed);
        };
        let (read, on_worker, cached, programs) = match &self.boundary {
            None => {
                let read = self.prefix_region(first)?;
                let programs: Vec<_> = streamed.views.iter().map(|view| view.program.clone()).collect();
                (read, None, CachedPixels { region: read, float, from_floats: float }, programs)
            }
            Some(Boundary { stored: Stored::Rounded, .. }) => {
                let (region, float) = streamed.views_begin();
                let programs: Vec<_> = streamed.views.iter().map(|view| view.program.clone()).collect();
                let cached = CachedPixels { region, float, from_floats: false };
                (streamed.read, streamed.on_worker.clone(), cached, programs)
            }
            Some(boundary @ Boundary { stored: Stored::Exact, .. }) => {
                let (prefix, suffixes) = boundary.programs(params)?;
                let padded = |suffix: Program| suffix.padded_to_stages(&prefix, self.plan().stages().len());
                let programs = suffixes.into_iter().map(padded).collect();
                let cached = CachedPixels { region: whole(&prefix), float, from_floats: float };
                (prefix.region(), Some(Prefix { program: prefix, float }), cached, programs)
            }
            Some(Boundary { stored: Stored::Floats, plan, stage, .. }) => {
                let programs = params.iter().map(|params| plan.program(params)).collect::<Result<Vec<_>>>()?;
                let (width, height) = programs[0].stages[stage - 1].sampling.size();
                let region = Rect { left: 0, top: 0, width, height };
                (programs[0].region(), None, CachedPixels { region, float: true, from_floats: float }, programs)
            }
        };
        let route = Route { read, float, on_worker, to_cache: Some(Insertion { cached, prefix: None }), views: vec![] };
        let (region, float) = route.views_begin();
        if programs.iter().any(|program| needs_cpu(program, pixel_bytes(region, float), float)) {
            return Ok(streamed);
        }
        let view = |program: Program| View { program, region, cpu_fallback: false };
        Ok(Route { views: programs.into_iter().map(view).collect(), ..route })
    }

    fn cached(&self, params: &[Params], cached: CachedPixels) -> Result<Route> {
        let CachedPixels { region, float, from_floats } = cached;
        // The route without a cache chooses the executor, because the two executors differ in the last bits.
        let falls_back = |params: &Params| -> Result<bool> { Ok(self.whole_view(params, from_floats)?.cpu_fallback) };
        let view = |params: &Params| {
            let Some(boundary) = &self.boundary else { return self.whole_view(params, float) };
            if self.boundary_on_gpu().is_some() {
                // The kernels begin at the boundary, and skip the stages before it.
                let program = boundary.plan.program(params)?;
                return Ok(View { program, region, cpu_fallback: falls_back(params)? });
            }
            let (prefix, suffix) = boundary.plan.program(params)?.divided(boundary.stage);
            if boundary.stored != Stored::Exact {
                return self.view_after(boundary, params, suffix, float);
            }
            let program = suffix.padded_to_stages(&prefix, self.plan().stages().len());
            // Crops share the copy of one region in a staging slot.
            let region = if self.plan().crops() > 1 { region } else { program.region() };
            let cpu_fallback = self.executor() == Executor::Gpu && falls_back(params)?;
            Ok(View { program, region, cpu_fallback })
        };
        let mut views = params.iter().map(view).collect::<Result<Vec<_>>>()?;
        if self.cache == Some(CacheMemory::Device) {
            // All views read the same pixels in the slot.
            views.iter_mut().for_each(|view| view.region = region);
        }
        Ok(Route { read: region, float, on_worker: None, to_cache: None, views })
    }
}

/// The rectangle of a program's whole result.
fn whole(program: &Program) -> Rect {
    let (width, height) = program.size();
    Rect { left: 0, top: 0, width, height }
}

/// The least rectangle around two.
pub(crate) fn around(a: Rect, b: Rect) -> Rect {
    let (left, top) = (a.left.min(b.left), a.top.min(b.top));
    let (right, bottom) = ((a.left + a.width).max(b.left + b.width), (a.top + a.height).max(b.top + b.height));
    Rect { left, top, width: right - left, height: bottom - top }
}

/// The smallest rectangle around the pixels that views read.
fn read_by(views: &[View]) -> Rect {
    views.iter().map(|view| view.region).reduce(around).unwrap_or(NOTHING)
}

/// Read for a sample without views.
const NOTHING: Rect = Rect { left: 0, top: 0, width: 1, height: 1 };

#[cfg(test)]
mod tests;

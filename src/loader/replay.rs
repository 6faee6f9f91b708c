//! Replays one sample from its parameters.

use super::DataLoader;
use super::pipeline::Execution;
use super::scratch::Gathered;
use super::worker::{self, Content};
use crate::cpu;
use crate::cpu::prefix::{PrefixBuffers, run_prefix};
use crate::decode::DecoderScratch;
use crate::error::{Error, Result};
use crate::processor;
use crate::transforms::Params;

impl DataLoader {
    /// Applies given parameters to one sample, on this loader's executor. The image has the same bits as in its batch,
    /// also if the file is damaged or truncated: like a worker, it decodes the region that the parameters need.
    ///
    /// Returns the image in the output's layout and type.
    ///
    /// # Errors
    /// Those of reading and decoding the sample; [`ErrorKind::Argument`](crate::ErrorKind::Argument) if the parameters
    /// do not belong to this plan or to this sample's size.
    pub fn replay(&self, index: usize, params: &Params) -> Result<Vec<u8>> {
        let pipeline = &*self.pipeline;
        let mut file = Vec::new();
        let mut content = Content::new(pipeline, &pipeline.dataset.read(index, &mut file)?.data)?;
        processor::check_size(params, content.size())?;
        let mut route = pipeline.split.route(std::slice::from_ref(params), content.origin())?;
        // A worker always runs the prefix at full size.
        if let Content::File { probe, scale, .. } = &mut content
            && route.on_worker.is_none()
        {
            if params.scale > route.scale() {
                let reason = format!("{:?} is smaller than the result of the resize", params.scale);
                return Err(Error::argument("params", reason));
            }
            if !params.scale.is_full() {
                *scale = params.scale;
                route = route.scaled_down(&probe.scaled(params.scale), pipeline.plan().crops());
            }
        }
        let (mut decoder, mut gathered) = (DecoderScratch::default(), Gathered::default());
        let mut pixels = worker::pixels(pipeline, &content, route.read, &mut decoder, &mut gathered)?;
        let (mut buffers, mut scratch) = (PrefixBuffers::default(), cpu::CpuScratch::default());
        if let Some(prefix) = &route.on_worker {
            pixels = run_prefix(pipeline.plan(), prefix, pixels, route.read, &mut buffers, &mut scratch);
        }
        let ((begin, _), view) = (route.views_begin(), &route.views[0]);
        let pixels = pixels.region(begin, view.region);
        let bytes = pipeline.plan().image_bytes(view.program.size());
        match &pipeline.execution {
            Execution::Cpu(_) => {
                let mut image = vec![0; bytes];
                cpu::run(pipeline.plan(), &view.program, pixels, view.region, &mut image, &mut scratch);
                Ok(image)
            }
            Execution::Gpu(gpu) => processor::run_on_gpu(&gpu.kernels, &[(view, pixels)], bytes),
        }
    }
}

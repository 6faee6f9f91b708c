//! The optimiser and its learning rate.

use crate::options::{Optimizer, Options};
use burn::module::ParamGroup;
use burn::optim::decay::WeightDecayConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{AdamWConfig, DynOptimizer, DynState, ModuleOptimizer, SgdConfig, StateSink, StateSource};
use burn::tensor::Device;
use burn::tensor::kind::BridgeTensor;
use std::f64::consts::PI;

/// Makes the optimiser of the options, with PyTorch's default settings where Burn's differ.
pub(crate) fn new(options: &Options, device: &Device) -> ModuleOptimizer {
    match options.optimizer {
        Optimizer::Adam => {
            let adam = AdamWConfig::new().with_epsilon(1e-8).with_weight_decay(options.weight_decay).build();
            placed(adam.clone(), adam.into(), device)
        }
        Optimizer::Sgd => {
            let momentum = MomentumConfig::new().with_momentum(0.9).with_dampening(0.0);
            let decay = WeightDecayConfig::new(options.weight_decay);
            let sgd = SgdConfig::new().with_momentum(Some(momentum)).with_weight_decay(Some(decay)).build();
            placed(sgd.clone(), sgd.into(), device)
        }
    }
}

/// Returns the learning rate of step `step` of `steps`, counted from 0. It depends on nothing but these arguments, so a
/// resumed run has no state of it to restore.
pub fn learning_rate(highest: f64, warmup: f64, step: u64, steps: u64) -> f64 {
    let (step, steps) = (step as f64, steps as f64);
    if step < warmup {
        return highest * (step + 1.0) / warmup.ceil();
    }
    highest * 0.5 * (1.0 + (PI * (step - warmup) / (steps - warmup)).cos())
}

/// Makes an optimiser load its state on the device of the model.
///
/// Burn 0.22 loads the state on its default device and moves it in the first step. The default device is a GPU wherever
/// Burn was built with GPU support, even if the machine has no GPU.
fn placed(optimizer: impl DynOptimizer + 'static, whole: ModuleOptimizer, device: &Device) -> ModuleOptimizer {
    whole.with_group(ParamGroup::all(), Placed { optimizer, device: device.clone() }, None)
}

struct Placed<O> {
    optimizer: O,
    device: Device,
}

impl<O: DynOptimizer> DynOptimizer for Placed<O> {
    fn step_dyn(
        &self,
        rank: usize,
        rate: f64,
        weights: BridgeTensor,
        gradient: BridgeTensor,
        state: Option<DynState>,
    ) -> (BridgeTensor, Option<DynState>) {
        self.optimizer.step_dyn(rank, rate, weights, gradient, state)
    }

    fn to_device_dyn(&self, state: DynState, device: &Device) -> DynState {
        self.optimizer.to_device_dyn(state, device)
    }

    fn state_flatten(&self, prefix: &str, state: &DynState, out: &mut StateSink) {
        self.optimizer.state_flatten(prefix, state, out);
    }

    fn state_unflatten(&self, rank: usize, prefix: &str, from: &mut StateSource, _: &Device) -> Option<DynState> {
        self.optimizer.state_unflatten(rank, prefix, from, &self.device)
    }
}

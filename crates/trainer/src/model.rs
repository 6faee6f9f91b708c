//! The models: a small residual network, and two linear models, which must fail on a good data set.

use burn::module::Module;
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::pool::{AdaptiveAvgPool2d, AdaptiveAvgPool2dConfig};
use burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig, PaddingConfig2d};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

/// Which model is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Architecture {
    /// The residual network.
    Cnn,
    /// One linear layer on all pixels: what templates can tell.
    Linear,
    /// One linear layer on the mean colour of the image.
    MeanColour,
}

/// A model of one of the three architectures.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one model, and Burn modules in boxes read badly")]
pub(crate) enum Model {
    Cnn(Cnn),
    Linear(Linear),
    MeanColour(Linear),
}

impl Model {
    /// Makes a model with new random weights, for images of `size` × `size` pixels. The random numbers come from the
    /// device's generator.
    pub(crate) fn new(architecture: Architecture, width: usize, size: usize, classes: usize, device: &Device) -> Model {
        match architecture {
            Architecture::Cnn => Model::Cnn(Cnn::new(width, classes, device)),
            Architecture::Linear => Model::Linear(LinearConfig::new(3 * size * size, classes).init(device)),
            Architecture::MeanColour => Model::MeanColour(LinearConfig::new(3, classes).init(device)),
        }
    }

    /// Computes logits `[n, classes]` from images `[n, 3, height, width]`.
    pub(crate) fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        match self {
            Model::Cnn(cnn) => cnn.forward(images),
            Model::Linear(linear) => linear.forward(images.flatten(1, 3)),
            Model::MeanColour(linear) => linear.forward(images.flatten::<3>(2, 3).mean_dim(2).squeeze_dim(2)),
        }
    }
}

/// The residual network: a first convolution that halves the image's sides, three residual blocks, of which two halve
/// the sides again, the mean over the remaining pixels, and a linear layer.
#[derive(Module, Debug)]
pub(crate) struct Cnn {
    stem: Convolution,
    blocks: Vec<Block>,
    pool: AdaptiveAvgPool2d,
    head: Linear,
}

impl Cnn {
    fn new(width: usize, classes: usize, device: &Device) -> Cnn {
        let blocks = [(width, width, 1), (width, 2 * width, 2), (2 * width, 4 * width, 2)];
        Cnn {
            stem: Convolution::new(3, width, 3, 2, device),
            blocks: blocks.into_iter().map(|(from, to, stride)| Block::new(from, to, stride, device)).collect(),
            pool: AdaptiveAvgPool2dConfig::new([1, 1]).init(),
            head: LinearConfig::new(4 * width, classes).init(device),
        }
    }

    fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let x = relu(self.stem.forward(images));
        let x = self.blocks.iter().fold(x, |x, block| block.forward(x));
        self.head.forward(self.pool.forward(x).flatten(1, 3))
    }
}

/// A residual block: two convolutions, and a shortcut around them, which has a convolution of its own if the shape
/// changes.
#[derive(Module, Debug)]
pub(crate) struct Block {
    first: Convolution,
    second: Convolution,
    around: Option<Convolution>,
}

impl Block {
    fn new(from: usize, to: usize, stride: usize, device: &Device) -> Block {
        let changes = from != to || stride != 1;
        Block {
            first: Convolution::new(from, to, 3, stride, device),
            second: Convolution::new(to, to, 3, 1, device),
            around: changes.then(|| Convolution::new(from, to, 1, stride, device)),
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let around = match &self.around {
            Some(around) => around.forward(x.clone()),
            None => x.clone(),
        };
        relu(self.second.forward(relu(self.first.forward(x))) + around)
    }
}

/// A convolution and a batch normalisation. The convolution has no bias, because the normalisation would remove it.
#[derive(Module, Debug)]
pub(crate) struct Convolution {
    weights: Conv2d,
    norm: BatchNorm,
}

impl Convolution {
    fn new(from: usize, to: usize, kernel: usize, stride: usize, device: &Device) -> Convolution {
        let margin = kernel / 2;
        let weights = Conv2dConfig::new([from, to], [kernel, kernel])
            .with_stride([stride, stride])
            .with_padding(PaddingConfig2d::Explicit(margin, margin, margin, margin))
            .with_bias(false);
        Convolution { weights: weights.init(device), norm: BatchNormConfig::new(to).init(device) }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        self.norm.forward(self.weights.forward(x))
    }
}

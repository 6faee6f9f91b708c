"""Kornia: DataLoader's processes decode and resize, since a batch needs one size; the batch is augmented here, on the
CPU with as many torch threads as workers, or on the GPU (`--device gpu`).

Recipe A: Kornia's RandomResizedCrop on each picture in the processes, as pictures differ in size. Recipe F: the decoder
of `kornia.io`, without the copy to a tensor.
"""

import kornia.augmentation as K
import torch
from torch.utils.data import DataLoader
from torchvision.io import ImageReadMode, decode_jpeg, read_file
from torchvision.transforms import v2

import data
import peer
import recipes


def batch_steps(recipe):
    """What is left for the batch; every sample draws its own numbers."""
    steps, side = [], recipe.side
    if recipe.crop:
        steps.append(K.RandomCrop((side, side), padding=recipe.padding or None, cropping_mode="slice"))
    if recipe.vertical:
        steps.append(K.RandomVerticalFlip(p=recipe.vertical))
    steps.append(K.RandomHorizontalFlip(p=recipe.horizontal))
    if any(recipe.jitter):
        steps.append(K.ColorJitter(*recipe.jitter, p=recipe.jitter_p))
    if recipe.gray:
        steps.append(K.RandomGrayscale(p=recipe.gray))
    if recipe.normalize:
        steps.append(K.Normalize(*(torch.tensor(values) for values in recipe.normalize)))
    return K.AugmentationSequential(*steps, data_keys=["input"])


class RandomResized:
    """RandomResizedCrop of one picture; the result is f32."""

    def __init__(self, side):
        self.crop = K.RandomResizedCrop((side, side), resample="bilinear", cropping_mode="slice")

    def __call__(self, picture):
        return self.crop(picture[None].float().div_(255))[0]


class Files:
    def __init__(self, folder, steps):
        self.paths, self.steps = data.files(folder), steps
        self.labels = peer.labels(self.paths)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return self.steps(decode_jpeg(read_file(self.paths[i]), mode=ImageReadMode.RGB)), self.labels[i]


def batches(arguments, recipe):
    """One epoch of batches as they come to Kornia."""
    if recipe.source == "files":
        side = recipe.resize
        steps = RandomResized(recipe.side) if recipe.random_resized else v2.Resize((side, side), antialias=True)
        loader = DataLoader(
            Files(arguments.data, steps),
            batch_size=arguments.batch,
            shuffle=True,
            num_workers=arguments.workers,
            persistent_workers=arguments.workers > 0,
            pin_memory=arguments.device == "gpu",
        )
        return lambda: (images for images, _labels in loader)
    pixels = peer.small(arguments) if recipe.source == "small" else peer.resident(arguments)
    pixels = torch.from_numpy(pixels).permute(0, 3, 1, 2).contiguous()
    if arguments.device == "gpu":
        pixels = pixels.cuda()
    if recipe.source == "resident":
        return lambda: (pixels for _ in range(recipes.RESIDENT_TIMES))
    return lambda: (pixels[order] for order in torch.randperm(len(pixels)).to(pixels.device).split(arguments.batch))


def build(arguments, recipe):
    gpu = arguments.device == "gpu"
    if recipe.source == "bytes":
        import kornia_rs.io

        epoch = peer.decode_in_threads(arguments, lambda file: kornia_rs.io.decode_image_jpegturbo(file, "rgb"))
        return peer.Peer(epoch, lambda batch: batch)
    torch.set_num_threads(arguments.workers)
    device = torch.device("cuda" if gpu else "cpu")
    incoming, augment = batches(arguments, recipe), batch_steps(recipe).to(device)

    @torch.inference_mode()
    def augmented(images):
        images = images.to(device, non_blocking=True)
        images = images if images.is_floating_point() else images.float().div_(255)
        return augment(images).contiguous()

    def epoch():
        for images in incoming():
            yield augmented(images)

    return peer.Peer(epoch, lambda batch: [batch.cpu().numpy()], finish=torch.cuda.synchronize if gpu else lambda: None)


if __name__ == "__main__":
    peer.main(build, "kornia", ["torch"])

"""torchvision's transforms v2 on uint8 tensors: decode_jpeg, one sample at a time in DataLoader's processes.

Variant "PIL": recipes H to M on Pillow's images, decoded by Pillow, as torchvision's references train by default.

Variant "whole batch": recipe G by plain torch operators on the resident set, as fast CIFAR trainers do; no torchvision.
"""

import torch
from PIL import Image
from torch.utils.data import DataLoader, default_collate
from torchvision.io import ImageReadMode, decode_jpeg, read_file
from torchvision.transforms import v2

import data
import peer
import recipes


def transform(recipe, pil=False):
    steps = []
    if recipe.random_resized:
        filter = v2.InterpolationMode.BICUBIC if recipe.cubic else v2.InterpolationMode.BILINEAR
        steps.append(v2.RandomResizedCrop(recipe.side, interpolation=filter, antialias=True))
    if recipe.resize:
        steps.append(v2.Resize((recipe.resize, recipe.resize), antialias=True))
    if recipe.crop:
        steps.append(v2.RandomCrop(recipe.side, padding=recipe.padding or None))
    if recipe.vertical:
        steps.append(v2.RandomVerticalFlip(recipe.vertical))
    steps.append(v2.RandomHorizontalFlip(recipe.horizontal))
    if any(recipe.jitter):
        jitter = v2.ColorJitter(*recipe.jitter)
        steps.append(jitter if recipe.jitter_p == 1 else v2.RandomApply([jitter], p=recipe.jitter_p))
    if recipe.gray:
        steps.append(v2.RandomGrayscale(recipe.gray))
    if recipe.blur:
        steps.append(v2.RandomApply([v2.GaussianBlur(23, (0.1, 2.0))], p=0.5))
    if recipe.policy:
        steps.append(getattr(v2, recipe.policy)())
    if pil:
        steps.append(v2.PILToTensor())
    steps.append(v2.ToDtype(torch.float32, scale=True))
    if recipe.normalize:
        steps.append(v2.Normalize(*recipe.normalize))
    if recipe.erasing:
        steps.append(v2.RandomErasing(recipe.erasing, value="random" if recipe.noise else 0))
    return v2.Compose(steps)


def mixed(samples):
    """MixUp or CutMix in DataLoader's processes, as torchvision's references do."""
    mix = v2.RandomChoice([v2.MixUp(alpha=0.8, num_classes=1000), v2.CutMix(alpha=1.0, num_classes=1000)])
    return mix(*default_collate(samples))


def views(samples):
    """The views of each sample, side by side."""
    return default_collate([(image, label) for images, label in samples for image in images])


class Files:
    def __init__(self, folder, steps, pil, views):
        self.paths, self.steps, self.pil, self.views = data.files(folder), steps, pil, views
        self.labels = peer.labels(self.paths)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        if self.pil:
            picture = Image.open(self.paths[i]).convert("RGB")
        else:
            picture = decode_jpeg(read_file(self.paths[i]), mode=ImageReadMode.RGB)
        if self.views > 1:
            return [self.steps(picture) for _ in range(self.views)], self.labels[i]
        return self.steps(picture), self.labels[i]


class Pixels:
    def __init__(self, pixels, steps, times=1):
        self.pixels, self.steps, self.times = pixels, steps, times

    def __len__(self):
        return len(self.pixels) * self.times

    def __getitem__(self, i):
        return self.steps(self.pixels[i % len(self.pixels)]), 0


def planes(array):
    return torch.from_numpy(array).permute(0, 3, 1, 2).contiguous()


def load(dataset, arguments, recipe):
    collate = mixed if recipe.mix else views if recipe.views > 1 else None
    loader = DataLoader(
        dataset,
        batch_size=arguments.batch,
        shuffle=True,
        num_workers=arguments.workers,
        persistent_workers=arguments.workers > 0,
        collate_fn=collate,
    )

    def epoch():
        for images, _labels in loader:
            yield images

    return peer.Peer(epoch, lambda batch: [batch.numpy()])


def whole_batch(pixels, arguments, recipe):
    """Gathers a window of the padded set for each sample, mirrored or not, then normalises the batch."""
    side, border = recipe.side, recipe.padding
    mean, std = (255 * torch.tensor(values).view(1, 3, 1, 1) for values in recipe.normalize)
    padded = torch.nn.functional.pad(planes(pixels), (border,) * 4)
    channel, along = torch.arange(3).view(1, 3, 1, 1), torch.arange(side)

    def epoch():
        for order in torch.randperm(len(padded)).split(arguments.batch):
            n = len(order)
            top, left = torch.randint(0, 2 * border + 1, (2, n, 1))
            mirrored = torch.rand(n, 1) < recipe.horizontal
            rows, columns = top + along, left + torch.where(mirrored, along.flip(0), along)
            window = padded[order.view(n, 1, 1, 1), channel, rows.view(n, 1, side, 1), columns.view(n, 1, 1, side)]
            yield window.float().sub_(mean).div_(std)

    return peer.Peer(epoch, lambda batch: [batch.numpy()])


def build(arguments, recipe):
    if recipe.source == "bytes":
        torch.set_num_threads(1)
        epoch = peer.decode_in_threads(
            arguments,
            lambda file: decode_jpeg(torch.frombuffer(bytearray(file), dtype=torch.uint8), mode=ImageReadMode.RGB),
        )
        return peer.Peer(epoch, lambda batch: [picture.numpy() for picture in batch])
    if recipe.source == "files":
        pil = arguments.variant == "PIL"
        return load(Files(arguments.data, transform(recipe, pil), pil, recipe.views), arguments, recipe)
    if recipe.source == "small":
        if arguments.variant == "whole batch":
            torch.set_num_threads(arguments.workers)
            return whole_batch(peer.small(arguments), arguments, recipe)
        return load(Pixels(planes(peer.small(arguments)), transform(recipe)), arguments, recipe)
    pixels = Pixels(planes(peer.resident(arguments)), transform(recipe), recipes.RESIDENT_TIMES)
    return load(pixels, arguments, recipe)


if __name__ == "__main__":
    peer.main(build, "torchvision", ["torch"])

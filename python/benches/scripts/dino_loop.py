#!/usr/bin/env python3
"""A training loop with DINO's lists and crops, on the CPU: `python dino_loop.py FOLDER --workers 4`.

The lists are those of DataAugmentationDINO in main_dino.py of https://github.com/facebookresearch/dino, written by their arguments. The
loader is torch's; training_scripts.py changes one line of this file.
"""

import argparse
import random

import torch
from PIL import ImageFilter, ImageOps
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

BICUBIC = transforms.InterpolationMode.BICUBIC


class GaussianBlur:
    def __init__(self, p, radius_min=0.1, radius_max=2.0):
        self.p, self.radius_min, self.radius_max = p, radius_min, radius_max

    def __call__(self, image):
        if random.random() > self.p:
            return image
        return image.filter(ImageFilter.GaussianBlur(radius=random.uniform(self.radius_min, self.radius_max)))


class Solarization:
    def __init__(self, p):
        self.p = p

    def __call__(self, image):
        return ImageOps.solarize(image) if random.random() < self.p else image


def crop(size, scale, *more):
    return transforms.Compose([
        transforms.RandomResizedCrop(size, scale=scale, interpolation=BICUBIC),
        transforms.RandomHorizontalFlip(p=0.5),
        transforms.RandomApply([transforms.ColorJitter(brightness=0.4, contrast=0.4, saturation=0.2, hue=0.1)], p=0.8),
        transforms.RandomGrayscale(p=0.2),
        *more,
        transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ])


class MultiCrop:
    def __init__(self, global_size, local_size, local_crops):
        self.global_transfo1 = crop(global_size, (0.4, 1.0), GaussianBlur(1.0))
        self.global_transfo2 = crop(global_size, (0.4, 1.0), GaussianBlur(0.1), Solarization(0.2))
        self.local_transfo = crop(local_size, (0.05, 0.4), GaussianBlur(0.5))
        self.local_crops = local_crops

    def __call__(self, image):
        crops = [self.global_transfo1(image), self.global_transfo2(image)]
        return crops + [self.local_transfo(image) for _ in range(self.local_crops)]


def loader(folder, batch_size, workers, global_size=224, local_size=96):
    data = datasets.ImageFolder(folder, transform=MultiCrop(global_size, local_size, 8))
    return DataLoader(data, batch_size=batch_size, shuffle=True, num_workers=workers, pin_memory=True, drop_last=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(0)
    train = loader(args.folder, args.batch_size, args.workers, 64, 32)

    def network():
        return torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(8), torch.nn.Flatten(), torch.nn.Linear(192, 64), torch.nn.GELU(), torch.nn.Linear(64, 32))

    student, teacher = network(), network()
    teacher.load_state_dict(student.state_dict())
    center = torch.zeros(1, 32)
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        for step, (images, _) in enumerate(train):
            with torch.no_grad():
                made = torch.cat([teacher(image) for image in images[:2]])
                targets = ((made - center) / 0.04).softmax(1).chunk(2)
                center = 0.9 * center + 0.1 * made.mean(0, keepdim=True)
            outputs = [student(image) / 0.1 for image in images]
            losses = [
                -(target * output.log_softmax(1)).sum(1).mean()
                for view, target in enumerate(targets)
                for number, output in enumerate(outputs)
                if number != view
            ]
            loss = sum(losses) / len(losses)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for mine, of_student in zip(teacher.parameters(), student.parameters()):
                    mine.mul_(0.99).add_(0.01 * of_student)
            print(f"epoch {epoch} step {step} loss: {loss.item():.6f}", flush=True)


if __name__ == "__main__":
    main()

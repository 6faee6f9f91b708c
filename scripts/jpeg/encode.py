"""Ways to a JPEG: Pillow, cjpeg, and planes that are encoded one by one, which gives any sampling of any components; then jpegtran."""

import contextlib
import io
import subprocess
import tempfile

import numpy
from PIL import Image, ImageFile

import parts as jpeg
import scans as scripts
from drawn import picture, size

ImageFile.MAXBLOCK = 1 << 20
USUAL = ["1x1", "2x1", "2x2", "1x2", "4x1", "4x2", "2x4", "1x4", "3x1", "1x3", "3x2", "4x4"]
SAMPLINGS = [f"{luma},1x1,1x1" for luma in USUAL] + [
    "2x2,2x1,1x2", "2x2,2x1,2x1", "2x2,1x2,1x2", "2x2,2x2,1x1", "2x1,1x1,2x1", "1x1,2x2,1x1", "1x1,2x1,2x1", "1x1,1x1,2x2",
    "1x2,2x1,1x1", "1x2,2x1,2x1", "4x1,2x1,1x1", "4x2,2x1,2x2", "1x4,1x2,1x1", "2x1,1x2,1x1", "2x2,1x2,2x1", "1x1,1x4,4x1",
    "3x1,3x1,1x1", "3x2,1x2,3x1", "2x1,2x1,2x1", "2x2,2x2,2x2", "1x2,1x2,1x2", "1x3,1x1,1x3",
]  # fmt: skip
FRACTIONAL = ["3x1,2x1,1x1", "2x2,3x1,1x1", "4x1,3x1,1x1", "1x3,1x2,1x1", "2x1,3x3,1x1"]


class Made:
    """A file with what it is: the axes by which differing files are grouped, and the options in words."""

    def __init__(self, parts, coding, colour, sampling, scans, options):
        self.parts, self.coding, self.colour, self.sampling, self.scans = parts, coding, colour, sampling, scans
        self.options, self.headers, self.damage = options, [], "none"


def quality(dice):
    return dice.choice([1, 5, 25, 50, 75, 85, 90, 95, 98, 100, dice.randint(1, 100)])


class Failed(Exception):
    """An encoder that did not encode."""


def run(command, data):
    """Runs a command. An argument of several lines is the content of a file whose name it is to get."""
    with contextlib.ExitStack() as files:
        named = []
        for argument in command:
            if argument.endswith("\n"):
                file = files.enter_context(tempfile.NamedTemporaryFile("w", suffix=".txt"))
                file.write(argument)
                file.flush()
                argument = file.name
            named.append(argument)
        done = subprocess.run(named, input=data, capture_output=True)
    if done.returncode:
        raise Failed(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode()}".replace("\n", " "))
    return done.stdout


def pnm(samples):
    height, width, bands = samples.shape
    return b"P%d\n%d %d\n255\n" % (6 if bands == 3 else 5, width, height) + samples.tobytes()


def sampling_of(parts):
    return ",".join(f"{h}x{v}" for _, h, v, _ in jpeg.components(jpeg.frame_of(parts)))


def saved(samples, **settings):
    mode = {1: "L", 3: "RGB", 4: "CMYK"}[samples.shape[-1]]
    image = Image.frombytes(mode, samples.shape[1::-1], samples.tobytes())
    out = io.BytesIO()
    try:
        image.save(out, "JPEG", **settings)
    except OSError as error:
        # Its buffer is too small for some noise.
        raise Failed(f"Pillow: {error} ({settings})") from error
    return out.getvalue()


def by_pillow(dice):
    colour = dice.choice(["gray", "ycc", "ycc", "ycc", "rgb", "cmyk"])
    kind, samples = picture(dice, *size(dice), {"gray": 1, "cmyk": 4}.get(colour, 3))
    settings = {"quality": quality(dice), "progressive": dice.random() < 0.4, "optimize": dice.random() < 0.5}
    if dice.random() < 0.3:
        settings[dice.choice(["restart_marker_blocks", "restart_marker_rows"])] = dice.randint(1, 9)
    if colour == "rgb":
        settings["keep_rgb"] = True
    if colour == "ycc":
        settings["subsampling"] = dice.choice([0, 1, 2])
    if dice.random() < 0.1:
        settings["qtables"] = [[dice.randint(1, dice.choice([8, 255])) for _ in range(64)] for _ in range(dice.randint(1, 3))]
    parts = jpeg.split(saved(samples, **settings))
    coding = "progressive" if settings["progressive"] else "sequential"
    scans = "usual script" if settings["progressive"] else "one"
    settings.pop("qtables", None)
    return Made(parts, coding, colour, sampling_of(parts), scans, f"Pillow, {kind}, {settings}")


def options_of(dice, factors):
    """Options that cjpeg and jpegtran share; coding and scans that follow."""
    options, coding, scans = [], "sequential", "one"
    if dice.random() < 0.35:
        options += ["-restart", f"{dice.choice([1, 2, 3, 7])}{dice.choice(['', 'B', 'B'])}"]
    if dice.random() < 0.4:
        options.append("-optimize")
    form = dice.random()
    blocks = sum(h * v for h, v in factors)
    if dice.random() < 0.03 and blocks <= scripts.MOST_BLOCKS:
        options = [option for option in options if option != "-optimize"]
        return [*options, "-arithmetic"] + ["-progressive"] * (dice.random() < 0.5), "arithmetic", "one"
    if form < 0.25:
        # The usual script has a scan of all DC coefficients.
        if len(factors) == 1 or blocks <= scripts.MOST_BLOCKS:
            return [*options, "-progressive"], "progressive", "usual script"
    if form < 0.6:
        script, coding, scans = scripts.progressive(dice, factors), "progressive", "own script"
    elif form < 0.75 and len(factors) > 1 or len(factors) > 1 and blocks > scripts.MOST_BLOCKS:
        script, scans = scripts.sequential(dice, factors), "several"
    else:
        return options, coding, scans
    return [*options, "-scans", script], coding, scans


def by_cjpeg(dice):
    colour = dice.choice(["gray", "ycc", "ycc", "ycc", "ycc", "rgb"])
    kind, samples = picture(dice, *size(dice), 1 if colour == "gray" else 3)
    command = ["cjpeg", "-quality", str(quality(dice))]
    sampling = dice.choice(SAMPLINGS)
    factors = [tuple(map(int, factor.split("x"))) for factor in sampling.split(",")]
    if colour == "gray":
        factors, sampling = [(1, 1)], "1x1"
    else:
        command += ["-sample", sampling]
    command += ["-rgb"] if colour == "rgb" else []
    command += ["-baseline"] if dice.random() < 0.2 else []
    if dice.random() < 0.2:
        command[2] = f"{command[2]},{quality(dice)}"
    if dice.random() < 0.1:
        most = dice.choice([4, 255, 2000, 32767])
        command += ["-qtables", "".join(" ".join(str(dice.randint(1, most)) for _ in range(64)) + "\n" for _ in range(2))]
    options, coding, scans = options_of(dice, factors)
    command += options
    parts = jpeg.split(run(command, pnm(samples)))
    return Made(parts, coding, colour, sampling_of(parts), scans, f"{' '.join(command)}, {kind}")


def plane_factors(dice, count):
    form = dice.random()
    if count == 1:
        return [(dice.choice([1, 1, 2, 4]), dice.choice([1, 1, 2, 3]))]
    if form < 0.5 and count == 3:
        return [tuple(map(int, factor.split("x"))) for factor in dice.choice(SAMPLINGS).split(",")]
    if form < 0.55 and count == 3:
        return [tuple(map(int, factor.split("x"))) for factor in dice.choice(FRACTIONAL).split(",")]
    if form < 0.7:
        return [(dice.choice([1, 2]), dice.choice([1, 2]))] + [(1, 1)] * (count - 1 - count // 4) + [(1, 1)] * (count // 4)
    sides = dice.choice([[1, 2, 4], [1, 3], [1, 2], [1, 1, 2]])
    return [(dice.choice(sides), dice.choice(sides)) for _ in range(count)]


def by_planes(dice):
    """Each component a gray JPEG of its own size, quality and tables; together they are a file with a scan for each."""
    colour = dice.choice(["gray", "ycc", "ycc", "rgb", "cmyk", "cmyk", "ycck"])
    count = {"gray": 1, "cmyk": 4, "ycck": 4}.get(colour, 3)
    width, height = size(dice)
    factors = plane_factors(dice, count)
    most = max(h for h, _ in factors), max(v for _, v in factors)
    kind, samples = picture(dice, width, height, count)
    if colour in ("ycc", "ycck"):
        ycc = Image.frombytes("RGB", (width, height), samples[..., :3].tobytes()).convert("YCbCr")
        samples = numpy.concatenate([numpy.asarray(ycc), samples[..., 3:]], axis=-1)
    tables, scans, qualities, together = [], [], [], dice.random() < 0.6
    for component, (h, v) in enumerate(factors):
        wide, high = -(-width * h // most[0]), -(-height * v // most[1])
        plane = Image.frombytes("L", (width, height), samples[..., component].tobytes()).resize((wide, high))
        settings = {"quality": quality(dice), "optimize": dice.random() < 0.5}
        if dice.random() < 0.2:
            settings["restart_marker_blocks"] = dice.randint(1, 9)
        qualities.append(settings)
        alone = jpeg.split(saved(numpy.asarray(plane)[..., None], **settings))
        for part in alone:
            if part.marker == jpeg.DQT:
                tables.append(jpeg.Part(jpeg.DQT, bytes([component]) + part.payload[1:]))
            if part.marker == jpeg.DHT:
                slot = component if dice.random() < 0.5 else 0
                scans.append(jpeg.Part(jpeg.DHT, bytes([part.payload[0] & 0x10 | slot]) + part.payload[1:]))
                slots = (slot, slots[1]) if part.payload[0] < 16 else (slots[0], slot)
            elif part.marker in jpeg.FRAMES:
                slots = (0, 0)
            elif part.marker == jpeg.SOS:
                scans.append(jpeg.Part(jpeg.DRI, int(settings.get("restart_marker_blocks", 0)).to_bytes(2, "big")))
                head = bytes([1, component + 1, slots[0] << 4 | slots[1], 0, 63, 0])
                scans.append(jpeg.Part(jpeg.SOS, head, part.data))
    listed = [(component + 1, h, v, component) for component, (h, v) in enumerate(factors)]
    parts = [*tables, jpeg.frame(0xC1, width, height, listed), *scans]
    coding, form, options = "sequential", "several" if count > 1 else "one", f"planes {qualities}, {kind}"
    if together:
        arguments, coding, form = options_of(dice, factors)
        parts = jpeg.split(run(["jpegtran", "-copy", "none", *arguments], jpeg.join(parts)))
        parts = [part for part in parts if part.marker not in (jpeg.APP0, jpeg.APP14)]
        options += f", jpegtran {' '.join(arguments)}"
    first = {"gray": [jpeg.jfif()], "ycc": [jpeg.jfif()], "rgb": [jpeg.adobe(0)], "cmyk": [jpeg.adobe(0)]}.get(colour, [jpeg.adobe(2)])
    return Made([*first, *parts], coding, colour, sampling_of(parts), form, options)


def encode(dice):
    """A file by one of the ways."""
    way = dice.choice([by_pillow, by_cjpeg, by_planes, by_planes])
    while True:
        try:
            return way(dice)
        except Failed as failure:
            # cjpeg 2.1.5 crashes on some large quantization tables.
            print(f"another file is made: {failure}", flush=True)

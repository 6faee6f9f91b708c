"""Makes photographs progressive by jpegtran, and cuts one, with Pillow's pixels; in the form of files.py.

    photographs.py FOLDER PHOTOGRAPHS

Each JPEG under PHOTOGRAPHS becomes two files, without and with restart markers after each row. One of them is cut inside its scans
at 60 places, with FF D9 behind each cut.
"""

import pathlib
import subprocess
import sys

from files import DIVISORS, shown

CUTS = 60


def line(folder, number, file, expected, scans, damage, options):
    """Writes a file with its pictures. Returns its line of the list."""
    name = f"{number:06}.jpg"
    pictures = [shown(file, divisor) for divisor in DIVISORS]
    (folder / name).write_bytes(file)
    (folder / f"{name}.rgb").write_bytes(b"".join(picture.tobytes() for picture in pictures))
    axes = ["progressive", "photograph", "-", scans, "usual", damage]
    return "\t".join(map(str, [name, *pictures[0].size, expected, *axes, options]))


def scan_data(file):
    """The offsets inside the data of scans, up to eight bytes before their ends."""
    starts = [at for at in range(len(file) - 1) if file[at : at + 2] == b"\xff\xda"]
    for start in starts:
        begin = start + 2 + int.from_bytes(file[start + 2 : start + 4], "big")
        end = begin
        while file[end] != 0xFF or file[end + 1] == 0 or 0xD0 <= file[end + 1] <= 0xD7:
            end += 1
        yield from range(begin, end - 8)


def main():
    folder, photographs = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    cut = None
    for path in sorted(photographs.rglob("*.JPEG")):
        for restart in [[], ["-restart", "1"]]:
            command = ["jpegtran", "-copy", "none", "-progressive", *restart, path]
            file = subprocess.run(command, check=True, capture_output=True).stdout
            cut = cut or file
            scans = "usual script" + (", restart markers" if restart else "")
            lines.append(line(folder, len(lines), file, "exact", scans, "none", path.name))
    if cut is None:
        sys.exit(f"{photographs} has no photograph")
    places = list(scan_data(cut))
    for number in range(CUTS):
        at = places[(2 * number + 1) * len(places) // (2 * CUTS)]
        # A cut behind 0xFF would make a marker of what follows.
        while cut[at - 1] == 0xFF:
            at -= 1
        file = cut[:at] + b"\xff\xd9"
        lines.append(line(folder, len(lines), file, "damaged", "usual script", "cut, FF D9", f"at {at} of {len(cut)}"))
    (folder / "list.txt").write_text("\n".join(lines) + "\n")
    print(f"{len(lines) - CUTS} photographs made progressive, {CUTS} cuts")


if __name__ == "__main__":
    main()

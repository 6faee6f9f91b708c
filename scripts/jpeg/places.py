"""Where in a list of segments a change goes."""

import parts as jpeg


def without(parts, markers):
    parts[:] = [part for part in parts if part.marker not in markers]


def any_place(dice, parts):
    """A place between the first segment and the last scan."""
    return dice.randint(0, jpeg.scan_places(parts)[-1])


def before_scan(dice, parts):
    """A place before the first scan."""
    return dice.randint(0, jpeg.scan_places(parts)[0])

"""Changes a file's headers and its list of scans. Whether a change makes sense is not asked: Pillow says what the file then shows."""

import colours
import parts as jpeg
import structure
import tables

HEADERS = [*colours.CHANGES, *structure.CHANGES, *tables.CHANGES]


def change(dice, made):
    """None, one or two changes of the headers."""
    for _ in range(dice.choice([0, 0, 0, 1, 1, 1, 2])):
        name = dice.choice(HEADERS)(dice, made.parts)
        if name:
            made.headers.append(name)


def change_scans(dice, made):
    """Leaves scans out, repeats one, or changes their order."""
    parts, places = made.parts, jpeg.scan_places(made.parts)
    if dice.random() > 0.35 or len(places) < 2:
        return
    form = dice.choice([cut_list, cut_list, cut_list, left_out, twice, swapped, groups_swapped, end_between])
    made.scans += form(dice, parts, places)


def cut_list(dice, parts, places):
    """The last scans are missing. Their tables stay."""
    keep = dice.randint(1, len(places) - 1) if dice.random() < 0.7 else 1
    gone = set(places[keep:])
    parts[:] = [part for place, part in enumerate(parts) if place not in gone]
    return ", cut list"


def left_out(dice, parts, places):
    del parts[dice.choice(places)]
    return ", one left out"


def twice(dice, parts, places):
    """A scan once more, with the tables and the restart interval that it has."""
    at = dice.choice(places)
    tables = {part.payload[0]: part.payload for part in parts[:at] if part.marker == jpeg.DHT}
    interval = [part.payload for part in parts[:at] if part.marker == jpeg.DRI][-1:]
    again = [jpeg.Part(jpeg.DHT, table) for table in tables.values()]
    again += [jpeg.Part(jpeg.DRI, payload) for payload in interval or [b"\0\0"]]
    again.append(jpeg.Part(jpeg.SOS, parts[at].payload, parts[at].data))
    behind = dice.choice(places) + 1
    parts[behind:behind] = again
    return ", one twice"


def swapped(dice, parts, places):
    """Two scans next to each other in the other order, with the tables before them where they were."""
    at = dice.randrange(len(places) - 1)
    one, two = places[at], places[at + 1]
    parts[one], parts[two] = parts[two], parts[one]
    return ", two swapped"


def groups_swapped(dice, parts, places):
    """Two scans next to each other in the other order, each with the tables right before it."""
    at = dice.randrange(len(places) - 1)
    starts = []
    for place in places[at : at + 2]:
        while parts[place - 1].marker in (jpeg.DHT, jpeg.DRI):
            place -= 1
        starts.append(place)
    one, two, end = *starts, places[at + 1] + 1
    parts[one:end] = parts[two:end] + parts[one:two]
    return ", two swapped with tables"


def end_between(dice, parts, places):
    parts.insert(dice.choice(places[:-1]) + 1, jpeg.Part(jpeg.EOI, None))
    return ", EOI between"

"""Random scan scripts, as cjpeg and jpegtran read them."""

MOST_BLOCKS = 10  # of an MCU
MOST_SCANS = 100  # that cjpeg and jpegtran read


def groups(dice, factors):
    """Components that share a scan: every component in one group, none of them with too many blocks."""
    order = list(range(len(factors)))
    dice.shuffle(order)
    parts = []
    for component in order:
        fitting = [part for part in parts if blocks(factors, [*part, component]) <= MOST_BLOCKS]
        if fitting and dice.random() < 0.5:
            dice.choice(fitting).append(component)
        else:
            parts.append([component])
    return [sorted(part) for part in parts]


def blocks(factors, components):
    return sum(factors[component][0] * factors[component][1] for component in components)


def sequential(dice, factors):
    return "".join(" ".join(map(str, part)) + ";\n" for part in groups(dice, factors))


def band(dice, bits):
    """Coefficients next to each other that a scan may hold, as all of them lack the same bits: often as many as there are."""
    waiting = [place for place in range(1, 64) if bits[place] != 0]
    start = dice.choice(waiting) if dice.random() < 0.4 else waiting[0]
    end = start
    while end < 63 and bits[end + 1] == bits[start]:
        end += 1
    while start > 1 and bits[start - 1] == bits[end]:
        start -= 1
    if dice.random() < 0.25:
        start = dice.randint(start, end)
    if dice.random() < 0.25:
        end = dice.choice([start, dice.randint(start, end)])
    return start, end


def progressive(dice, factors):
    while True:
        lines = progression(dice, factors)
        if len(lines) <= MOST_SCANS:
            return "".join(lines)


def progression(dice, factors):
    """Any legal order: of each coefficient the first scan, then one for each bit that is left; a component's DC first."""
    lines, most = [], dice.choice([0, 0, 1, 1, 2, 3, 6])
    # For each coefficient the bits that its scans have left out so far; None before the first one.
    bits = [[None] * 64 for _ in factors]
    while True:
        open_dc = [c for c, left in enumerate(bits) if left[0] != 0]
        open_ac = [c for c, left in enumerate(bits) if left[0] is not None and any(bit != 0 for bit in left[1:])]
        if not open_dc and not open_ac:
            return lines
        if open_dc and (not open_ac or dice.random() < 0.4):
            first = dice.choice(open_dc)
            part = [first]
            for other in dice.sample(open_dc, len(open_dc)):
                fits = other != first and bits[other][0] == bits[first][0] and blocks(factors, [*part, other]) <= MOST_BLOCKS
                if fits and dice.random() < 0.6:
                    part.append(other)
            part, start, end = sorted(part), 0, 0
        else:
            part = [dice.choice(open_ac)]
            start, end = band(dice, bits[part[0]])
        before = bits[part[0]][start]
        low = dice.randint(0, most) if before is None else before - 1
        for component in part:
            bits[component][start : end + 1] = [low] * (end + 1 - start)
        lines.append(f"{' '.join(map(str, part))}: {start}-{end}, {before or 0}, {low};\n")

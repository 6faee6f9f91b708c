"""A data set packed by a Slurm array, whose tasks are killed at random and repeated: what one run of the command packs."""

from __future__ import annotations

import hashlib
import random
import re
import tarfile
from pathlib import Path

from tools import ROOT, Tools, say

PARTS, ROUNDS = 7, 4
SIZES = ("--shard-bytes", "64K")

# In the place of the command, on a node's PATH: kills it after some milliseconds, if there are any for this part, and keeps
# its exit status.
SHIM = """\
#!/bin/sh
milliseconds=$(cat {folder}/kill-$SLURM_ARRAY_TASK_ID 2>/dev/null || echo 0)
if [ "$milliseconds" -gt 0 ]; then
    timeout --signal=KILL "$(printf '0.%03d' "$milliseconds")" {gpufeed} "$@"
else
    {gpufeed} "$@"
fi
status=$?
echo $status >{folder}/status-$SLURM_ARRAY_TASK_ID
exit $status
"""


def samples(folder: Path) -> list[tuple[str, str]]:
    """All members of a folder's shards in order: names and hashes of their bytes."""
    found = []
    for shard in sorted(folder.glob("*.tar")):
        with tarfile.open(shard) as archive:
            for member in archive:
                content = archive.extractfile(member)
                assert content is not None
                found.append((member.name, hashlib.sha256(content.read()).hexdigest()))
    return found


def offline(tools: Tools) -> None:
    folder = tools.folder / "offline"
    (folder / "bin").mkdir(parents=True)
    gpufeed = tools.ranks.parent.parent / "gpufeed"
    tools.run([gpufeed, "pack", tools.data, folder / "whole", *SIZES])
    tools.run([gpufeed, "pack", tools.data, folder / "parts", "--plan", "--parts", PARTS, *SIZES])
    shim = folder / "bin" / "gpufeed"
    shim.write_text(SHIM.format(folder=folder, gpufeed=gpufeed))
    shim.chmod(0o755)
    seed = random.randrange(2**32)
    numbers = random.Random(seed)
    killed, repeated = 0, 0
    due = [*range(PARTS)]
    for turn in range(ROUNDS):
        # The first time two are killed for sure, the last time nobody.
        victims = {0: numbers.sample(range(PARTS), 2), ROUNDS - 1: []}.get(turn, numbers.sample(due, len(due) // 2))
        for part in due:
            milliseconds = numbers.randint(1, 4 if turn == 0 else 60) if part in victims else 0
            (folder / f"kill-{part}").write_text(f"{milliseconds}\n")
            (folder / f"status-{part}").unlink(missing_ok=True)
        # A part that was killed fails its job; `--wait` gives the worst of all tasks.
        command = ["sbatch", "--wait", f"--chdir={folder}", f"--array={','.join(map(str, due))}"]
        command += [ROOT / "examples" / "cluster" / "pack.sbatch", tools.data, folder / "parts"]
        variables = {"PATH": f"{folder / 'bin'}:{tools.environment()['PATH']}"}
        run = tools.run if not victims else tools.ended_anyhow
        run(command, **variables)
        statuses = {part: int((folder / f"status-{part}").read_text()) for part in due}
        assert set(statuses.values()) <= {0, 137}, f"seed {seed}: {statuses}"
        failed = [part for part in due if statuses[part] != 0]
        killed += len(failed)
        if turn == 0:
            said = tools.refused([gpufeed, "pack", tools.data, folder / "parts", "--join"])
            named = re.search(rf"parts? ([\d, ]+) of {PARTS} (?:is|are) missing", said)
            missing = [int(number) for number in named[1].split(",")] if named else []
            assert missing == failed != [], f"seed {seed}: parts {failed} were killed, but --join says: {said}"
        # Parts that are done may be repeated, too.
        again = numbers.sample([part for part in range(PARTS) if part not in failed], 1)
        repeated += len(again)
        due = sorted({*failed, *again})
    tools.run([gpufeed, "pack", tools.data, folder / "parts", "--join"])
    whole, parts = samples(folder / "whole"), samples(folder / "parts")
    assert len(whole) == 2 * tools.length and parts == whole, f"seed {seed}: {len(parts)} members, {len(whole)} in one run"
    say(f"a Slurm array of {PARTS} parts, seed {seed}: {killed} tasks killed, {repeated} repeated, joined as by one run")

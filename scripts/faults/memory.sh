# Images that take more memory than a limit leaves: they are said, with the bytes, and the others are read. An image of 8192 x
# 8192 pixels in RGBA of 16 bits is half a megabyte on the disk; decoded whole it took 768 MiB.

draw data 12
python3 - <<'PYTHON'
import struct, zlib

def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

def png(path, side, passes, interlaced):
    packer, packed = zlib.compressobj(1), b""
    for left, top, across, down in passes:
        row = bytes(1 + 8 * len(range(left, side, across)))
        for _ in range(top, side, down):
            packed += packer.compress(row)
    packed += packer.flush()
    header = struct.pack(">IIBBBBB", side, side, 16, 6, 0, 0, interlaced)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b""))

adam7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
png("data/class0/rows.png", 8192, [(0, 0, 1, 1)], 0)
png("data/class1/passes.png", 8192, adam7, 1)
PYTHON

# Within 550 MB of address space the first has its 256 MiB, and the second has not its 768. One thread: the C library may
# reserve 64 MiB and more for each.
code=0
(ulimit -v 550000 && timeout --kill-after 5 60 "$gpufeed" doctor data --threads 1 --json >limited.json 2>limited.txt) || code=$?
[ "$code" -eq 3 ] || fail "doctor ended with $code: $(tail -n 5 limited.txt)"
grep -q '"ok":13' limited.json || fail "$(cut -c 1-300 limited.json)"
grep -q '"path":"class1/passes.png".\{1,200\}decoding needs 536870912 bytes of memory that the system does not have' limited.json || fail "$(cat limited.json)"

# With memory, both decode, and by rows no more is taken than what the pixels need.
python3 - "$gpufeed" <<'PYTHON' || fail "memory for rows"
import resource, subprocess, sys

subprocess.run(["rm", "data/class1/passes.png"], check=True)
done = subprocess.run([sys.argv[1], "doctor", "data", "--json"], stdout=subprocess.DEVNULL)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
print(f"8192 x 8192 pixels of 16 bits by rows: {peak} MiB at the busiest")
sys.exit(done.returncode != 0 or peak > 400)
PYTHON

# A recipe whose images between two transforms take 5 GB for each sample: refused by number and setting where memory is short
# and where it is not, before any of it is taken.
cat >between.toml <<'TOML'
name = "between"

[[transform]]
type = "Resize"
size = 18000

[[transform]]
type = "Resize"
size = [16, 16]
TOML
for limit in 1000000 unlimited; do
    code=0
    (ulimit -v "$limit" && timeout --kill-after 5 60 "$gpufeed" bench --data data --recipe between.toml --backend cpu --quick \
        --seconds 0.1 --workers 1 >between.txt 2>&1) || code=$?
    [ "$code" -eq 1 ] || fail "bench ended with $code: $(tail -n 5 between.txt)"
    grep -q 'Resize on an image of .* takes 5.* GB of memory on the way, for 18000x18000 pixels' between.txt || fail "$(cat between.txt)"
done

# Within the budget, but more than the system has: an error, and no abort.
sed -i 's/18000/[12000, 12000]/' between.toml
code=0
(ulimit -v 1500000 && timeout --kill-after 5 60 "$gpufeed" bench --data data --recipe between.toml --backend cpu --quick \
    --seconds 0.1 --workers 1 >between.txt 2>&1) || code=$?
[ "$code" -eq 1 ] || fail "bench ended with $code: $(tail -n 5 between.txt)"
grep -q 'memory that the system does not have\|are left (ulimit -v)' between.txt || fail "$(cat between.txt)"

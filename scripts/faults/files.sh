# What has the name of an image and is no file: a FIFO, which waits for its writer, and a device without an end. Every
# subcommand that reads a folder says so and ends.

draw data 12
mkfifo data/class0/fifo.jpg
ln -s fifo.jpg data/class0/link.jpg
kinds=2
if mknod zeros c 1 5 2>/dev/null; then
    ln -s ../../zeros data/class1/zeros.jpg
    kinds=3
else
    echo 'not root: no device is made, and that part is left out'
fi
truncate --size 1T data/class2/large.jpg

# ends CODES COMMAND...: COMMAND ends with one of CODES, soon, and within 2 GB of address space.
ends() {
    local expected=$1 code=0
    shift
    (ulimit -v 2000000 && timeout --kill-after 5 60 "$@" >out 2>&1) || code=$?
    case " $expected " in
        *" $code "*) ;;
        *) fail "$* ended with $code: $(tail -n 5 out)" ;;
    esac
}

ends 3 "$gpufeed" index data --json
[ "$(grep -o "not a regular file" out | wc -l)" -eq "$kinds" ] || fail "$(cat out)"
grep -q 'at most 1073741824 are read' out || fail "$(cat out)"
ends 3 "$gpufeed" doctor data --json
[ "$(grep -o "not a regular file" out | wc -l)" -eq "$kinds" ] || fail "$(cat out)"
ends 0 "$gpufeed" preview data --recipe imagenet-eval --out sheet.png
ends "1 3" "$gpufeed" pack data packed
ends "0 1" "$gpufeed" bench --data data --recipe imagenet-train --backend cpu --quick --seconds 0.1
rm data/class0/fifo.jpg data/class0/link.jpg data/class2/large.jpg
rm -f data/class1/zeros.jpg

mkfifo recipe.toml report.json other.json
ends 1 "$gpufeed" preview data --recipe ./recipe.toml --out sheet.png
grep -q 'not a regular file' out || fail "$(cat out)"
ends 1 "$gpufeed" compare report.json other.json
grep -q 'not a regular file' out || fail "$(cat out)"

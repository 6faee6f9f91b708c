// Pillow's Gaussian blur of rows or of columns: a box that moves over a line three times, and rounds each time. A thread
// computes what its pixel depends on anew: the second means under the third box one after the other, and the first means
// that enter them. `src/pillow/box_blur.rs` has the weights.

var<private> box_radius: i32;
var<private> box_weight: u32;
var<private> box_end_weight: u32;
var<private> box_is_down: bool;
// The column of a blur of columns, the row of one of rows, and the last pixel of that line.
var<private> box_line: i32;
var<private> box_last: i32;

fn box_mean(sum: vec3<u32>, ends: vec3<u32>) -> vec3<u32> {
    return (sum * box_weight + ends * box_end_weight + vec3(1u << 23u)) >> vec3(24u);
}

// A pixel of the line; beyond its ends the last ones go on.
fn box_pixel(i: i32) -> vec3<u32> {
    let inside = clamp(i, 0, box_last);
    if box_is_down {
        return vec3<u32>(pixel_before(box_line, inside).xyz);
    }
    return vec3<u32>(pixel_before(inside, box_line).xyz);
}

// The first mean, at `i` or the end next to it.
fn box_once(i: i32) -> vec3<u32> {
    let at = clamp(i, 0, box_last);
    var sum = vec3(0u);
    for (var k = at - box_radius; k <= at + box_radius; k++) {
        sum += box_pixel(k);
    }
    return box_mean(sum, box_pixel(at - box_radius - 1) + box_pixel(at + box_radius + 1));
}

fn gathered(image: u32, x: i32, y: i32) -> vec4<f32> {
    let numbers = images[image].gather.whole_0;
    box_radius = bitcast<i32>(numbers.x);
    box_weight = numbers.y;
    box_end_weight = numbers.z;
    box_is_down = numbers.w == 1u;
    box_line = select(y, x, box_is_down);
    box_last = select(gather_width, gather_height, box_is_down) - 1;
    let middle = select(x, y, box_is_down);
    let first = middle - box_radius - 1;
    let end = middle + box_radius + 1;
    // The second mean at the first place.
    var at = max(first, 0);
    var sum = vec3(0u);
    for (var k = at - box_radius; k <= at + box_radius; k++) {
        sum += box_once(k);
    }
    var before = box_once(at - box_radius - 1);
    var after = box_once(at + box_radius + 1);
    var twice = box_mean(sum, before + after);
    var total = vec3(0u);
    var ends = twice;
    for (var i = first + 1; i <= end; i++) {
        // Beyond an end of the line the mean there goes on.
        if i > at && at < box_last {
            at++;
            before = box_once(at - box_radius - 1);
            sum += after - before;
            after = box_once(at + box_radius + 1);
            twice = box_mean(sum, before + after);
        }
        if i < end {
            total += twice;
        } else {
            ends += twice;
        }
    }
    return vec4(vec3<f32>(box_mean(total, ends)) * (1.0 / 255.0), 1.0);
}

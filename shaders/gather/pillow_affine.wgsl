// Pillow's affine transform between pixels: `src/cpu/gather/pillow_affine.rs` has the same sums in the same order.

// The number at `share` of the way from one to the other.
fn between_two(first: Doubles, second: Doubles, share: Doubles) -> Doubles {
    return doubles_sum(first, doubles_product(doubles_difference(second, first), share));
}

// The same between the second and the third of four, whose differences are given.
fn between_four(second: Doubles, slope: Doubles, bend: Doubles, twist: Doubles, share: Doubles) -> Doubles {
    let inner = doubles_sum(bend, doubles_product(share, twist));
    let outer = doubles_sum(slope, doubles_product(share, inner));
    return doubles_sum(second, doubles_product(share, outer));
}

// A pixel of the image; beyond its edges they go on.
fn pixel_inside(x: i32, y: i32) -> vec3<i32> {
    let inside = vec2(clamp(x, 0, gather_width - 1), clamp(y, 0, gather_height - 1));
    return vec3<i32>(pixel_before(inside.x, inside.y).xyz);
}

fn row_of_two(x: i32, y: i32, share: Doubles) -> Doubles {
    return between_two(doubles_of(pixel_inside(x, y)), doubles_of(pixel_inside(x + 1, y)), share);
}

fn row_of_four(x: i32, y: i32, share: Doubles) -> Doubles {
    let first = pixel_inside(x - 1, y);
    let second = pixel_inside(x, y);
    let third = pixel_inside(x + 1, y);
    let fourth = pixel_inside(x + 2, y);
    let bend = 2 * (first - second) + third - fourth;
    let twist = second - first - third + fourth;
    return between_four(doubles_of(second), doubles_of(third - first), doubles_of(bend), doubles_of(twist), share);
}

fn gathered(image: u32, x: i32, y: i32) -> vec4<f32> {
    let first = images[image].gather.whole_0;
    let second = images[image].gather.whole_1;
    let third = images[image].gather.whole_2;
    let last = images[image].gather.whole_3;
    // Across and down; the third number is the first again.
    let of_x = Doubles(vec3(first.x, second.z, first.x), vec3(first.y, second.w, first.y));
    let of_y = Doubles(vec3(first.z, third.x, first.z), vec3(first.w, third.y, first.w));
    let of_one = Doubles(vec3(second.x, third.z, second.x), vec3(second.y, third.w, second.y));
    let across = doubles_half(doubles_of(vec3(2 * x + 1)));
    let down = doubles_half(doubles_of(vec3(2 * y + 1)));
    let place = doubles_sum(doubles_sum(doubles_product(of_x, across), doubles_product(of_y, down)), of_one);
    let ends = doubles_of(vec3(gather_width, gather_height, gather_width));
    var value = vec3<f32>(last.yzw);
    if all(!doubles_is_negative(place) & (doubles_is_zero(place) | doubles_is_less(place, ends))) {
        let minus_half = Doubles(vec3(0xbfe00000u), vec3(0u));
        let at = doubles_sum(place, minus_half);
        let floors = doubles_floor(at);
        let shares = doubles_difference(at, doubles_of(floors));
        let right = Doubles(shares.upper.xxx, shares.lower.xxx);
        let below = Doubles(shares.upper.yyy, shares.lower.yyy);
        let left = floors.x;
        let top = floors.y;
        var upper: vec3<u32>;
        var lower: vec3<u32>;
        if last.x == 4u {
            // Four rows, of which a loop makes one after the other: its code is that of one.
            var first_upper: vec3<u32>;
            var first_lower: vec3<u32>;
            var second_upper: vec3<u32>;
            var second_lower: vec3<u32>;
            var third_upper: vec3<u32>;
            var third_lower: vec3<u32>;
            for (var i = -1; i <= 2; i++) {
                first_upper = second_upper;
                first_lower = second_lower;
                second_upper = third_upper;
                second_lower = third_lower;
                third_upper = upper;
                third_lower = lower;
                let row = row_of_four(left, top + i, right);
                upper = row.upper;
                lower = row.lower;
            }
            let a = Doubles(first_upper, first_lower);
            let b = Doubles(second_upper, second_lower);
            let c = Doubles(third_upper, third_lower);
            let d = Doubles(upper, lower);
            let down_ab = doubles_difference(a, b);
            let twice = doubles_sum(down_ab, down_ab);
            let bend = doubles_difference(doubles_sum(twice, c), d);
            let twist = doubles_sum(doubles_difference(doubles_negated(down_ab), c), d);
            let result = between_four(b, doubles_difference(c, a), bend, twist, below);
            upper = result.upper;
            lower = result.lower;
        } else {
            let result = between_two(row_of_two(left, top, right), row_of_two(left, top + 1, right), below);
            upper = result.upper;
            lower = result.lower;
        }
        let result = Doubles(upper, lower);
        value = vec3<f32>(min(select(doubles_cut(result), vec3(0), result.upper >= SIGN), vec3(255)));
    }
    return vec4(value * (1.0 / 255.0), 1.0);
}

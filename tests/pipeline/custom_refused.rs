//! Tests that custom colour steps that cannot work are refused, with the place to look at.

use gpufeed::transforms::{CenterCrop, CustomColor, Key, Normalize, Op, RandomApply, Transform};
use gpufeed::{
    Backend, DataLoader, DataLoaderBuilder, Error, ErrorKind, OnError, Output, PixelFormat, Pixels, Plan, Processor,
    recipe,
};
use gpufeed_testing::pipeline::{places, seen, small_files, within};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const SIGNATURE: &str = "fn tint(color: vec3<f32>, parameters: vec4<f32>) -> vec3<f32>";
const GOOD: &str = "fn tint(color: vec3<f32>, parameters: vec4<f32>) -> vec3<f32> { return color * parameters.xyz; }";

fn tint(wgsl: &str) -> CustomColor {
    CustomColor::new("tint", wgsl, |[r, g, b], [x, y, z, _]| [r * x, g * y, b * z])
}

fn builder(step: impl Into<Transform>) -> DataLoaderBuilder {
    DataLoader::builder(small_files(12)).transform(CenterCrop::new(16)).transform(step).batch_size(4)
}

/// Returns the reason for which the text is refused, which must be the same on every backend, inside `RandomApply` and
/// by `Plan::compile`.
fn refused(wgsl: &str) -> String {
    let reason = |error: Error| match error.into_kind() {
        ErrorKind::Snippet { transform: "tint", reason } => reason,
        other => panic!("{other}\nfor {wgsl}"),
    };
    let found =
        reason(Plan::compile(&[CenterCrop::new(16).into(), tint(wgsl).into()], &Output::default()).expect_err(wgsl));
    for place in places() {
        for list in [Transform::from(tint(wgsl)), RandomApply::new(0.5, [tint(wgsl)]).into()] {
            let error = place.try_build(builder(list)).expect_err(wgsl);
            assert!(error.to_string().starts_with("the WGSL of tint: "), "{error}");
            assert_eq!(reason(error), found, "{}", place.name);
        }
    }
    found
}

#[test]
fn a_bad_snippet_is_refused_with_its_line() {
    within(120, "snippets", || {
        let with = |before: &str, body: &str| format!("{before}\n{SIGNATURE} {{\n{body}\n    return color;\n}}\n");
        let cases: Vec<(String, &[&str])> = vec![
            // Errors of naga, with the line's number and the line itself.
            (with("", "    let x: u32 = 1.5;"), &["tint:3:", "let x: u32 = 1.5;"]),
            (with("", "    let x = no_such_name;"), &["tint:3:", "no definition in scope", "no_such_name"]),
            (with("", "    let x = luma(color);"), &["tint:3:", "luma"]),
            (with("fn tint( {", ""), &["tint:1:", "expected"]),
            (with("fn a() -> f32 { return 1.0; }\nfn a() -> f32 { return 2.0; }", ""), &["redefinition of `a`"]),
            (with("", "    let x = parameters.x + 1u;"), &["3 │ │     let x = parameters.x + 1u;", "Scalar"]),
            (with("", "    let x = 1.5lf;"), &["tint"]),
            // A function that a GPU may lack is refused on every backend, with the user's line.
            (with("", "    let x = quantizeToF16(parameters.x);"), &["tint:2:", "apabilit"]),
            (String::new(), &["no function `tint`", SIGNATURE]),
            ("fn other(x: f32) -> f32 { return x; }".to_owned(), &["no function `tint`", SIGNATURE, "found: other"]),
            // Functions with a wrong signature.
            ("\nfn tint(color: vec3<f32>) -> vec3<f32> { return color; }".to_owned(), &["line 2:", SIGNATURE]),
            (GOOD.replace("vec4<f32>", "vec4<u32>").replace("* parameters.xyz", ""), &["line 1:", SIGNATURE]),
            (
                GOOD.replace("color: vec3<f32>", "color: vec4<f32>").replace("return color", "return color.xyz"),
                &[SIGNATURE],
            ),
            ("fn tint(color: vec3<f32>, parameters: vec4<f32>) {}".to_owned(), &["line 1:", SIGNATURE]),
            // Texts with more than functions of the arguments: variables, bindings, extensions, entry points, barriers,
            // derivatives.
            (with("// var in a comment\nvar<private> x: f32;", ""), &["line 2: `var`", "variables"]),
            (with("@group(0) @binding(0) var<storage> x: array<f32>;", ""), &["line 1: `var`", "bindings"]),
            (with("\n\nvar<workgroup> x: f32;", ""), &["line 3: `var`"]),
            (with("override x: f32 = 1.0;", ""), &["line 1: `override`", "overrides"]),
            (with("diagnostic(off, derivative_uniformity);", ""), &["line 1: `diagnostic`", "extensions"]),
            (with("enable f16;", ""), &["enable"]),
            (with("@compute @workgroup_size(1) fn main() {}", ""), &["`main` is an entry point"]),
            (with("", "    workgroupBarrier();"), &["line 2: `tint` uses a barrier"]),
            (with("fn help(x: f32) -> f32 { return dpdx(x); }", ""), &["line 1: `help` uses a", "derivative"]),
            // This text is valid until its names are changed: `position` names a function here, and also a builtin of
            // the struct.
            (
                with("struct Vertex { @builtin(position) at: vec4<f32> }\nfn position() {}", ""),
                &["not with its names changed", "position"],
            ),
        ];
        for (wgsl, parts) in cases {
            let reason = refused(&wgsl);
            for part in parts {
                assert!(reason.contains(part), "{part:?} is not in\n{reason}\nfor\n{wgsl}");
            }
        }
        assert!(Plan::compile(&[tint(GOOD).into()], &Output::default()).is_ok(), "the tests' own text");
    });
}

#[test]
fn parameters_must_be_finite() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let step = || tint(GOOD).draw(move |_| Some([0.0, 0.0, 0.0, value]));
        let plan = Plan::compile(&[step().into()], &Output::default()).unwrap();
        let error = plan.make_params(5, 4, &Key::default()).unwrap_err();
        let ErrorKind::Transform { transform: "tint", width: 5, height: 4, reason } = error.kind() else {
            panic!("{error}")
        };
        assert!(reason.contains("finite"), "{reason}");
        for place in places() {
            let loader = place.build(builder(step()).on_error(OnError::Fail));
            let error = loader.epoch(0).unwrap().find_map(Result::err).unwrap();
            assert!(matches!(error.kind(), ErrorKind::Sample { .. }) && error.to_string().contains("tint"), "{error}");
        }
        // Parameters that a caller passes must be finite, too.
        let mut params = Plan::compile(&[tint(GOOD).into()], &Output::default())
            .unwrap()
            .make_params(5, 4, &Key::default())
            .unwrap();
        params.ops[0].op = Op::Custom { parameters: [value; 4] };
        let pixels = Pixels::new(5, 4, PixelFormat::R8, &[9; 20]).unwrap();
        let error = Processor::new(&plan, &Backend::Cpu).unwrap().run(&[(pixels, &params)]).unwrap_err();
        assert!(error.to_string().contains("not finite"), "{error}");
    }
}

#[test]
fn an_op_alone_is_no_function() {
    let custom = Op::Custom { parameters: [1.0; 4] };
    let error = Plan::fixed(3, std::slice::from_ref(&custom), &Output::default()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Argument { setting: "ops", .. }), "{error}");
    assert!(error.to_string().contains("a custom colour step has no function of its own"), "{error}");
    // `Op::Custom` does not fit the op slot of another operator, either.
    let plan = Plan::compile(&[Normalize::IMAGENET.into(), tint(GOOD).into()], &Output::default()).unwrap();
    let mut params = plan.make_params(5, 4, &Key::default()).unwrap();
    params.ops[0].op = custom;
    let pixels = Pixels::new(5, 4, PixelFormat::R8, &[9; 20]).unwrap();
    let error = Processor::new(&plan, &Backend::Cpu).unwrap().run(&[(pixels, &params)]).unwrap_err();
    assert!(error.to_string().contains("does not belong to slot 0"), "{error}");
}

#[test]
fn a_function_cannot_be_written_or_read() {
    let list = [CenterCrop::new(8).into(), Transform::from(RandomApply::new(0.5, [tint(GOOD)]))];
    let errors =
        [recipe::to_toml(&list).unwrap_err().to_string(), serde_json::to_string(&list).unwrap_err().to_string()];
    for error in errors {
        assert!(error.contains(r#"the custom colour step "tint""#) && error.contains("cannot be written"), "{error}");
    }
    let errors = [
        recipe::from_toml("[[transform]]\ntype = \"CustomColor\"\nname = \"tint\"\n").unwrap_err().to_string(),
        serde_json::from_str::<Transform>(r#"{"type":"CustomColor"}"#).unwrap_err().to_string(),
    ];
    for error in errors {
        assert!(error.contains("CustomColor is a function in Rust and cannot be read"), "{error}");
    }
}

/// Returns a function whose first call panics, so that one run ends with an error and the next one works.
fn panics_once(message: &'static str) -> impl Fn() + Send + Sync + 'static {
    let first = Arc::new(AtomicBool::new(true));
    move || assert!(!first.swap(false, Ordering::SeqCst), "{message}")
}

#[test]
fn a_panic_of_a_closure_is_an_error_that_names_the_stage() {
    within(120, "panics", || {
        for place in places() {
            let in_twin = panics_once("the twin is broken");
            let in_twin = CustomColor::new("tint", GOOD, move |color, _| {
                in_twin();
                color
            });
            let in_draw = panics_once("the draw is broken");
            let in_draw = tint(GOOD).draw(move |_| {
                in_draw();
                None
            });
            for (step, stage, message) in
                [(in_twin, "augment", "the twin is broken"), (in_draw, "params", "the draw is broken")]
            {
                if place.is_shaders() && stage == "augment" {
                    continue; // the shader runs here, the CPU function does not
                }
                let loader = place.build(builder(step).workers(3));
                let error = loader.epoch(0).unwrap().find_map(Result::err).unwrap_or_else(|| panic!("{}", place.name));
                let ErrorKind::Sample { source, .. } = error.kind() else { panic!("{error}") };
                let ErrorKind::Panic { stage: named, message: said } = source.kind() else { panic!("{error}") };
                assert!(*named == stage && said.contains(message), "{}: {error}", place.name);
                assert_eq!(seen(loader.epoch(0).unwrap()).len(), 3, "{}", place.name);
            }
        }
    });
}

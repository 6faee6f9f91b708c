//! Translators to the four languages to which wgpu translates WGSL, with the options of wgpu-hal 30's device code, and
//! the oldest versions that it meets. Bindings are mapped as for gpufeed's layout; a binding that is not in the map is
//! an error.

use naga::back::{glsl, hlsl, msl, spv};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::ModuleInfo;
use naga::{Module, ResourceBinding, ShaderStage, TypeInner};
use std::sync::LazyLock;

/// The four storage buffers of `gpu/encode.rs`: the binding's number, and whether shaders write to it.
const BINDINGS: [(u32, bool); 4] = [(0, false), (1, false), (2, true), (3, true)];
const ENTRY: &str = "main";

fn map<T, M: FromIterator<(ResourceBinding, T)>>(target: impl Fn(u32, bool) -> T) -> M {
    BINDINGS.iter().map(|&(binding, write)| (ResourceBinding { group: 0, binding }, target(binding, write))).collect()
}

fn policies(index: BoundsCheckPolicy, buffer: BoundsCheckPolicy) -> BoundsCheckPolicies {
    let unchecked = BoundsCheckPolicy::Unchecked;
    BoundsCheckPolicies { index, buffer, image_load: unchecked, binding_array: unchecked }
}

/// Options for Vulkan 1.0 without `VK_EXT_robustness2`, and for 1.3 with it.
static SPIRV: LazyLock<[spv::Options<'static>; 2]> = LazyLock::new(|| {
    let options = |lang_version, buffer, workgroup| spv::Options {
        lang_version,
        // A release has no flags; naga adds debug names in a debug build.
        flags: spv::WriterFlags::empty(),
        fake_missing_bindings: false,
        binding_map: map(|binding, _| spv::BindingInfo { descriptor_set: 0, binding, binding_array_size: None }),
        // These are the capabilities that wgpu expects on every device, and that of numbers of 16 bits, which a text
        // gets only where it asks for them.
        capabilities: Some(
            [spv::Capability::Shader, spv::Capability::Matrix, spv::Capability::Int16].into_iter().collect(),
        ),
        bounds_check_policies: policies(BoundsCheckPolicy::Restrict, buffer),
        zero_initialize_workgroup_memory: workgroup,
        force_loop_bounding: true,
        emit_int_div_checks: true,
        ..spv::Options::default()
    };
    use spv::ZeroInitializeWorkgroupMemoryMode::{Native, Polyfill};
    [options((1, 0), BoundsCheckPolicy::Restrict, Polyfill), options((1, 6), BoundsCheckPolicy::Unchecked, Native)]
});

/// Options for macOS 10.13, which has Metal 2.0.
static METAL: LazyLock<msl::Options> = LazyLock::new(|| {
    let resources = msl::EntryPointResources {
        resources: map(|binding, mutable| msl::BindTarget {
            buffer: Some(binding as u8),
            mutable,
            ..msl::BindTarget::default()
        }),
        immediates_buffer: None,
        sizes_buffer: Some(BINDINGS.len() as u8),
    };
    msl::Options {
        lang_version: (2, 0),
        per_entry_point_map: [(ENTRY.to_owned(), resources)].into_iter().collect(),
        fake_missing_bindings: false,
        bounds_check_policies: policies(BoundsCheckPolicy::Restrict, BoundsCheckPolicy::Restrict),
        zero_initialize_workgroup_memory: true,
        force_loop_bounding: true,
        ..msl::Options::default()
    }
});

/// Options for Direct3D 12 by FXC (shader model 5.1, which wgpu takes where no `dxcompiler.dll` is at hand) and by DXC;
/// the last is for texts with numbers of 16 bits, which need shader model 6.2.
static DIRECT3D: LazyLock<[hlsl::Options; 3]> = LazyLock::new(|| {
    use hlsl::ShaderModel::{V5_1, V6_0, V6_2};
    [V5_1, V6_0, V6_2].map(|shader_model| hlsl::Options {
        shader_model,
        fake_missing_bindings: false,
        // Read-only and writable buffers have registers of their own, `t` and `u`.
        binding_map: map(|binding, _| hlsl::BindTarget {
            register: binding,
            restrict_indexing: true,
            ..hlsl::BindTarget::default()
        }),
        // `num_workgroups` is passed in a constant.
        special_constants_binding: Some(hlsl::BindTarget::default()),
        zero_initialize_workgroup_memory: true,
        restrict_indexing: true,
        force_loop_bounding: true,
        ..hlsl::Options::default()
    })
});

/// Options for OpenGL ES 3.1 (EGL) and OpenGL 4.3 (Windows' WGL), the oldest versions with compute shaders.
static OPENGL: LazyLock<[glsl::Options; 2]> = LazyLock::new(|| {
    [glsl::Version::new_gles(310), glsl::Version::Desktop(430)].map(|version| glsl::Options {
        version,
        writer_flags: glsl::WriterFlags::ADJUST_COORDINATE_SPACE | glsl::WriterFlags::FORCE_POINT_SIZE,
        binding_map: map(|binding, _| binding as u8),
        zero_initialize_workgroup_memory: true,
    })
});

type Translator = fn(&Module, &ModuleInfo) -> Result<Vec<u8>, String>;

/// The translators: each returns the code for a language's driver, all versions one after the other; errors are naga's.
pub(super) const TRANSLATORS: [(&str, Translator); 4] =
    [(SPIRV_NAME, spirv), ("MSL", metal), ("HLSL", direct3d), ("GLSL", opengl)];

/// The language whose code is frozen.
pub(super) const SPIRV_NAME: &str = "SPIR-V";

fn entry() -> (ShaderStage, String) {
    (ShaderStage::Compute, ENTRY.to_owned())
}

/// Returns SPIR-V without debug names.
pub(super) fn spirv(module: &Module, info: &ModuleInfo) -> Result<Vec<u8>, String> {
    Ok(spirv_versions(module, info)?.concat())
}

fn spirv_versions(module: &Module, info: &ModuleInfo) -> Result<Vec<Vec<u8>>, String> {
    let version = |options| -> Result<Vec<u8>, spv::Error> {
        let (shader_stage, entry_point) = entry();
        let pipeline = spv::PipelineOptions { shader_stage, entry_point };
        let words = spv::write_vec(module, info, options, Some(&pipeline))?;
        Ok(words.into_iter().flat_map(u32::to_le_bytes).collect())
    };
    SPIRV.iter().map(|options| version(options).map_err(|error| error.to_string())).collect()
}

fn metal(module: &Module, info: &ModuleInfo) -> Result<Vec<u8>, String> {
    let pipeline = msl::PipelineOptions { entry_point: Some(entry()), ..msl::PipelineOptions::default() };
    let (text, translated) = msl::write_string(module, info, &METAL, &pipeline).map_err(|error| error.to_string())?;
    // naga reports missing bindings here.
    translated
        .entry_point_names
        .into_iter()
        .try_for_each(|name| name.map(|_| ()))
        .map_err(|error| error.to_string())?;
    Ok(text.into_bytes())
}

fn direct3d(module: &Module, info: &ModuleInfo) -> Result<Vec<u8>, String> {
    Ok(direct3d_versions(module, info)?.concat())
}

/// True if a text has numbers of 16 bits.
fn has_16_bits(module: &Module) -> bool {
    module.types.iter().any(|(_, ty)| matches!(ty.inner, TypeInner::Scalar(scalar) if scalar.width == 2))
}

fn direct3d_versions(module: &Module, info: &ModuleInfo) -> Result<Vec<Vec<u8>>, String> {
    let pipeline = hlsl::PipelineOptions { entry_point: Some(entry()) };
    let version = |options| -> Result<Vec<u8>, String> {
        let mut text = String::new();
        let translated = hlsl::Writer::new(&mut text, options, &pipeline).write(module, info, None);
        let names = translated.map_err(|error| error.to_string())?.entry_point_names;
        names.into_iter().try_for_each(|name| name.map(|_| ())).map_err(|error| error.to_string())?;
        Ok(text.into_bytes())
    };
    let versions = if has_16_bits(module) { &DIRECT3D[2..] } else { &DIRECT3D[..2] };
    versions.iter().map(version).collect()
}

/// The versions of the two languages that compilers from elsewhere read, with the ends of their files' names.
pub(super) fn files(module: &Module, info: &ModuleInfo) -> Result<Vec<(&'static str, Vec<u8>)>, String> {
    let spirv = ["vulkan1.0.spv", "vulkan1.3.spv"].into_iter().zip(spirv_versions(module, info)?);
    let names: &[_] = if has_16_bits(module) { &["6_2.hlsl"] } else { &["5_1.hlsl", "6_0.hlsl"] };
    let direct3d = names.iter().copied().zip(direct3d_versions(module, info)?);
    Ok(spirv.chain(direct3d).collect())
}

fn opengl(module: &Module, info: &ModuleInfo) -> Result<Vec<u8>, String> {
    // wgpu has no numbers of 16 bits on OpenGL.
    if has_16_bits(module) {
        return Ok(Vec::new());
    }
    let (shader_stage, entry_point) = entry();
    let pipeline = glsl::PipelineOptions { shader_stage, entry_point, multiview: None };
    // wgpu asks for no bounds checks here, because GLSL's own rules and the driver's robustness stand in.
    let policies = policies(BoundsCheckPolicy::Unchecked, BoundsCheckPolicy::Unchecked);
    let mut text = String::new();
    for options in OPENGL.iter() {
        glsl::Writer::new(&mut text, module, info, options, &pipeline, policies)
            .and_then(|mut writer| writer.write())
            .map_err(|error| error.to_string())?;
    }
    Ok(text.into_bytes())
}

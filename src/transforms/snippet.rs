//! Checks a user's WGSL text by itself, so that errors have the lines of that text, and renames its declarations, so
//! that it can be put among gpufeed's own functions and those of other snippets.

use crate::error::{Error, ErrorKind, Result};
use naga::{Scalar, TypeInner, VectorSize};
use std::collections::HashSet;

/// Checks that `text` by itself is valid WGSL, holds only functions, constants and types, and defines
/// `fn name(vec3<f32>, vec4<f32>) -> vec3<f32>`.
pub(super) fn check(name: &'static str, text: &str) -> Result<()> {
    let fail = |reason: String| -> Error { ErrorKind::Snippet { transform: name, reason }.into() };
    let (module, info) = compile(name, text).map_err(fail)?;
    refuse_resources(text).map_err(fail)?;
    if let Some(entry) = module.entry_points.first() {
        return Err(fail(format!("`{}` is an entry point; a colour step is a plain function", entry.name)));
    }
    let line = |handle| module.functions.get_span(handle).location(text).line_number;
    for (handle, function) in module.functions.iter() {
        let info = &info[handle];
        if !info.available_stages.contains(naga::valid::ShaderStages::COMPUTE)
            || !info.uniformity.requirements.is_empty()
        {
            let function = function.name.as_deref().unwrap_or_default();
            let reason = "uses a barrier, a derivative or discard, which a colour step cannot";
            return Err(fail(format!("line {}: `{function}` {reason}", line(handle))));
        }
    }
    let wanted = format!("fn {name}(color: vec3<f32>, parameters: vec4<f32>) -> vec3<f32>");
    let found = module.functions.iter().find(|(_, function)| function.name.as_deref() == Some(name));
    let Some((handle, function)) = found else {
        let there = module.functions.iter().filter_map(|(_, function)| function.name.as_deref());
        let there = there.collect::<Vec<_>>().join(", ");
        return Err(fail(format!("no function `{name}`; it must define {wanted} (functions found: {there})")));
    };
    let is_vector = |ty: naga::Handle<naga::Type>, size: VectorSize| {
        let scalar = Scalar::F32;
        module.types[ty].inner == TypeInner::Vector { size, scalar }
    };
    let fits = match (&function.arguments[..], &function.result) {
        ([color, parameters], Some(result)) => {
            is_vector(color.ty, VectorSize::Tri)
                && is_vector(parameters.ty, VectorSize::Quad)
                && is_vector(result.ty, VectorSize::Tri)
        }
        _ => false,
    };
    if !fits {
        return Err(fail(format!("line {}: `{name}` must be {wanted}", line(handle))));
    }
    // A text that is valid with unique names is valid among gpufeed's functions and other snippets.
    let reason = "valid as it is, but not with its names changed, which is needed to combine it with others";
    compile(name, &renamed(text, "renamed_")).map_err(|error| fail(format!("{reason}: {error}")))?;
    Ok(())
}

/// Parses and validates a text; errors are naga's messages, with the line.
fn compile(name: &str, text: &str) -> Result<(naga::Module, naga::valid::ModuleInfo), String> {
    let trimmed = |message: String| message.trim_end().to_owned();
    let module = naga::front::wgsl::parse_str(text);
    let module = module.map_err(|error| trimmed(error.emit_to_string_with_path(text, name)))?;
    let capabilities = naga::valid::Capabilities::empty();
    let info = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), capabilities).validate(&module);
    let info = info.map_err(|error| trimmed(error.emit_to_string_with_path(text, name)))?;
    Ok((module, info))
}

/// A colour step is a function of its arguments: it may have other functions, constants and types, nothing else.
fn refuse_resources(text: &str) -> Result<(), String> {
    let mut depth = 0;
    for (at, token) in tokens(text) {
        match token {
            "{" => depth += 1,
            "}" => depth -= 1,
            "var" | "override" | "enable" | "requires" | "diagnostic" if depth == 0 => {
                let line = text[..at].matches('\n').count() + 1;
                return Err(format!(
                    "line {line}: `{token}` outside a function; a colour step may have functions, constants, structs \
                     and aliases, but no variables, bindings, overrides or extensions"
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Puts `prefix` in front of every name that `text` declares outside functions, at every use of the name.
///
/// It also renames local variables with such a name, which has no effect on the result. Members of structs are not
/// renamed.
pub(crate) fn renamed(text: &str, prefix: &str) -> String {
    let tokens = tokens(text);
    let names = declared(&tokens);
    let mut result = String::with_capacity(text.len() + 64);
    let (mut written, mut in_struct) = (0, false);
    for (i, &(at, token)) in tokens.iter().enumerate() {
        match token {
            "struct" => in_struct = true,
            "}" => in_struct = false,
            _ => {}
        }
        let before = i.checked_sub(1).map_or("", |i| tokens[i].1);
        let after = tokens.get(i + 1).map_or("", |token| token.1);
        let is_member = before == "." || (in_struct && after == ":");
        if names.contains(token) && !is_member && before != "@" {
            result.push_str(&text[written..at]);
            result.push_str(prefix);
            written = at;
        }
    }
    result.push_str(&text[written..]);
    result
}

/// Returns the names declared outside functions.
fn declared<'a>(tokens: &[(usize, &'a str)]) -> HashSet<&'a str> {
    let mut depth = 0;
    let mut names = HashSet::new();
    for pair in tokens.windows(2) {
        match pair[0].1 {
            "{" => depth += 1,
            "}" => depth -= 1,
            "fn" | "const" | "struct" | "alias" if depth == 0 => {
                names.insert(pair[1].1);
            }
            _ => {}
        }
    }
    names
}

/// Returns the words and marks of valid WGSL, each with the byte at which it starts, without comments. WGSL has no
/// strings.
fn tokens(text: &str) -> Vec<(usize, &str)> {
    let is_word = |c: char| c == '_' || c.is_ascii_alphanumeric() || !c.is_ascii();
    let ends_line = |c: char| matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (len, is_token) = if rest.starts_with("//") {
            (rest.find(ends_line).unwrap_or(rest.len()), false)
        } else if rest.starts_with("/*") {
            (block_comment(rest), false)
        } else if is_word(first) {
            (rest.find(|c| !is_word(c)).unwrap_or(rest.len()), true)
        } else {
            (first.len_utf8(), !first.is_whitespace())
        };
        if is_token {
            tokens.push((at, &rest[..len]));
        }
        at += len;
    }
    tokens
}

/// Returns the length in bytes of the comment at the start of `text`; such comments nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while let Some(first) = text[at..].chars().next() {
        let mark = text.get(at..at + 2);
        match mark {
            Some("/*") => depth += 1,
            Some("*/") => depth -= 1,
            _ => {
                at += first.len_utf8();
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_is_renamed_everywhere_but_in_members() {
        let text = "
// fn comment: curve /* not the start of a block
const CURVE = 2.0; /* fn no() /* nested: curve */ curve */
struct Pair { curve: f32, x: f32 }
alias Real = f32;
fn curve(x: Real) -> Real { var p = Pair(x, CURVE); p.curve *= 1.; return p.curve; }
fn x(curve: f32) -> vec3<f32> { switch 2 { case i32(CURVE): { return vec3(curve).xxx; } default: {} } return x(curve(1.0f)); }";
        let expected = "
// fn comment: curve /* not the start of a block
const c_CURVE = 2.0; /* fn no() /* nested: curve */ curve */
struct c_Pair { curve: f32, x: f32 }
alias c_Real = f32;
fn c_curve(c_x: c_Real) -> c_Real { var p = c_Pair(c_x, c_CURVE); p.curve *= 1.; return p.curve; }
fn c_x(c_curve: f32) -> vec3<f32> { switch 2 { case i32(c_CURVE): { return vec3(c_curve).xxx; } default: {} } return c_x(c_curve(1.0f)); }";
        assert_eq!(renamed(text, "c_"), expected);
    }
}

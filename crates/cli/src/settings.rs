//! Combines the loader settings of a file, `--settings FILE`, with a recipe.

use gpufeed::{LoaderSettings, Output, Recipe};

/// Moves the output (layout and type), the semantics and the number of views from the settings into the recipe, if the
/// settings have them. Then they also apply where the command uses the recipe without a loader. Of a recipe with groups
/// they are for the groups that name none.
pub(crate) fn move_into(recipe: &mut Recipe, settings: &mut LoaderSettings) {
    let (layout, dtype) = (settings.layout.take(), settings.dtype.take());
    if layout.is_some() || dtype.is_some() {
        let output = recipe.output.unwrap_or_default();
        recipe.output = Some(Output { layout: layout.unwrap_or(output.layout), dtype: dtype.unwrap_or(output.dtype) });
    }
    recipe.semantics = settings.semantics.take().or(recipe.semantics);
    recipe.views = settings.views.take().unwrap_or(recipe.views);
}

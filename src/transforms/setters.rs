//! The setters that operators share. `mod.rs` has this file first, so that all operators see its macros.

/// Writes the setters of an operator that resizes.
macro_rules! resize_setters {
    () => {
        /// Sets the filter, bilinear by default.
        pub fn interpolation(self, interpolation: crate::transforms::Interpolation) -> Self {
            Self { interpolation, ..self }
        }

        /// Switches antialiasing on or off.
        pub fn antialias(self, antialias: bool) -> Self {
            Self { antialias, ..self }
        }
    };
}

/// Writes the setters of an operator that warps, with their documentation.
macro_rules! warp_setters {
    ($interpolation:literal, $fill:literal) => {
        #[doc = $interpolation]
        pub fn interpolation(self, interpolation: crate::transforms::Interpolation) -> Self {
            Self { interpolation, ..self }
        }

        #[doc = $fill]
        pub fn fill(self, fill: impl Into<crate::transforms::Fill>) -> Self {
            Self { fill: fill.into(), ..self }
        }
    };
}

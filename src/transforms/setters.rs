//! Macros that write the setter methods which several operators (transforms) share. `mod.rs` declares this module
//! first, so that all operators see its macros.

/// Writes the setter methods of an operator that resizes images.
macro_rules! resize_setters {
    () => {
        /// Sets the interpolation filter, which is bilinear by default.
        pub fn interpolation(self, interpolation: crate::transforms::Interpolation) -> Self {
            Self { interpolation, ..self }
        }

        /// Switches antialiasing on or off.
        pub fn antialias(self, antialias: bool) -> Self {
            Self { antialias, ..self }
        }
    };
}

/// Writes the setter methods of an operator that warps images. The two literals are the documentation of the methods.
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

/// Writes the setter methods of an operator that crops, or adds a border.
macro_rules! border_setters {
    () => {
        /// Sets the border's colour.
        pub fn fill(self, fill: [f32; 3]) -> Self {
            Self { fill, ..self }
        }

        /// Sets the pixels of the border.
        pub fn padding_mode(self, padding_mode: crate::transforms::PaddingMode) -> Self {
            Self { padding_mode, ..self }
        }
    };
}

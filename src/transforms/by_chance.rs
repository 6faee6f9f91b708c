//! The form of operators that emit one op with a probability, and have no other argument.

/// Writes such an operator: its documentation, its name, the op, and what the planner must know of the op.
macro_rules! by_chance {
    ($(#[$documentation:meta])* $name:ident emits $op:expr, $effect:expr) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            /// Probability in \[0, 1\]; 0.5 by default.
            pub p: f64,
        }

        impl $name {
            /// Applies it with probability `p`.
            pub fn new(p: f64) -> Self {
                $name { p }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $name { p: 0.5 }
            }
        }

        impl super::Operator for $name {
            const NAME: &'static str = stringify!($name);

            fn validate(&self) -> crate::error::Result<()> {
                super::arguments::check_probability(self.p)
            }

            fn slots(&self, slots: &mut super::Slots) {
                slots.push(Self::NAME, $effect);
            }

            fn make_params(
                &self,
                context: &mut super::params::Context<'_>,
                numbers: &mut super::Numbers,
            ) -> crate::error::Result<()> {
                if numbers.chance(self.p) { context.emit(0, $op) } else { Ok(()) }
            }
        }
    };
}

pub(super) use by_chance;

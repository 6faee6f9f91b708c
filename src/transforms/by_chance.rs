//! Defines a macro for the operators that are applied to an image with a probability, and have no other argument.

/// Defines an operator that is applied with a probability. The macro takes the operator's documentation and name, the
/// op (operation) that it emits, and the op's effect on an image, which the planner has to know.
macro_rules! by_chance {
    ($(#[$documentation:meta])* $name:ident emits $op:expr, $effect:expr) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            /// The probability with which the operator is applied, in \[0, 1\]; 0.5 by default.
            pub p: f64,
        }

        impl $name {
            /// Makes the operator, which is applied with probability `p`.
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

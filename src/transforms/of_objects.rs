//! Defines a macro for the operators that change the objects of an image alone, and have one argument or none.

/// Defines an operator that emits the [`ObjectOp`](crate::objects::ObjectOp) of its own name. The macro takes the operator's
/// documentation and name, and its argument: the documentation, the name, the type, and the values that work.
macro_rules! of_objects {
    ($(#[$documentation:meta])* $name:ident { $($(#[$described:meta])* $argument:ident: $type:ty, $works:literal)? }) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, Eq, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$described])* pub $argument: $type,)?
        }

        impl $name {
            /// Makes the operator, which leaves pixels alone.
            pub fn new($($argument: $type)?) -> Self {
                $name { $($argument)? }
            }
        }

        impl super::Operator for $name {
            const NAME: &'static str = stringify!($name);
            const FIXED: bool = true;
            const KEYS: &[(&str, &str)] = &[$((stringify!($argument), $works))?];

            fn validate(&self) -> crate::error::Result<()> {
                Ok(())
            }

            fn slots(&self, slots: &mut super::Slots) {
                slots.push(Self::NAME, super::Effect::Objects);
            }

            fn make_params(
                &self,
                context: &mut super::params::Context<'_>,
                _: &mut super::Numbers,
            ) -> crate::error::Result<()> {
                context.emit(0, super::Op::Objects(crate::objects::ObjectOp::$name { $($argument: self.$argument)? }))
            }
        }
    };
}

pub(super) use of_objects;

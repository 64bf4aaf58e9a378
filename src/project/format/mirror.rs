//! The bridge between a frozen on-disk type and the living type of the program.
//!
//! A frozen type lists its fields in full, and the macros name each of them in both directions, so
//! a field added to a living type does not compile until the format has an answer for it.

use std::collections::BTreeMap;

/// A type of the document that stands for one of the program.
pub(super) trait Frozen {
    /// The program's type.
    type Live;
    /// What is written for a value.
    fn freeze(live: &Self::Live) -> Self;
    /// The value that was written.
    fn thaw(self) -> Self::Live;
}

/// Types with a text form that does not change: written as they are.
macro_rules! as_is {
    ($($leaf:ty),* $(,)?) => {$(
        impl Frozen for $leaf {
            type Live = Self;
            fn freeze(live: &Self) -> Self {
                live.clone()
            }
            fn thaw(self) -> Self {
                self
            }
        }
    )*};
}

as_is!(
    bool,
    i32,
    u32,
    u64,
    f64,
    String,
    crate::catalog::GpuId,
    crate::catalog::ModelId,
    crate::catalog::NicId,
    crate::catalog::NodeTypeId,
    crate::catalog::SwitchTypeId,
    crate::cluster::GpuRange,
    crate::cluster::GroupId,
    crate::cluster::LinkId,
    crate::plan::DesignId,
    crate::plan::PoolId,
    crate::plan::ServiceId,
    crate::units::ByteRate,
    crate::units::Bytes,
    crate::units::Seconds,
    crate::units::Tokens,
);

impl<T: Frozen> Frozen for Vec<T> {
    type Live = Vec<T::Live>;
    fn freeze(live: &Self::Live) -> Self {
        live.iter().map(T::freeze).collect()
    }
    fn thaw(self) -> Self::Live {
        self.into_iter().map(T::thaw).collect()
    }
}

impl<T: Frozen> Frozen for Option<T> {
    type Live = Option<T::Live>;
    fn freeze(live: &Self::Live) -> Self {
        live.as_ref().map(T::freeze)
    }
    fn thaw(self) -> Self::Live {
        self.map(T::thaw)
    }
}

impl<T: Frozen> Frozen for Box<T> {
    type Live = Box<T::Live>;
    fn freeze(live: &Self::Live) -> Self {
        Self::new(T::freeze(live))
    }
    fn thaw(self) -> Self::Live {
        Box::new((*self).thaw())
    }
}

impl<T: Frozen> Frozen for BTreeMap<u32, T> {
    type Live = BTreeMap<u32, T::Live>;
    fn freeze(live: &Self::Live) -> Self {
        live.iter()
            .map(|(key, value)| (*key, T::freeze(value)))
            .collect()
    }
    fn thaw(self) -> Self::Live {
        self.into_iter()
            .map(|(key, value)| (key, value.thaw()))
            .collect()
    }
}

/// A struct of the document: `Name as path::Live { #[serde(…)] field: FrozenType, … }`.
macro_rules! frozen_struct {
    ($(#[$meta:meta])* $name:ident as $live:path { $($(#[$field_meta:meta])* $field:ident: $type:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(in crate::project) struct $name {
            $($(#[$field_meta])* $field: $type),*
        }

        impl Frozen for $name {
            type Live = $live;
            fn freeze(live: &$live) -> Self {
                let $live { $($field),* } = live;
                Self { $($field: Frozen::freeze($field)),* }
            }
            fn thaw(self) -> $live {
                let Self { $($field),* } = self;
                $live { $($field: $field.thaw()),* }
            }
        }
    };
}

/// An enum of the document: variants without content, with one value (`Name(value: Type)`), or
/// with fields.
macro_rules! frozen_enum {
    ($(#[$meta:meta])* $name:ident as $live:ty {
        $($(#[$variant_meta:meta])* $variant:ident $(($inner:ident: $inner_type:ty))? $({ $($(#[$field_meta:meta])* $field:ident: $type:ty),* $(,)? })?),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(in crate::project) enum $name {
            $($(#[$variant_meta])* $variant $(($inner_type))? $({ $($(#[$field_meta])* $field: $type),* })?),*
        }

        impl Frozen for $name {
            type Live = $live;
            fn freeze(live: &$live) -> Self {
                type Live = $live;
                match live {
                    $(Live::$variant $(($inner))? $({ $($field),* })? =>
                        Self::$variant $((Frozen::freeze($inner)))? $({ $($field: Frozen::freeze($field)),* })?),*
                }
            }
            fn thaw(self) -> $live {
                type Live = $live;
                match self {
                    $(Self::$variant $(($inner))? $({ $($field),* })? =>
                        Live::$variant $(($inner.thaw()))? $({ $($field: $field.thaw()),* })?),*
                }
            }
        }
    };
}

pub(super) use {frozen_enum, frozen_struct};

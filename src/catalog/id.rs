//! Typed names. A GPU type, a group and a pool are all called by a short word in files, but one
//! is never taken for another.

use thiserror::Error;

/// Why a word can't be an id.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "“{text}” can't be an id: use 1 to 64 lower-case letters, digits, “-”, “_” or “.”, starting with a letter or digit"
)]
pub struct IdError {
    /// What was given (cut to a readable length).
    pub text: String,
}

/// Checks the shape every id has.
pub(crate) fn check_id(text: &str) -> Result<(), IdError> {
    let legal =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    let starts = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if text.len() <= 64 && text.starts_with(starts) && text.chars().all(legal) {
        Ok(())
    } else {
        Err(IdError {
            text: text.chars().take(80).collect(),
        })
    }
}

/// Turns any label into the nearest legal id (`HGX H800 · n0` → `hgx-h800-n0`).
#[must_use]
pub fn slug(label: &str) -> String {
    let mut out = String::new();
    for c in label.chars() {
        let c = c.to_ascii_lowercase();
        if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        if out.len() == 60 {
            break;
        }
    }
    let out = out.trim_matches(|c| c == '-' || c == '.').to_owned();
    if out.is_empty() { "x".to_owned() } else { out }
}

/// Declares a typed id.
macro_rules! typed_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// Checks and takes a word.
            ///
            /// # Errors
            /// The word has characters an id can't have, or is empty or too long.
            pub fn new(text: &str) -> Result<Self, $crate::catalog::IdError> {
                $crate::catalog::check_id(text)?;
                Ok(Self(text.into()))
            }

            /// The nearest legal id to a label.
            #[must_use]
            pub fn from_label(label: &str) -> Self {
                Self($crate::catalog::slug(label).into())
            }

            /// The word.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::catalog::IdError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'_, str>::deserialize(deserializer)?;
                Self::new(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use typed_id;

typed_id!(
    /// A GPU type of the catalog, `h800-sxm`.
    GpuId
);
typed_id!(
    /// A NIC type of the catalog, `cx7-400g`.
    NicId
);
typed_id!(
    /// A node (server or rack) type of the catalog, `hgx-h800`.
    NodeTypeId
);
typed_id!(
    /// A switch type of the catalog, `qm9700-64x400g`.
    SwitchTypeId
);
typed_id!(
    /// A model preset of the catalog, `qwen3-30b-a3b`.
    ModelId
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_one_shape() {
        assert!(GpuId::new("h800-sxm").is_ok());
        for bad in ["", "H800", "-x", "a b", "ä", &"x".repeat(65)] {
            assert!(GpuId::new(bad).is_err(), "{bad}");
        }
        assert_eq!(slug("HGX H800 · n0"), "hgx-h800-n0");
        assert!(GpuId::new(&slug("…")).is_ok());
    }
}

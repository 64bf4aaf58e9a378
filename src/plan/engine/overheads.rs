//! What an engine's server costs beside its kernels, by version: six numbers a class, each a thing one
//! could time, fitted to measured deployments (`frontier validate --rows`).
//!
//! One file, `presets/engines/overheads.ron`. A class begins at a version and holds up to the next.

use super::Engine;
use super::EngineKind;
use super::defaults::Version;
use crate::catalog::preset_files;
use crate::units::Seconds;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// Overheads of a class of versions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overheads {
    /// Whose.
    pub engine: EngineKind,
    /// First version; `0`: all from the first on.
    pub since: String,
    /// Host time of a step for each of its sequences.
    pub per_sequence: Seconds,
    /// Taking one request in, one at a time.
    pub request: Seconds,
    /// Handing one token out, one at a time.
    pub output: Seconds,
    /// A request outside the server.
    pub network: Seconds,
    /// The device stands so long at each launch.
    pub gap: Seconds,
    /// Slowdown of a kernel that keeps the tensor cores wholly busy, as a share.
    pub sustained: f64,
    /// How it was found.
    pub source: String,
}

impl Overheads {
    /// How many numbers a class has.
    pub const COUNT: usize = 6;
    /// Their names, in the order of [`Self::values`].
    pub const NAMES: [&'static str; Self::COUNT] = [
        "per sequence",
        "per request",
        "per token out",
        "network",
        "launch gap",
        "sustained load",
    ];
    /// The largest that is plausible of each: seconds, and a share.
    pub const MOST: [f64; Self::COUNT] = [30e-6, 6e-3, 40e-6, 40e-3, 20e-6, 0.6];

    /// The numbers, seconds but for the last.
    #[must_use]
    pub const fn values(&self) -> [f64; Self::COUNT] {
        [
            self.per_sequence.get(),
            self.request.get(),
            self.output.get(),
            self.network.get(),
            self.gap.get(),
            self.sustained,
        ]
    }

    /// The same class with other numbers, as files keep them: to a tenth of a microsecond, a
    /// thousandth.
    #[must_use]
    pub fn with(&self, values: [f64; Self::COUNT]) -> Self {
        let time = |seconds: f64| Seconds::new((seconds.max(0.0) * 1e7).round() / 1e7);
        let [per_sequence, request, output, network, gap, sustained] = values;
        Self {
            per_sequence: time(per_sequence),
            request: time(request),
            output: time(output),
            network: time(network),
            gap: time(gap),
            sustained: (sustained.max(0.0) * 1e3).round() / 1e3,
            ..self.clone()
        }
    }

    /// Puts them into an engine's settings.
    pub fn put(&self, engine: &mut Engine) {
        engine.host.per_sequence = self.per_sequence;
        engine.host.request = self.request;
        engine.host.output = self.output;
        engine.host.network = self.network;
        engine.host.gap = self.gap;
        engine.sustained = self.sustained;
    }

    /// The class of an engine's version among some, in order of versions.
    #[must_use]
    pub fn of<'a>(engine: &Engine, classes: &'a [Self]) -> Option<&'a Self> {
        let version = Version::read(&engine.version)
            .or_else(|| Version::read(engine.kind.default_version()))?;
        classes
            .iter()
            .filter(|own| own.engine == engine.kind)
            .rfind(|own| Version::read(&own.since).is_some_and(|since| since <= version))
    }

    /// Ours, in the order of the file.
    #[must_use]
    pub fn all() -> &'static [Self] {
        all()
    }
}

/// All classes, in the order of the file.
fn all() -> &'static [Overheads] {
    static ALL: OnceLock<Vec<Overheads>> = OnceLock::new();
    ALL.get_or_init(|| {
        // Ours are read by a test; a broken file of a user's own means none.
        let Ok(files) = preset_files("engines", None) else {
            return Vec::new();
        };
        files
            .iter()
            .filter_map(|file| ron::from_str::<Vec<Overheads>>(&file.text).ok())
            .flatten()
            .filter(|own| !own.source.is_empty())
            .collect()
    })
}

/// Puts an engine's overheads into its settings.
pub(super) fn put(engine: &mut Engine) {
    if let Some(own) = Overheads::of(engine, all()) {
        own.put(engine);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_has_plausible_overheads_from_its_first_version_on() {
        let text = preset_files("engines", None).unwrap();
        assert_eq!(text.len(), 1);
        let read: Vec<Overheads> = ron::from_str(&text[0].text).unwrap();
        assert_eq!(read.len(), all().len());
        for kind in EngineKind::ALL {
            let own: Vec<_> = all().iter().filter(|own| own.engine == kind).collect();
            assert!(!own.is_empty(), "{kind:?}");
            let since: Vec<_> = own.iter().map(|own| Version::read(&own.since)).collect();
            assert!(since.is_sorted(), "{kind:?}");
            assert!(since[0] <= Version::read("0.1"), "{kind:?}");
        }
        for own in all() {
            for (value, most) in own.values().into_iter().zip(Overheads::MOST) {
                assert!((0.0..=most).contains(&value), "{own:?}");
            }
            let again = own.with(own.values()).values();
            assert!(
                again
                    .iter()
                    .zip(own.values())
                    .all(|(a, b)| (a - b).abs() < 1e-12)
            );
        }
    }
}

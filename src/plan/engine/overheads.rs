//! What an engine's server costs beside its kernels, by version: six numbers a class, each a thing one
//! could time, fitted to measured deployments (`frontier validate --rows`).
//!
//! One file, `presets/engines/overheads.ron`. A class begins at a version and holds up to the next.

use super::Engine;
use super::EngineKind;
use super::defaults::Version;
use crate::catalog::preset_files;
use crate::units::Seconds;
use serde::Deserialize;
use std::sync::OnceLock;

/// Overheads of a class of versions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Overheads {
    engine: EngineKind,
    /// First version.
    since: String,
    /// Host time of a step for each of its sequences.
    per_sequence: Seconds,
    /// Taking one request in, one at a time.
    request: Seconds,
    /// Handing one token out, one at a time.
    output: Seconds,
    /// A request outside the server.
    network: Seconds,
    /// The device stands so long at each launch.
    gap: Seconds,
    /// Slowdown of a kernel that keeps the tensor cores wholly busy.
    sustained: f64,
    /// How it was found.
    source: String,
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
    let Some(version) =
        Version::read(&engine.version).or_else(|| Version::read(engine.kind.default_version()))
    else {
        return;
    };
    let class = all()
        .iter()
        .filter(|own| own.engine == engine.kind)
        .filter(|own| Version::read(&own.since).is_some_and(|since| since <= version))
        .next_back();
    if let Some(own) = class {
        engine.host.per_sequence = own.per_sequence;
        engine.host.request = own.request;
        engine.host.output = own.output;
        engine.host.network = own.network;
        engine.host.gap = own.gap;
        engine.sustained = own.sustained;
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
            assert!(own.per_sequence.get() <= 100e-6, "{own:?}");
            assert!(own.request.get() <= 20e-3, "{own:?}");
            assert!(own.output.get() <= 100e-6, "{own:?}");
            assert!(own.network.get() <= 0.1, "{own:?}");
            assert!(own.gap.get() <= 20e-6, "{own:?}");
            assert!((0.0..=1.5).contains(&own.sustained), "{own:?}");
        }
    }
}

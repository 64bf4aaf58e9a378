//! The calibrations we ship and a user's: files, and which surface prices what is asked.
//!
//! A file is `presets/calibration/<name>.ron`: which fit made it, the hashes of its data and code,
//! and the surfaces of one GPU. What is asked for need not be there: another version of the engine,
//! another engine, another kernel, another GPU of the same kind stand in, in that order, and the
//! answer says which.

use super::forest::{Forest, ForestError};
use super::kernel::Parameter;
use super::relatives::Relative;
use super::shape::Family;
use super::surface::{Attributes, Errors, Surface, TableId};
use crate::catalog::{CatalogError, GpuId, preset_layers};
use crate::cost::operator::Band;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Folder under `presets/`.
pub const KIND: &str = "calibration";
/// What files of this program say they are.
pub const VERSION: u32 = 1;
/// Most hashes a file names of the fits it was put together from.
const MOST_HASHES: usize = 16;

/// What a price is wanted for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wanted<'a> {
    /// On which GPU.
    pub gpu: &'a GpuId,
    /// Of which kernels.
    pub family: Family,
    /// In which number formats.
    pub precision: &'a str,
    /// Of which engine.
    pub engine: &'a str,
    /// Of which version; empty: the newest.
    pub version: &'a str,
    /// Which of its kernels; empty: the one it uses most.
    pub kernel: &'a str,
    /// Pieces of kernels' names, the most wanted first, before versions are compared.
    pub tags: &'a [&'a str],
}

/// How near the surface found is to what was wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// It is it.
    Exact,
    /// Another kernel of the same engine.
    Kernel,
    /// Another version of the engine.
    Version,
    /// Another engine on the same GPU.
    Engine,
    /// A relative's, scaled by the physics.
    Relative,
}

impl Match {
    /// Its words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "its own fit",
            Self::Kernel => "another kernel of the engine",
            Self::Version => "another version of the engine",
            Self::Engine => "another engine",
            Self::Relative => "a relative GPU",
        }
    }
}

/// Why a calibration file does not load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CalibrationError {
    /// Can't be read.
    #[error(transparent)]
    Unreadable(#[from] CatalogError),
    /// Not RON of this form.
    #[error("{file}: {why}")]
    Syntax {
        /// Which file.
        file: String,
        /// Where and why.
        why: String,
    },
    /// A version this program does not read.
    #[error("{file}: version {found}; this program reads {VERSION}")]
    Version {
        /// Which file.
        file: String,
        /// Its version.
        found: u32,
    },
    /// A surface that cannot be.
    #[error("{file}: {surface}: {why}")]
    Surface {
        /// Which file.
        file: String,
        /// Which surface.
        surface: String,
        /// What is wrong with it.
        why: String,
    },
}

/// A file's form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationFile {
    /// [`VERSION`].
    pub version: u32,
    /// Hash of the measurements it was fitted on.
    pub data: String,
    /// Hash of the code that fitted it.
    pub code: String,
    /// The GPU.
    pub gpu: GpuId,
    /// Names of each family's parameters, in the order its surfaces give them.
    pub parameters: BTreeMap<Family, Vec<String>>,
    /// How far off its surfaces were on measurements they stood in for.
    pub stand_ins: Vec<StandIn>,
    /// The surfaces.
    pub surfaces: Vec<SurfaceRow>,
}

/// What is known of surfaces standing in for what was not measured: errors on tables that were.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandIn {
    /// Of which kernels.
    pub family: Family,
    /// For what.
    pub near: Match,
    /// Rows, median, p90, p95, bias, and p10 and p90 of the log ratio.
    errors: ErrorNumbers,
}

/// Errors as files keep them.
type ErrorNumbers = (usize, f64, f64, f64, f64, f64, f64);

fn numbers_of(e: &Errors) -> ErrorNumbers {
    (
        e.rows,
        rounded(e.median, 3),
        rounded(e.p90, 3),
        rounded(e.p95, 3),
        rounded(e.bias, 3),
        rounded(e.low, 3),
        rounded(e.high, 3),
    )
}

fn errors_from((rows, median, p90, p95, bias, low, high): ErrorNumbers) -> Result<Errors, String> {
    if [median, p90, p95, bias, low, high]
        .iter()
        .any(|number| !number.is_finite())
    {
        return Err("an error is not a number".to_owned());
    }
    Ok(Errors {
        rows,
        median,
        p90,
        p95,
        bias,
        low,
        high,
    })
}

impl StandIn {
    /// Of measured errors.
    #[must_use]
    pub fn of(family: Family, near: Match, errors: &Errors) -> Self {
        Self {
            family,
            near,
            errors: numbers_of(errors),
        }
    }
}

/// A surface in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurfaceRow {
    family: Family,
    engine: String,
    version: String,
    precision: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    kernel: String,
    #[serde(default, skip_serializing_if = "is_false")]
    quantises: bool,
    #[serde(default, skip_serializing_if = "is_zero")]
    host_us: f64,
    #[serde(default, skip_serializing_if = "is_false")]
    hot_l2: bool,
    parameters: Vec<f64>,
    range: Vec<(f64, f64)>,
    /// On held-out keys.
    held_out: ErrorNumbers,
    scale: f64,
    trees: String,
}

impl CalibrationFile {
    /// Reads a file's form; `file` says whose. What the surfaces hold is not looked at.
    ///
    /// # Errors
    /// Text of another form or version.
    pub fn read(text: &str, file: &str) -> Result<Self, CalibrationError> {
        let own: Self = ron::from_str(text).map_err(|error| CalibrationError::Syntax {
            file: file.to_owned(),
            why: error.to_string(),
        })?;
        if own.version == VERSION {
            Ok(own)
        } else {
            Err(CalibrationError::Version {
                file: file.to_owned(),
                found: own.version,
            })
        }
    }

    /// This file over an older one of the same GPU: tables that were not fitted anew stay, and so
    /// do the hashes they came from.
    #[must_use]
    pub fn over(mut self, older: Self) -> Self {
        let fitted = |row: &SurfaceRow| self.surfaces.iter().any(|own| own.is_of(row));
        let kept: Vec<SurfaceRow> = older.surfaces.into_iter().filter(|r| !fitted(r)).collect();
        if kept.is_empty() {
            return self;
        }
        for (words, before) in [(&mut self.data, older.data), (&mut self.code, older.code)] {
            for word in before.split(' ').take(MOST_HASHES) {
                if !words.split(' ').any(|own| own == word) {
                    words.push(' ');
                    words.push_str(word);
                }
            }
        }
        for row in &kept {
            if let Some(names) = older.parameters.get(&row.family) {
                let known = self.parameters.entry(row.family);
                known.or_insert_with(|| names.clone());
            }
        }
        self.surfaces.extend(kept);
        for own in older.stand_ins {
            let same = |new: &StandIn| (new.family, new.near) == (own.family, own.near);
            if !self.stand_ins.iter().any(same) {
                self.stand_ins.push(own);
            }
        }
        self
    }

    /// The file's text: one surface a line, so that a diff shows which changed.
    #[must_use]
    pub fn text(&self) -> String {
        let plain = |value: &dyn Fn() -> Result<String, ron::Error>| value().unwrap_or_default();
        let mut out = format!(
            "(\n    version: {},\n    data: {:?},\n    code: {:?},\n    gpu: {},\n    parameters: {{\n",
            self.version,
            self.data,
            self.code,
            plain(&|| ron::to_string(&self.gpu)),
        );
        for own in &self.parameters {
            let (family, names) = (ron::to_string(own.0), ron::to_string(own.1));
            out.push_str(&format!(
                "        {}: {},\n",
                family.unwrap_or_default(),
                names.unwrap_or_default()
            ));
        }
        out.push_str("    },\n    stand_ins: [\n");
        for own in &self.stand_ins {
            out.push_str("        ");
            out.push_str(&plain(&|| ron::to_string(own)));
            out.push_str(",\n");
        }
        out.push_str("    ],\n    surfaces: [\n");
        for surface in &self.surfaces {
            out.push_str("        ");
            out.push_str(&plain(&|| ron::to_string(surface)));
            out.push_str(",\n");
        }
        out.push_str("    ],\n)\n");
        out
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
const fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// To so many significant digits, for files people diff.
#[must_use]
pub fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1))
        .parse()
        .unwrap_or(value)
}

impl SurfaceRow {
    /// A surface as a file keeps it.
    #[must_use]
    pub fn of(surface: &Surface) -> Self {
        let id = &surface.id;
        Self {
            family: id.family,
            engine: id.engine.clone(),
            version: id.version.clone(),
            precision: id.precision.clone(),
            kernel: id.kernel.clone(),
            quantises: surface.attributes.quantises,
            host_us: rounded(surface.attributes.host * 1e6, 4),
            hot_l2: surface.attributes.hot_l2,
            parameters: surface
                .parameters
                .iter()
                .map(|value| rounded(*value, 4))
                .collect(),
            range: surface
                .range
                .iter()
                .map(|(low, high)| (rounded(*low, 5), rounded(*high, 5)))
                .collect(),
            held_out: numbers_of(&surface.held_out),
            scale: rounded(surface.forest.scale, 6),
            trees: surface.forest.encode(),
        }
    }

    /// Its family.
    #[must_use]
    pub const fn family(&self) -> Family {
        self.family
    }

    /// Whether it is of the same table as another of its GPU.
    fn is_of(&self, other: &Self) -> bool {
        self.family == other.family
            && self.engine == other.engine
            && self.version == other.version
            && self.precision == other.precision
            && self.kernel == other.kernel
    }

    /// The surface, checked.
    fn surface(self, gpu: &GpuId) -> Result<Surface, String> {
        let family = self.family;
        let known = family.parameters();
        if self.parameters.len() != known.len() {
            return Err(format!(
                "{} parameters, {} has {}",
                self.parameters.len(),
                family.title(),
                known.len()
            ));
        }
        for (
            Parameter {
                name, low, high, ..
            },
            value,
        ) in known.iter().zip(&self.parameters)
        {
            if !(*value >= low * 0.999 && *value <= high * 1.001) {
                return Err(format!("{name} {value} is outside {low} … {high}"));
            }
        }
        if self.range.len() != family.sizes() {
            return Err(format!(
                "range has {} sizes, {} has {}",
                self.range.len(),
                family.title(),
                family.sizes()
            ));
        }
        let forest = Forest::decode(&self.trees, self.scale, family.features().len())
            .map_err(|error: ForestError| error.to_string())?;
        if !self.host_us.is_finite() {
            return Err("host time is not a number".to_owned());
        }
        if self
            .range
            .iter()
            .any(|(low, high)| !(low.is_finite() && high.is_finite()))
        {
            return Err("the range is not finite".to_owned());
        }
        Ok(Surface {
            id: TableId {
                gpu: gpu.clone(),
                family,
                engine: self.engine,
                version: self.version,
                precision: self.precision,
                kernel: self.kernel,
            },
            attributes: Attributes {
                quantises: self.quantises,
                host: self.host_us * 1e-6,
                hot_l2: self.hot_l2,
            },
            parameters: self.parameters,
            forest,
            range: self.range,
            held_out: errors_from(self.held_out)?,
            residuals: None,
        })
    }
}

/// All calibrations known.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Calibrations {
    surfaces: Vec<Arc<Surface>>,
    stand_ins: BTreeMap<(GpuId, Family, Match), Errors>,
}

impl Calibrations {
    /// Of these surfaces.
    #[must_use]
    pub fn of(surfaces: Vec<Surface>) -> Self {
        let mut surfaces: Vec<_> = surfaces.into_iter().map(Arc::new).collect();
        surfaces.sort_by(|a, b| a.id.cmp(&b.id));
        Self {
            surfaces,
            stand_ins: BTreeMap::new(),
        }
    }

    /// These surfaces over those of `self`: one of the same table is replaced.
    #[must_use]
    pub fn with(&self, over: Vec<Surface>) -> Self {
        let mut all: BTreeMap<TableId, Arc<Surface>> = self
            .surfaces
            .iter()
            .map(|own| (own.id.clone(), Arc::clone(own)))
            .collect();
        all.extend(over.into_iter().map(|own| (own.id.clone(), Arc::new(own))));
        Self {
            surfaces: all.into_values().collect(),
            stand_ins: self.stand_ins.clone(),
        }
    }

    /// These surfaces as far as `keep` says; what is known of their standing in stays.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&Surface) -> bool) -> Self {
        let kept = self.surfaces.iter().filter(|own| keep(own));
        Self {
            surfaces: kept.map(Arc::clone).collect(),
            stand_ins: self.stand_ins.clone(),
        }
    }

    /// Those we ship, read once per process.
    ///
    /// # Errors
    /// None in a released binary: a test reads every embedded file.
    pub fn embedded() -> Result<Arc<Self>, CalibrationError> {
        static SHARED: OnceLock<Result<Arc<Calibrations>, CalibrationError>> = OnceLock::new();
        SHARED
            .get_or_init(|| Self::load(None).map(Arc::new))
            .clone()
    }

    /// Ours, with those of a user's folder over them: a surface of the same table is replaced.
    ///
    /// # Errors
    /// A file that can't be read or is not whole.
    pub fn load(user_dir: Option<&Path>) -> Result<Self, CalibrationError> {
        let mut surfaces = BTreeMap::new();
        let mut stand_ins = BTreeMap::new();
        // Unpacking the forests is most of a start: side by side.
        let files: Vec<_> = preset_layers(KIND, user_dir)?.into_iter().collect();
        let parsed = files
            .par_iter()
            .map(|file| Self::parse(&file.text, &file.origin.to_string()))
            .collect::<Result<Vec<_>, _>>()?;
        for own in parsed {
            surfaces.extend(own.surfaces.into_iter().map(|own| (own.id.clone(), own)));
            stand_ins.extend(own.stand_ins);
        }
        Ok(Self {
            surfaces: surfaces.into_values().collect(),
            stand_ins,
        })
    }

    /// What one file's text holds.
    ///
    /// # Errors
    /// Text that is not a whole calibration file; `file` says whose.
    pub fn parse(text: &str, file: &str) -> Result<Self, CalibrationError> {
        let own = CalibrationFile::read(text, file)?;
        let gpu = own.gpu;
        for (family, names) in &own.parameters {
            if !names
                .iter()
                .eq(family.parameters().iter().map(|known| known.name))
            {
                return Err(CalibrationError::Surface {
                    file: file.to_owned(),
                    surface: family.word().to_owned(),
                    why: "its parameters are not those of this program: calibrate again".to_owned(),
                });
            }
        }
        if let Some(row) = own
            .surfaces
            .iter()
            .find(|row| !own.parameters.contains_key(&row.family))
        {
            return Err(CalibrationError::Surface {
                file: file.to_owned(),
                surface: row.family.word().to_owned(),
                why: "names of its parameters are missing".to_owned(),
            });
        }
        let wrong = |surface: String, why: String| CalibrationError::Surface {
            file: file.to_owned(),
            surface,
            why,
        };
        let mut stand_ins = BTreeMap::new();
        for row in own.stand_ins {
            let errors = errors_from(row.errors)
                .map_err(|why| wrong(format!("stand-in {}", row.family.word()), why))?;
            stand_ins.insert((gpu.clone(), row.family, row.near), errors);
        }
        let mut surfaces = Vec::new();
        for row in own.surfaces {
            let name = format!(
                "{} {} {} {}",
                row.family.word(),
                row.engine,
                row.version,
                row.precision
            );
            surfaces.push(Arc::new(row.surface(&gpu).map_err(|why| wrong(name, why))?));
        }
        surfaces.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(Self {
            surfaces,
            stand_ins,
        })
    }

    /// All surfaces, by table.
    #[must_use]
    pub fn surfaces(&self) -> &[Arc<Surface>] {
        &self.surfaces
    }

    /// How far off a GPU's surfaces were where they stood in so; none: it was not measured.
    #[must_use]
    pub fn stand_in(&self, gpu: &GpuId, family: Family, near: Match) -> Option<&Errors> {
        self.stand_ins.get(&(gpu.clone(), family, near))
    }

    /// Every family and precision there is a surface of.
    #[must_use]
    pub fn kinds(&self) -> BTreeSet<(Family, &str)> {
        self.surfaces
            .iter()
            .map(|own| (own.id.family, own.id.precision.as_str()))
            .collect()
    }

    /// How far off a surface of one of these relatives, or of the GPU itself, may be.
    #[must_use]
    pub fn band_among(&self, relatives: &[Relative], surface: &Surface, near: Match) -> Band {
        let own = self.band(surface, near);
        let strain = strain_of(surface, relatives);
        Band {
            below: (own.below + strain).min(0.9),
            above: own.above + strain,
        }
    }

    /// How far off a surface may be where it stands in so: measured where it was, else a judgement.
    #[must_use]
    pub fn band(&self, surface: &Surface, near: Match) -> Band {
        let own = surface.held_out.band();
        if matches!(near, Match::Exact | Match::Kernel) {
            return own;
        }
        let id = &surface.id;
        let known = self
            .stand_ins
            .get(&(id.gpu.clone(), id.family, near))
            .map(Errors::band);
        let band = known.unwrap_or(UNKNOWN);
        Band {
            below: band.below.max(own.below),
            above: band.above.max(own.above),
        }
    }

    /// The surface nearest to what is wanted: on its GPU, or else on the first of `relatives`
    /// that has one. Where only another engine was measured on the GPU and a relative has the engine
    /// wanted, the one that was less far off when it stood in. Number formats are never traded:
    /// another format is another kernel.
    #[must_use]
    pub fn find(
        &self,
        wanted: &Wanted<'_>,
        relatives: &[Relative],
    ) -> Option<(&Arc<Surface>, Match)> {
        let own = self.on(wanted.gpu, wanted, |_| true);
        if own.is_some_and(|(_, near)| near < Match::Engine) {
            return own;
        }
        let same = |surface: &Surface| surface.id.engine == wanted.engine;
        let kin = relatives
            .iter()
            .find_map(|own| self.on(&own.gpu, wanted, same));
        let off = |(surface, near): &(&Arc<Surface>, Match)| {
            self.expected_error(surface, *near) + strain_of(surface, relatives)
        };
        own.into_iter()
            .chain(kin)
            .min_by(|a, b| off(a).total_cmp(&off(b)))
            .or_else(|| {
                relatives
                    .iter()
                    .find_map(|own| self.on(&own.gpu, wanted, |_| true))
            })
    }

    /// Median error of a surface where it stands in so.
    fn expected_error(&self, surface: &Surface, near: Match) -> f64 {
        let id = &surface.id;
        self.stand_ins
            .get(&(id.gpu.clone(), id.family, near))
            .map_or(UNKNOWN.below, |errors| errors.median)
    }

    /// The surface nearest to what is wanted among those on one GPU that `may` be taken.
    #[must_use]
    pub fn on(
        &self,
        gpu: &GpuId,
        wanted: &Wanted<'_>,
        may: impl Fn(&Surface) -> bool,
    ) -> Option<(&Arc<Surface>, Match)> {
        // Near first: engine, version, kernel; then the table with most rows. Versions of another
        // engine are not on the same scale.
        let nearness = |own: &Surface| {
            let same = own.id.engine == wanted.engine;
            let has = |tag: &&str| own.id.kernel.contains(*tag);
            (
                same,
                same && wanted.tags.iter().any(has),
                // Kernels of experts without a gate are for models without.
                !own.id.kernel.contains("nongated"),
                own.id.version == wanted.version,
                Reverse(if same {
                    version_distance(&own.id.version, wanted.version)
                } else {
                    0
                }),
                own.id.kernel == wanted.kernel,
                own.held_out.rows,
            )
        };
        let from = self.surfaces.partition_point(|own| own.id.gpu < *gpu);
        let own = self.surfaces[from..]
            .iter()
            .take_while(|own| own.id.gpu == *gpu)
            .filter(|own| {
                own.id.family == wanted.family && own.id.precision == wanted.precision && may(own)
            })
            .max_by_key(|own| nearness(own))?;
        let near = if own.id.gpu != *wanted.gpu {
            Match::Relative
        } else if own.id.engine != wanted.engine {
            Match::Engine
        } else if own.id.version != wanted.version && !wanted.version.is_empty() {
            Match::Version
        } else if own.id.kernel != wanted.kernel && !wanted.kernel.is_empty() {
            Match::Kernel
        } else {
            Match::Exact
        };
        Some((own, near))
    }
}

/// The strain of standing in of a surface's GPU; none for the GPU itself.
fn strain_of(surface: &Surface, relatives: &[Relative]) -> f64 {
    relatives
        .iter()
        .find(|own| own.gpu == surface.id.gpu)
        .map_or(0.0, |own| own.strain)
}

/// Where nothing was measured: kernels of one shape move by 5–30 % between versions and more
/// between GPUs.
const UNKNOWN: Band = Band {
    below: 0.25,
    above: 0.35,
};

/// How far apart versions are: `0.5.9` and `0.5.14` five thousand, `1.3.0rc10` and `1.3.0rc20` ten. Nothing wanted
/// wants the newest.
fn version_distance(own: &str, wanted: &str) -> u64 {
    let key = |version: &str| {
        version
            .split(|c: char| !c.is_ascii_digit())
            // `1.3.0rc10` has two letters in a row.
            .filter(|part| !part.is_empty())
            .map(|part| part.parse::<u64>().unwrap_or(0).min(999))
            .chain([0; 4])
            .take(4)
            .fold(0, |sum, part| sum * 1000 + part)
    };
    if wanted.is_empty() {
        u64::MAX - key(own)
    } else {
        key(own).abs_diff(key(wanted))
    }
}

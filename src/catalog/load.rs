//! Reading the catalog: rows from RON files, checked so that whatever loads is whole (every name
//! a node uses exists, every count is in bounds).

use super::files::{PresetFile, embedded_files, user_files};
use super::{Gpu, GpuId, Nic, NicId, NodeType, NodeTypeId, SwitchType, SwitchTypeId};
use ron::extensions::Extensions;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;
use std::sync::{Arc, OnceLock};

mod error;
pub use error::CatalogError;

/// Most GPUs or NICs of one node.
const MAX_SLOTS: u32 = 1024;
/// Most ports of one switch: the largest modular chassis has about a thousand.
const MAX_PORTS: u32 = 4096;

/// A kind of row: where its files lie and what it is called by.
trait Row: Serialize + DeserializeOwned {
    /// Folder under `presets/`.
    const KIND: &'static str;
    type Id: Ord + Clone + Display;
    fn id(&self) -> &Self::Id;
}

macro_rules! row {
    ($row:ident, $id:ident, $kind:literal) => {
        impl Row for $row {
            const KIND: &'static str = $kind;
            type Id = $id;
            fn id(&self) -> &$id {
                &self.id
            }
        }
    };
}
row!(Gpu, GpuId, "gpus");
row!(Nic, NicId, "nics");
row!(NodeType, NodeTypeId, "nodes");
row!(SwitchType, SwitchTypeId, "switches");

/// Rows of one kind and the file each came from.
type Rows<R> = BTreeMap<<R as Row>::Id, (R, String)>;

/// Every GPU, NIC, node and switch type known to the program. Loading guarantees that each node's
/// GPU and NIC exist.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalog {
    gpus: BTreeMap<GpuId, Gpu>,
    nics: BTreeMap<NicId, Nic>,
    nodes: BTreeMap<NodeTypeId, NodeType>,
    switches: BTreeMap<SwitchTypeId, SwitchType>,
}

impl Catalog {
    /// The rows we ship.
    ///
    /// # Errors
    /// None in a released binary: a test loads every embedded row.
    pub fn embedded() -> Result<Self, CatalogError> {
        Self::load(None)
    }

    /// The rows we ship, parsed once per process.
    ///
    /// # Errors
    /// As [`Self::embedded`].
    pub fn embedded_shared() -> Result<Arc<Self>, CatalogError> {
        static SHARED: OnceLock<Result<Arc<Catalog>, CatalogError>> = OnceLock::new();
        SHARED
            .get_or_init(|| Self::embedded().map(Arc::new))
            .clone()
    }

    /// Our rows with those of a user's folder over them: a row of the same id is replaced, one of
    /// a new id added.
    ///
    /// # Errors
    /// A file that can't be read or isn't a whole, consistent row.
    pub fn load(user_dir: Option<&Path>) -> Result<Self, CatalogError> {
        let gpus = rows::<Gpu>(user_dir)?;
        let nics = rows::<Nic>(user_dir)?;
        let nodes = rows::<NodeType>(user_dir)?;
        let switches = rows::<SwitchType>(user_dir)?;
        for (row, (gpu, file)) in &gpus {
            check(
                file,
                row,
                "scale_up_domain",
                gpu.scale_up_domain,
                1,
                MAX_SLOTS,
            )?;
        }
        for (row, (node, file)) in &nodes {
            check(file, row, "gpus", node.gpus, 1, MAX_SLOTS)?;
            check(file, row, "nics", node.nics, 0, MAX_SLOTS)?;
            known(file, row, "GPU", &node.gpu, &gpus)?;
            known(file, row, "NIC", &node.nic, &nics)?;
        }
        for (row, (switch, file)) in &switches {
            check(file, row, "ports", switch.ports, 1, MAX_PORTS)?;
        }
        Ok(Self {
            gpus: without_files::<Gpu>(gpus),
            nics: without_files::<Nic>(nics),
            nodes: without_files::<NodeType>(nodes),
            switches: without_files::<SwitchType>(switches),
        })
    }

    /// A GPU type.
    #[must_use]
    pub fn gpu(&self, id: &GpuId) -> Option<&Gpu> {
        self.gpus.get(id)
    }

    /// A NIC type.
    #[must_use]
    pub fn nic(&self, id: &NicId) -> Option<&Nic> {
        self.nics.get(id)
    }

    /// A node type.
    #[must_use]
    pub fn node(&self, id: &NodeTypeId) -> Option<&NodeType> {
        self.nodes.get(id)
    }

    /// A switch type.
    #[must_use]
    pub fn switch(&self, id: &SwitchTypeId) -> Option<&SwitchType> {
        self.switches.get(id)
    }

    /// GPU types by id.
    pub fn gpus(&self) -> impl Iterator<Item = &Gpu> {
        self.gpus.values()
    }

    /// NIC types by id.
    pub fn nics(&self) -> impl Iterator<Item = &Nic> {
        self.nics.values()
    }

    /// Node types by id.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeType> {
        self.nodes.values()
    }

    /// Switch types by id.
    pub fn switches(&self) -> impl Iterator<Item = &SwitchType> {
        self.switches.values()
    }

    /// A hash of every row (FNV-1a over their RON in id order): equal catalogs have equal hashes
    /// on every machine and in every run, so cached results know what they were computed from.
    #[must_use]
    pub fn content_hash(&self) -> u64 {
        let mut hash = Fnv::new();
        hash.rows(self.gpus.values());
        hash.rows(self.nics.values());
        hash.rows(self.nodes.values());
        hash.rows(self.switches.values());
        hash.0
    }

    /// Takes a row in, for tests that plant errors.
    #[cfg(test)]
    pub(super) fn with_gpu(mut self, gpu: Gpu) -> Self {
        self.gpus.insert(gpu.id.clone(), gpu);
        self
    }

    /// Takes a row in, for tests that plant errors.
    #[cfg(test)]
    pub(super) fn with_node(mut self, node: NodeType) -> Self {
        self.nodes.insert(node.id.clone(), node);
        self
    }
}

/// How preset files are written: RON, where `Some(…)` may be left out.
fn dialect() -> ron::Options {
    ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME)
}

/// Our rows of a kind and, over them, the user's.
fn rows<R: Row>(user_dir: Option<&Path>) -> Result<Rows<R>, CatalogError> {
    let mut rows = parse_all::<R>(embedded_files(R::KIND)?)?;
    if let Some(dir) = user_dir {
        rows.extend(parse_all::<R>(user_files(R::KIND, dir)?)?);
    }
    Ok(rows)
}

/// Rows of one source; each id once.
fn parse_all<R: Row>(files: Vec<PresetFile>) -> Result<Rows<R>, CatalogError> {
    let mut rows: Rows<R> = BTreeMap::new();
    for file in files {
        let place = file.origin.to_string();
        let row = parse::<R>(&file.text, &place)?;
        if let Some((_, first)) = rows.get(row.id()) {
            return Err(CatalogError::Duplicate {
                id: row.id().to_string(),
                first: first.clone(),
                second: place,
            });
        }
        rows.insert(row.id().clone(), (row, place));
    }
    Ok(rows)
}

fn parse<R: Row>(text: &str, place: &str) -> Result<R, CatalogError> {
    dialect()
        .from_str(text)
        .map_err(|error| CatalogError::Parse {
            file: place.to_owned(),
            line: error.span.start.line,
            column: error.span.start.col,
            why: error.code.to_string(),
        })
}

fn without_files<R: Row>(rows: Rows<R>) -> BTreeMap<R::Id, R> {
    rows.into_iter().map(|(id, (row, _))| (id, row)).collect()
}

fn check(
    file: &str,
    row: &impl Display,
    field: &'static str,
    got: u32,
    least: u32,
    most: u32,
) -> Result<(), CatalogError> {
    if (least..=most).contains(&got) {
        Ok(())
    } else {
        Err(CatalogError::Count {
            file: file.to_owned(),
            row: row.to_string(),
            field,
            got,
            least,
            most,
        })
    }
}

fn known<I: Ord + Display, T>(
    file: &str,
    node: &NodeTypeId,
    what: &'static str,
    id: &I,
    rows: &BTreeMap<I, T>,
) -> Result<(), CatalogError> {
    if rows.contains_key(id) {
        return Ok(());
    }
    // A handful is enough to see how names look; a hostile folder may hold thousands.
    const SHOWN: usize = 40;
    let mut names: Vec<String> = rows.keys().take(SHOWN).map(I::to_string).collect();
    if rows.len() > SHOWN {
        names.push("…".to_owned());
    }
    Err(CatalogError::Missing {
        file: file.to_owned(),
        node: node.to_string(),
        what,
        missing: id.to_string(),
        known: names.join(", "),
    })
}

/// FNV-1a, 64 bit: tiny, and fixed for ever, unlike the standard library's hasher.
struct Fnv(u64);

impl Fnv {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn rows<'a, R: Row + 'a>(&mut self, rows: impl Iterator<Item = &'a R>) {
        self.bytes(R::KIND.as_bytes());
        for row in rows {
            // Rows are plain structs of texts and counts, which RON always can write; should one
            // day a row fail, its id still tells catalogs apart.
            let text = ron::to_string(row).unwrap_or_else(|_| row.id().to_string());
            self.bytes(text.as_bytes());
            // No RON text holds this byte, so rows can't run into each other.
            self.bytes(&[0xff]);
        }
    }
}

#[cfg(test)]
mod tests;

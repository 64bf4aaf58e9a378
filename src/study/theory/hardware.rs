//! GPUs as the analysis sees them: peaks, memory rate, price, and the NICs of their server.

use super::{Terms, TheoryError};
use crate::catalog::{Catalog, Gpu, GpuId, NodeTypeId, Peaks};
use crate::units::{ByteRate, DollarsPerHour, FlopRate};

/// One GPU type and the server it comes in.
#[derive(Debug, Clone, PartialEq)]
pub struct Hardware {
    /// Its id in the catalog.
    pub gpu: GpuId,
    /// Its name in a narrow column.
    pub name: String,
    /// Dense peaks.
    pub peaks: Peaks,
    /// Memory rate.
    pub bandwidth: ByteRate,
    /// Price of a GPU-hour.
    pub price: DollarsPerHour,
    /// All NICs of its server together, one direction; none: no server of the catalog has it, or
    /// none with NICs.
    pub network: Option<ByteRate>,
    /// The server meant.
    pub server: Option<NodeTypeId>,
}

impl Hardware {
    /// A row of the catalog. Of several servers with this GPU the one with the fastest NICs is
    /// meant, among equals the first by id.
    ///
    /// # Errors
    /// The row has a rate of zero.
    pub fn of(gpu: &Gpu, catalog: &Catalog) -> Result<Self, TheoryError> {
        let mut server: Option<(ByteRate, NodeTypeId)> = None;
        for node in catalog.nodes().filter(|node| node.gpu == gpu.id) {
            let Some(nic) = catalog.nic(&node.nic) else {
                continue;
            };
            let rate = nic.rate * f64::from(node.nics);
            if rate > ByteRate::ZERO && server.as_ref().is_none_or(|(most, _)| rate > *most) {
                server = Some((rate, node.id.clone()));
            }
        }
        let (network, server) = server.unzip();
        let hardware = Self {
            gpu: gpu.id.clone(),
            name: short_name(gpu, catalog),
            peaks: gpu.peaks.clone(),
            bandwidth: gpu.bandwidth,
            price: gpu.price.per_hour,
            network,
            server,
        };
        hardware.check()?;
        Ok(hardware)
    }

    fn check(&self) -> Result<(), TheoryError> {
        let no_rate = |what| TheoryError::NoRate {
            gpu: self.gpu.clone(),
            what,
        };
        if self.bandwidth <= ByteRate::ZERO {
            return Err(no_rate("memory bandwidth"));
        }
        let peaks = [
            Some(self.peaks.bf16),
            self.peaks.fp8,
            self.peaks.int8,
            self.peaks.fp4,
        ];
        if peaks
            .into_iter()
            .flatten()
            .any(|peak| peak <= FlopRate::ZERO)
        {
            return Err(no_rate("peak"));
        }
        Ok(())
    }

    /// The four GPUs of Step-3's tables, with its prices (Table 4 and Table 6; 910B's is its own
    /// estimate). Three are the catalog's rows; of A800 it takes 2.0 TB/s, the datasheet 2.039,
    /// which would change five of the cells in the last digit.
    ///
    /// # Errors
    /// The catalog lacks one of them: a user's preset replaced it.
    pub fn of_step3(catalog: &Catalog) -> Result<Vec<Self>, TheoryError> {
        // GPU, BF16 and FP8 TFLOPS, memory TB/s, $/h, GB/s of the server's eight NICs.
        let rows = [
            ("h800-sxm", 989.0, Some(1979.0), 3.35, 2.0, 400.0),
            ("h20-96", 148.0, Some(296.0), 4.0, 0.8, 400.0),
            ("a800-80-sxm", 312.0, None, 2.0, 0.75, 200.0),
            ("ascend-910b", 280.0, None, 1.6, 0.67, 200.0),
        ];
        let tera = |value: f64| FlopRate::new(value * 1e12);
        rows.into_iter()
            .map(|(id, bf16, fp8, bandwidth, price, network)| {
                let gpu = GpuId::from_label(id);
                let row = catalog.gpu(&gpu).ok_or(TheoryError::Empty {
                    what: "GPU of Step-3's table",
                })?;
                let of_catalog = Self::of(row, catalog)?;
                Ok(Self {
                    peaks: Peaks {
                        bf16: tera(bf16),
                        fp8: fp8.map(tera),
                        int8: None,
                        fp4: None,
                    },
                    bandwidth: ByteRate::new(bandwidth * 1e12),
                    price: DollarsPerHour::new(price),
                    network: Some(ByteRate::from_gb_per_s(network)),
                    ..of_catalog
                })
            })
            .collect()
    }

    /// Peak of GEMMs.
    #[must_use]
    pub fn gemm_peak(&self, terms: Terms) -> FlopRate {
        self.peaks.of(terms.gemm)
    }

    /// Peak of attention's core.
    #[must_use]
    pub fn core_peak(&self, terms: Terms) -> FlopRate {
        self.peaks.of(terms.core())
    }

    /// Where the roofline bends for attention: FLOPs the GPU does while it reads a byte.
    #[must_use]
    pub fn ridge(&self, terms: Terms) -> f64 {
        self.core_peak(terms).get() / self.bandwidth.get()
    }
}

/// A GPU's name without its maker, and without its memory where the catalog has no other of that
/// name: `H800 SXM`, but `A100 SXM 40 GB`.
#[must_use]
pub fn short_name(gpu: &Gpu, catalog: &Catalog) -> String {
    let (short, whole) = names(gpu);
    let shared = catalog
        .gpus()
        .any(|other| other.id != gpu.id && names(other).0 == short);
    if shared { whole } else { short }.to_owned()
}

/// A GPU's name without its maker and remarks in brackets; and first without its memory.
fn names(gpu: &Gpu) -> (&str, &str) {
    let name = gpu.name.split(" (").next().unwrap_or(&gpu.name);
    let maker = name.strip_prefix(gpu.vendor.as_str());
    let whole = maker.map_or(name, str::trim_start);
    let mut words = whole.rsplitn(3, ' ');
    match (words.next(), words.next(), words.next()) {
        (Some("GB"), Some(size), Some(rest)) if size.parse::<f64>().is_ok() => (rest, whole),
        _ => (whole, whole),
    }
}

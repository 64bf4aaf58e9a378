//! Whether a shape is a model at all. What passes here can be priced without overflow.

use super::derive::parameters;
use super::{Attention, Compressed, Ffn, Gqa, Indexer, LayerRun, Mla, Model, Moe, Recurrent, Span};
use crate::catalog::CatalogError;
use thiserror::Error;

/// Most layers a model may have.
pub(super) const MOST_LAYERS: u64 = 1000;
/// Largest width, head count or expert count; over ten times what anyone has built.
pub(super) const MOST_WIDE: u64 = 1 << 20;
/// Largest vocabulary and context.
pub(super) const MOST_TOKENS: u64 = 1 << 30;
/// Most parameters: a thousand times the largest published model.
const MOST_PARAMETERS: u64 = 1_000_000_000_000_000;

/// Why something is not a model.
#[derive(Debug, Error)]
pub enum ModelError {
    /// A size is zero or absurdly large.
    #[error("{place}: {field} is {value}, expected {least} to {most}")]
    Range {
        /// The model, or the layer in it.
        place: String,
        /// Field of [`Model`] or its parts.
        field: &'static str,
        /// What it is.
        value: u64,
        /// Least value.
        least: u64,
        /// Greatest value.
        most: u64,
    },
    /// One count must divide another.
    #[error("{place}: {part} ({part_value}) must divide {whole} ({whole_value})")]
    Divides {
        /// The model, or the layer in it.
        place: String,
        /// Field that divides.
        part: &'static str,
        /// Its value.
        part_value: u64,
        /// Field that is divided.
        whole: &'static str,
        /// Its value.
        whole_value: u64,
    },
    /// Each size is fine, all together are not.
    #[error("{place}: {parameters} parameters or more; the most that can be priced is 10^15")]
    TooManyParameters {
        /// The model.
        place: String,
        /// Parameters (at least).
        parameters: u64,
    },
    /// A preset file is not a model.
    #[error("{origin}: {message}")]
    File {
        /// The file.
        origin: String,
        /// What its reader said.
        message: String,
    },
    /// A preset file is named otherwise than the model in it.
    #[error("{origin}: holds the model “{id}”; name the file {id}.ron")]
    FileName {
        /// The file.
        origin: String,
        /// Id of the model in it.
        id: String,
    },
    /// The preset files could not be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

/// Checks the sizes of one place.
struct Checker {
    place: String,
}

impl Checker {
    fn range(
        &self,
        field: &'static str,
        value: u64,
        least: u64,
        most: u64,
    ) -> Result<(), ModelError> {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        Err(ModelError::Range {
            place: self.place.clone(),
            field,
            value,
            least,
            most,
        })
    }

    fn wide(&self, field: &'static str, value: u64) -> Result<(), ModelError> {
        self.range(field, value, 1, MOST_WIDE)
    }

    fn divides(
        &self,
        part: (&'static str, u64),
        whole: (&'static str, u64),
    ) -> Result<(), ModelError> {
        if part.1 != 0 && whole.1.is_multiple_of(part.1) {
            return Ok(());
        }
        Err(ModelError::Divides {
            place: self.place.clone(),
            part: part.0,
            part_value: part.1,
            whole: whole.0,
            whole_value: whole.1,
        })
    }

    fn maybe(&self, field: &'static str, value: Option<u64>) -> Result<(), ModelError> {
        value.map_or(Ok(()), |value| self.wide(field, value))
    }

    fn span(&self, span: Span) -> Result<(), ModelError> {
        span.cap()
            .map_or(Ok(()), |cap| self.range("span", cap, 1, MOST_TOKENS))
    }

    fn indexer(&self, indexer: Option<&Indexer>) -> Result<(), ModelError> {
        let Some(own) = indexer else { return Ok(()) };
        self.wide("indexer heads", own.heads)?;
        self.wide("indexer dim", own.dim)?;
        self.range("indexer top_k", own.top_k, 1, MOST_TOKENS)
    }

    fn gqa(&self, gqa: &Gqa) -> Result<(), ModelError> {
        self.wide("heads", gqa.heads)?;
        self.range("kv_heads", gqa.kv_heads, 1, gqa.heads)?;
        self.wide("head_dim", gqa.head_dim)?;
        self.maybe("v_dim", gqa.v_dim)?;
        self.maybe("q_rank", gqa.q_rank)?;
        self.span(gqa.span)?;
        self.indexer(gqa.indexer.as_ref())?;
        self.divides(("kv_heads", gqa.kv_heads), ("heads", gqa.heads))
    }

    fn mla(&self, mla: &Mla) -> Result<(), ModelError> {
        self.wide("heads", mla.heads)?;
        self.maybe("q_rank", mla.q_rank)?;
        self.wide("kv_rank", mla.kv_rank)?;
        self.wide("nope_dim", mla.nope_dim)?;
        self.range("rope_dim", mla.rope_dim, 0, MOST_WIDE)?;
        self.wide("v_dim", mla.v_dim)?;
        self.indexer(mla.indexer.as_ref())
    }

    fn compressed(&self, own: &Compressed) -> Result<(), ModelError> {
        for (field, value) in [
            ("heads", own.heads),
            ("head_dim", own.head_dim),
            ("q_rank", own.q_rank),
            ("out_groups", own.out_groups),
            ("out_rank", own.out_rank),
        ] {
            self.wide(field, value)?;
        }
        self.range("window", own.window, 1, MOST_TOKENS)?;
        self.range("ratio", own.ratio, 0, MOST_WIDE)?;
        self.divides(("out_groups", own.out_groups), ("heads", own.heads))?;
        self.indexer(own.indexer.as_ref())
    }

    fn recurrent(&self, recurrent: &Recurrent) -> Result<(), ModelError> {
        let sizes: Vec<(&'static str, u64)> = match recurrent {
            Recurrent::DeltaNet(own) => vec![
                ("key_heads", own.key_heads),
                ("value_heads", own.value_heads),
                ("key_dim", own.key_dim),
                ("value_dim", own.value_dim),
                ("kernel", own.kernel),
            ],
            Recurrent::Lightning {
                heads, head_dim, ..
            } => vec![("heads", *heads), ("head_dim", *head_dim)],
            Recurrent::Mamba2(own) => vec![
                ("heads", own.heads),
                ("head_dim", own.head_dim),
                ("state", own.state),
                ("groups", own.groups),
                ("kernel", own.kernel),
            ],
            Recurrent::Mamba1(own) => vec![
                ("inner", own.inner),
                ("state", own.state),
                ("dt_rank", own.dt_rank),
                ("kernel", own.kernel),
            ],
            Recurrent::ShortConv { width, kernel, .. } => {
                vec![("width", *width), ("kernel", *kernel)]
            }
            Recurrent::RgLru {
                width,
                blocks,
                kernel,
            } => vec![("width", *width), ("blocks", *blocks), ("kernel", *kernel)],
            Recurrent::Other {
                parameters,
                state_values,
                ..
            } => {
                self.range("parameters", *parameters, 0, MOST_PARAMETERS)?;
                return self.range("state_values", *state_values, 0, MOST_PARAMETERS);
            }
        };
        for (field, value) in sizes {
            self.wide(field, value)?;
        }
        match recurrent {
            Recurrent::DeltaNet(own) => self.divides(
                ("key_heads", own.key_heads),
                ("value_heads", own.value_heads),
            ),
            Recurrent::Mamba2(own) => self.divides(("groups", own.groups), ("heads", own.heads)),
            _ => Ok(()),
        }
    }

    fn moe(&self, moe: &Moe) -> Result<(), ModelError> {
        self.wide("experts", moe.experts)?;
        self.range("zero_experts", moe.zero_experts, 0, MOST_WIDE)?;
        let choices = moe.experts.saturating_add(moe.zero_experts);
        self.range("top_k", moe.top_k, 1, choices)?;
        self.wide("intermediate", moe.intermediate)?;
        self.range("shared_intermediate", moe.shared_intermediate, 0, MOST_WIDE)?;
        self.maybe("latent", moe.latent)?;
        if moe.groups == 0 {
            return self.range("groups_per_token", moe.groups_per_token, 0, 0);
        }
        self.divides(("groups", moe.groups), ("experts", moe.experts))?;
        self.range("groups_per_token", moe.groups_per_token, 1, moe.groups)?;
        let reachable = (moe.experts / moe.groups).saturating_mul(moe.groups_per_token);
        self.range("top_k", moe.top_k, 1, reachable)
    }

    fn run(&self, run: &LayerRun) -> Result<(), ModelError> {
        self.range("count", u64::from(run.count), 1, MOST_LAYERS)?;
        self.range("norms", run.norms, 0, 16)?;
        match &run.attention {
            Attention::Gqa(gqa) => self.gqa(gqa)?,
            Attention::Mla(mla) => self.mla(mla)?,
            Attention::Compressed(own) => self.compressed(own)?,
            Attention::Recurrent(recurrent) => self.recurrent(recurrent)?,
            Attention::Parallel {
                attention,
                recurrent,
            } => {
                self.gqa(attention)?;
                self.recurrent(recurrent)?;
            }
            Attention::Matrix | Attention::None => {}
        }
        match &run.ffn {
            Ffn::Dense { intermediate, .. } => self.wide("intermediate", *intermediate),
            Ffn::Moe(moe) => self.moe(moe),
            Ffn::Matrix | Ffn::None => Ok(()),
        }
    }

    /// What stands beside the layers.
    fn beside(&self, model: &Model) -> Result<(), ModelError> {
        let extras = u64::try_from(model.extras.len()).unwrap_or(u64::MAX);
        self.range("extras", extras, 0, 64)?;
        for extra in &model.extras {
            self.range("extra parameters", extra.parameters, 0, MOST_PARAMETERS)?;
        }
        if let Some(own) = &model.quantization {
            if let Some(scale) = own.scale {
                self.range("scale bits", scale.bits, 0, 1024)?;
                self.range("scale per", scale.per, 1, MOST_TOKENS)?;
            }
            self.maybe("block", own.block)?;
        }
        model.mtp.as_deref().map_or(Ok(()), |run| self.run(run))
    }
}

impl Model {
    /// Checks that every size is there and within what can be priced, and that counts fit each
    /// other.
    ///
    /// # Errors
    /// The first size that is zero, absurd or doesn't fit, with its layer.
    pub fn check(&self) -> Result<(), ModelError> {
        let whole = Checker {
            place: self.id.to_string(),
        };
        whole.wide("hidden", self.hidden)?;
        whole.range("vocab", self.vocab, 1, MOST_TOKENS)?;
        whole.range("max_context", self.max_context, 1, MOST_TOKENS)?;
        // No run is empty, so more runs than layers allowed are too many layers.
        let layers = self
            .layers
            .iter()
            .fold(0, |sum: u64, run| sum.saturating_add(u64::from(run.count)));
        whole.range("layers", layers, 1, MOST_LAYERS)?;
        let mut first: u64 = 0;
        for run in &self.layers {
            Checker {
                place: format!("{}, layer {first}", self.id),
            }
            .run(run)?;
            first += u64::from(run.count);
        }
        whole.beside(self)?;
        let total = parameters(self).total();
        if total > MOST_PARAMETERS {
            return Err(ModelError::TooManyParameters {
                place: self.id.to_string(),
                parameters: total,
            });
        }
        Ok(())
    }
}

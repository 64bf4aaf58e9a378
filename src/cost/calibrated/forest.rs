//! Boosted oblivious trees: every node of a level asks the same question, so a tree of depth `d`
//! is `d` questions and `2^d` answers, small in a file and quick to ask.
//!
//! Thresholds and answers are fixed-point: a threshold is 16 bits over −8 … 56, an answer 8 bits of
//! the forest's scale. In files a forest is base64: depth, then per question feature (1 byte) and
//! threshold (2), then the answers (1 each), tree after tree.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;

/// Deepest tree.
pub const DEEPEST: usize = 7;
/// Most trees.
pub const MOST_TREES: usize = 400;
const LOW: f64 = -8.0;
const STEPS: f64 = 1024.0;

/// One tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// Questions: feature, threshold. The answer is yes (a set bit) where the feature is at or
    /// above it.
    pub splits: Vec<(u8, u16)>,
    /// Answers by the bits, the first question's the highest.
    pub leaves: Vec<i8>,
}

/// Trees that add up to a natural logarithm of a factor.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Forest {
    /// What an answer of 1 adds.
    pub scale: f64,
    /// The trees.
    pub trees: Vec<Tree>,
}

/// Why a forest does not parse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForestError {
    /// Not base64.
    #[error("trees are not base64")]
    NotBase64,
    /// Ends inside a tree.
    #[error("tree {0} is cut short")]
    CutShort(usize),
    /// A depth or feature that cannot be.
    #[error("tree {tree}: {what} {value} is above {most}")]
    TooLarge {
        /// Which tree.
        tree: usize,
        /// What of it.
        what: &'static str,
        /// Its value.
        value: usize,
        /// Largest allowed.
        most: usize,
    },
    /// Too many trees.
    #[error("more than {MOST_TREES} trees")]
    TooMany,
    /// A scale that is not a number of the right size.
    #[error("scale {0} is not between 0 and 1")]
    Scale(String),
}

/// A feature's value in threshold steps.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float casts saturate"
)]
pub fn step_of(value: f64) -> u16 {
    ((value - LOW) * STEPS) as u16
}

impl Forest {
    /// The logarithm of the factor for these features.
    #[must_use]
    pub fn sum(&self, features: &[f64]) -> f64 {
        let mut steps = [0_u16; super::kernel::Features::MOST];
        for (step, value) in steps.iter_mut().zip(features) {
            *step = step_of(*value);
        }
        let mut sum = 0_i64;
        for tree in &self.trees {
            let mut cell = 0_usize;
            for &(feature, threshold) in &tree.splits {
                let value = steps.get(usize::from(feature)).copied().unwrap_or(0);
                cell = cell << 1 | usize::from(value >= threshold);
            }
            sum += i64::from(tree.leaves.get(cell).copied().unwrap_or(0));
        }
        #[expect(clippy::cast_precision_loss, reason = "at most 400 · 127")]
        let sum = sum as f64;
        sum * self.scale
    }

    /// Bytes it takes unencoded.
    #[must_use]
    pub fn size(&self) -> usize {
        self.trees
            .iter()
            .map(|tree| 1 + 3 * tree.splits.len() + tree.leaves.len())
            .sum()
    }

    /// As text.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut bytes = Vec::with_capacity(self.size());
        for tree in &self.trees {
            bytes.push(u8::try_from(tree.splits.len()).unwrap_or(0));
            for &(feature, threshold) in &tree.splits {
                bytes.push(feature);
                bytes.extend(threshold.to_le_bytes());
            }
            bytes.extend(tree.leaves.iter().map(|leaf| leaf.to_le_bytes()[0]));
        }
        BASE64.encode(bytes)
    }

    /// From text, for a family of so many features.
    ///
    /// # Errors
    /// Text that is not a forest of that family.
    pub fn decode(text: &str, scale: f64, features: usize) -> Result<Self, ForestError> {
        if !(scale.is_finite() && (0.0..=1.0).contains(&scale)) {
            return Err(ForestError::Scale(scale.to_string()));
        }
        let bytes = BASE64.decode(text).map_err(|_| ForestError::NotBase64)?;
        let mut rest = bytes.as_slice();
        let mut trees = Vec::new();
        while let Some((&depth, after)) = rest.split_first() {
            let tree = trees.len();
            let depth = usize::from(depth);
            if tree == MOST_TREES {
                return Err(ForestError::TooMany);
            }
            if depth > DEEPEST {
                return Err(ForestError::TooLarge {
                    tree,
                    what: "depth",
                    value: depth,
                    most: DEEPEST,
                });
            }
            let (questions, answers) = (3 * depth, 1_usize << depth);
            if after.len() < questions + answers {
                return Err(ForestError::CutShort(tree));
            }
            let (questions, after) = after.split_at(questions);
            let (answers, after) = after.split_at(answers);
            let mut splits = Vec::with_capacity(depth);
            for question in questions.as_chunks::<3>().0 {
                let [feature, low, high] = *question;
                if usize::from(feature) >= features {
                    return Err(ForestError::TooLarge {
                        tree,
                        what: "feature",
                        value: usize::from(feature),
                        most: features.saturating_sub(1),
                    });
                }
                splits.push((feature, u16::from_le_bytes([low, high])));
            }
            let leaves = answers
                .iter()
                .map(|byte| i8::from_le_bytes([*byte]))
                .collect();
            trees.push(Tree { splits, leaves });
            rest = after;
        }
        Ok(Self { scale, trees })
    }
}

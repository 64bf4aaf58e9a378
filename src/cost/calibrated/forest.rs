//! Boosted regression trees: a sum of small answers, each found by a few questions.
//!
//! Trees grow leaf by leaf, so that answers go where the kernel choice is intricate: at the same
//! size in a file they err a sixth less on held-out GEMMs than trees whose levels share a question.
//!
//! Thresholds and answers are fixed-point: a threshold is 13 bits over −8 … 56, an answer 8 bits of
//! the forest's scale. In files a forest is base64 of packed bits: the number of trees (16), then
//! tree after tree its nodes in preorder, a question as 1, feature (6), threshold (13), followed by
//! the branch below the threshold and then the other, an answer as 0, answer (8).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;

/// Most nodes of a forest.
pub const MOST_NODES: usize = 1 << 15;
/// Most questions before an answer.
pub const DEEPEST: usize = 40;
const LOW: f64 = -8.0;
const STEPS: f64 = 128.0;
const FEATURE_BITS: u32 = 6;
const STEP_BITS: u32 = 13;
const ANSWER_BITS: u32 = 8;

/// A node of a tree. The branch below the threshold is the next node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    /// Is the feature below the threshold?
    Question {
        /// Which feature.
        feature: u8,
        /// In steps, see [`step_of`].
        threshold: u16,
        /// Index in the tree of the branch at or above the threshold.
        above: u16,
    },
    /// What the tree adds, in scales.
    Answer(i8),
}

/// One tree: its nodes in preorder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree(pub Vec<Node>);

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
    /// A feature the family does not have.
    #[error("tree {tree}: feature {feature} of {features}")]
    Feature {
        /// Which tree.
        tree: usize,
        /// Which feature.
        feature: u8,
        /// How many there are.
        features: usize,
    },
    /// More nodes than any forest has.
    #[error("more than {MOST_NODES} nodes")]
    TooMany,
    /// More questions in a row than any tree has.
    #[error("tree {0} is more than {DEEPEST} questions deep")]
    TooDeep(usize),
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
    (((value - LOW) * STEPS) as u16).min((1 << STEP_BITS) - 1)
}

impl Tree {
    /// Its answer for features in steps.
    fn answer(&self, steps: &[u16]) -> i8 {
        let mut at = 0_usize;
        loop {
            match self.0.get(at) {
                Some(&Node::Question {
                    feature,
                    threshold,
                    above,
                }) => {
                    let value = steps.get(usize::from(feature)).copied().unwrap_or(0);
                    // Branches lie behind their question, so this ends.
                    at = if value < threshold {
                        at + 1
                    } else {
                        usize::from(above).max(at + 1)
                    };
                }
                Some(&Node::Answer(answer)) => return answer,
                None => return 0,
            }
        }
    }
}

impl Forest {
    /// The logarithm of the factor for these features.
    #[must_use]
    pub fn sum(&self, features: &[f64]) -> f64 {
        let mut steps = [0_u16; super::kernel::Features::MOST];
        for (step, value) in steps.iter_mut().zip(features) {
            *step = step_of(*value);
        }
        let sum: i32 = self
            .trees
            .iter()
            .map(|tree| i32::from(tree.answer(&steps)))
            .sum();
        f64::from(sum) * self.scale
    }

    /// Nodes of all trees.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.trees.iter().map(|tree| tree.0.len()).sum()
    }

    /// Bytes it takes unencoded.
    #[must_use]
    pub fn size(&self) -> usize {
        let bits = |node: &Node| match node {
            Node::Question { .. } => 1 + FEATURE_BITS + STEP_BITS,
            Node::Answer(_) => 1 + ANSWER_BITS,
        };
        let bits: u32 = self.trees.iter().flat_map(|tree| &tree.0).map(bits).sum();
        usize::try_from((16 + bits).div_ceil(8)).unwrap_or(usize::MAX)
    }

    /// As text.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut bits = Bits::default();
        bits.put(u32::try_from(self.trees.len()).unwrap_or(0), 16);
        for node in self.trees.iter().flat_map(|tree| &tree.0) {
            match *node {
                Node::Question {
                    feature, threshold, ..
                } => {
                    bits.put(1, 1);
                    bits.put(u32::from(feature), FEATURE_BITS);
                    bits.put(u32::from(threshold), STEP_BITS);
                }
                Node::Answer(answer) => {
                    bits.put(0, 1);
                    bits.put(u32::from(answer.cast_unsigned()), ANSWER_BITS);
                }
            }
        }
        BASE64.encode(bits.bytes)
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
        let mut bits = Bits { bytes, at: 0 };
        let count = bits.take(16).ok_or(ForestError::CutShort(0))? as usize;
        let (mut trees, mut left) = (Vec::new(), MOST_NODES);
        for tree in 0..count {
            let grown = read_tree(&mut bits, tree, features, &mut left)?;
            trees.push(grown);
        }
        Ok(Self { scale, trees })
    }
}

fn read_tree(
    bits: &mut Bits,
    tree: usize,
    features: usize,
    left: &mut usize,
) -> Result<Tree, ForestError> {
    let cut = ForestError::CutShort(tree);
    let mut nodes = Vec::new();
    // Questions whose branch above is still to come.
    let mut open: Vec<usize> = Vec::new();
    loop {
        *left = left.checked_sub(1).ok_or(ForestError::TooMany)?;
        if bits.take(1).ok_or_else(|| cut.clone())? == 1 {
            let feature = bits.take(FEATURE_BITS).ok_or_else(|| cut.clone())?;
            let threshold = bits.take(STEP_BITS).ok_or_else(|| cut.clone())?;
            let (feature, threshold) = (
                u8::try_from(feature).unwrap_or(u8::MAX),
                u16::try_from(threshold).unwrap_or(u16::MAX),
            );
            if usize::from(feature) >= features {
                return Err(ForestError::Feature {
                    tree,
                    feature,
                    features,
                });
            }
            open.push(nodes.len());
            if open.len() > DEEPEST {
                return Err(ForestError::TooDeep(tree));
            }
            nodes.push(Node::Question {
                feature,
                threshold,
                above: 0,
            });
        } else {
            let answer = bits.take(ANSWER_BITS).ok_or_else(|| cut.clone())?;
            nodes.push(Node::Answer(
                u8::try_from(answer).unwrap_or(0).cast_signed(),
            ));
            let Some(question) = open.pop() else {
                return Ok(Tree(nodes));
            };
            let next = u16::try_from(nodes.len()).map_err(|_| ForestError::TooMany)?;
            if let Some(Node::Question { above, .. }) = nodes.get_mut(question) {
                *above = next;
            }
        }
    }
}

/// Packed bits, the highest of a byte first.
#[derive(Debug, Default)]
struct Bits {
    bytes: Vec<u8>,
    at: usize,
}

impl Bits {
    fn put(&mut self, value: u32, width: u32) {
        for bit in (0..width).rev() {
            if self.at.is_multiple_of(8) {
                self.bytes.push(0);
            }
            if let (1, Some(last)) = (value >> bit & 1, self.bytes.last_mut()) {
                *last |= 0x80 >> (self.at % 8);
            }
            self.at += 1;
        }
    }

    fn take(&mut self, width: u32) -> Option<u32> {
        let mut value = 0;
        for _ in 0..width {
            let byte = self.bytes.get(self.at / 8)?;
            value = value << 1 | u32::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Some(value)
    }
}

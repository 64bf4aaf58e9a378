//! Boosted regression trees: a sum of small answers, each found by a few questions.
//!
//! Trees grow leaf by leaf, so that answers go where the kernel choice is intricate: at the same
//! size in a file they err a sixth less on held-out GEMMs than trees whose levels share a question.
//!
//! Thresholds and answers are fixed-point: a threshold is 13 bits over −8 … 56, an answer 8 bits of
//! the forest's scale. In files a forest is base64 of [packed](super::packing) decisions: how many
//! trees, then tree after tree its nodes in preorder (is it a question; its feature and threshold,
//! followed by the branch below the threshold and then the other; or its answer: size, sign,
//! digits), then a checksum. Features and thresholds that come again are short, and so are the small
//! answers of later trees: 19 bits for a question and an answer, where plain they are 29.

use super::kernel::hash;
use super::packing::{Coder, Decision, Numbers, Packer, Unpacker};

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
const TREE_BITS: u32 = 12;
const CHECK_BITS: u32 = 16;
/// Kinds of answers by the share of trees before theirs.
const AGES: usize = 4;
/// Depths whose share of questions is told apart.
const DEPTHS: usize = 12;

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
    /// Ends inside a tree, or is not what was written.
    #[error("trees are cut short or garbled")]
    Garbled,
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

    /// Bytes it takes in a file, before base64.
    #[must_use]
    pub fn size(&self) -> usize {
        self.packed().len()
    }

    /// As text.
    #[must_use]
    pub fn encode(&self) -> String {
        BASE64.encode(self.packed())
    }

    fn packed(&self) -> Vec<u8> {
        let mut packer = Packer::new();
        let mut models = Models::default();
        let count = self.trees.len();
        models
            .count
            .code(&mut packer, u32::try_from(count).unwrap_or(0), TREE_BITS);
        for (index, tree) in self.trees.iter().enumerate() {
            // Depths of nodes to come.
            let mut depths = vec![0];
            for node in &tree.0 {
                let depth = depths.pop().unwrap_or(0);
                models.code(&mut packer, depth, age(index, count), Some(*node));
                if matches!(node, Node::Question { .. }) {
                    depths.extend([depth + 1, depth + 1]);
                }
            }
        }
        Numbers::default().code(&mut packer, self.check(), CHECK_BITS);
        packer.bytes()
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
        let mut unpacker = Unpacker::new(&bytes);
        let mut models = Models::default();
        let count = models.count.code(&mut unpacker, 0, TREE_BITS) as usize;
        let mut own = Self {
            scale,
            trees: Vec::new(),
        };
        let mut left = MOST_NODES;
        for tree in 0..count {
            let grown = read_tree(
                &mut unpacker,
                &mut models,
                (tree, count),
                features,
                &mut left,
            )?;
            own.trees.push(grown);
        }
        let check = Numbers::default().code(&mut unpacker, 0, CHECK_BITS);
        if check != own.check() || unpacker.overrun() || !unpacker.done() {
            return Err(ForestError::Garbled);
        }
        Ok(own)
    }

    /// A few bits of a hash of all nodes.
    fn check(&self) -> u32 {
        let words: Vec<u64> = self
            .trees
            .iter()
            .flat_map(|tree| &tree.0)
            .map(|node| match *node {
                Node::Question {
                    feature, threshold, ..
                } => u64::from(feature) << 16 | u64::from(threshold),
                Node::Answer(answer) => 1 << 32 | u64::from(answer.cast_unsigned()),
            })
            .collect();
        u32::try_from(hash(&words) >> 40 & ((1 << CHECK_BITS) - 1)).unwrap_or(0)
    }
}

/// Which kind of answers a tree has.
const fn age(tree: usize, trees: usize) -> usize {
    tree * AGES / if trees == 0 { 1 } else { trees }
}

/// What the nodes of a forest were so far.
#[derive(Debug, Default)]
struct Models {
    count: Numbers,
    question: [Decision; DEPTHS],
    feature: Numbers,
    thresholds: Vec<Numbers>,
    size: [Numbers; AGES],
    sign: Decision,
    digits: [Decision; 8],
}

impl Models {
    /// Codes a node, or reads one; its branch above is not known yet.
    fn code(
        &mut self,
        coder: &mut impl Coder,
        depth: usize,
        age: usize,
        node: Option<Node>,
    ) -> Node {
        let asks = matches!(node, Some(Node::Question { .. }));
        if coder.code(&mut self.question[depth.min(DEPTHS - 1)], asks) {
            let (feature, threshold) = match node {
                Some(Node::Question {
                    feature, threshold, ..
                }) => (feature, threshold),
                _ => (0, 0),
            };
            let feature = self.feature.code(coder, u32::from(feature), FEATURE_BITS);
            self.thresholds
                .resize_with(1 << FEATURE_BITS, Numbers::default);
            let known = &mut self.thresholds[feature as usize];
            let threshold = known.code(coder, u32::from(threshold), STEP_BITS);
            return Node::Question {
                feature: u8::try_from(feature).unwrap_or(u8::MAX),
                threshold: u16::try_from(threshold).unwrap_or(u16::MAX),
                above: 0,
            };
        }
        let answer = if let Some(Node::Answer(answer)) = node {
            answer
        } else {
            0
        };
        let magnitude = u32::from(answer.unsigned_abs());
        // Sizes 0 … 7 are told by their number of binary digits; −128 is never an answer.
        let digits =
            self.size[age.min(AGES - 1)].code(coder, u32::BITS - magnitude.leading_zeros(), 3);
        if digits == 0 {
            return Node::Answer(0);
        }
        let negative = coder.code(&mut self.sign, answer < 0);
        let mut read = 1;
        for digit in (0..digits - 1).rev() {
            // Only the digit after the first is worth learning.
            let mut plain = Decision::default();
            let model = if digit + 2 == digits {
                &mut self.digits[digits as usize]
            } else {
                &mut plain
            };
            read = read << 1 | i8::from(coder.code(model, magnitude >> digit & 1 == 1));
        }
        Node::Answer(if negative { -read } else { read })
    }
}

fn read_tree(
    unpacker: &mut Unpacker<'_>,
    models: &mut Models,
    (tree, trees): (usize, usize),
    features: usize,
    left: &mut usize,
) -> Result<Tree, ForestError> {
    let mut nodes = Vec::new();
    // Questions whose branch above is still to come, with their depth.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut depth = 0;
    loop {
        *left = left.checked_sub(1).ok_or(ForestError::TooMany)?;
        if unpacker.overrun() {
            return Err(ForestError::Garbled);
        }
        let node = models.code(unpacker, depth, age(tree, trees), None);
        if let Node::Question { feature, .. } = node {
            if usize::from(feature) >= features {
                return Err(ForestError::Feature {
                    tree,
                    feature,
                    features,
                });
            }
            open.push((nodes.len(), depth));
            if open.len() > DEEPEST {
                return Err(ForestError::TooDeep(tree));
            }
            depth += 1;
            nodes.push(node);
            continue;
        }
        nodes.push(node);
        let Some((question, at)) = open.pop() else {
            return Ok(Tree(nodes));
        };
        depth = at + 1;
        let next = u16::try_from(nodes.len()).map_err(|_| ForestError::TooMany)?;
        if let Some(Node::Question { above, .. }) = nodes.get_mut(question) {
            *above = next;
        }
    }
}

//! Conversations: requests that follow each other and share their text.
//!
//! A *conversation* has turns. The prompt of a turn is everything said before it (a system prompt,
//! earlier prompts and their answers) and new tokens of its own, so rounds of 10 new tokens and 5
//! answered ones send prompts of 10, 25 and 40. A turn may take *hidden rounds* first: the model
//! reasons or calls a tool, nobody reads its answer, and the next round's prompt is longer by that
//! answer and what the tool returned. To the client all rounds are one request.

use super::spec::{Length, MAX_TOKENS, WorkloadError, check_spread};
use crate::units::{Seconds, Tokens};
use serde::{Deserialize, Serialize};

/// Most turns of a conversation, and most hidden rounds of a turn.
pub const MAX_TURNS: u32 = 4096;
/// Most different system prompts.
pub const MAX_SYSTEM_PROMPTS: u32 = 1_000_000;
/// Longest mean wait, s: a month.
const MAX_WAIT: f64 = 31.0 * 86_400.0;

/// How many: turns of a conversation, hidden rounds of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Count {
    /// Always as many.
    Fixed(u32),
    /// Any whole number between two, equally likely.
    Uniform {
        /// Fewest.
        min: u32,
        /// Most.
        max: u32,
    },
    /// After each another follows with the same probability; many are short, few are long.
    Geometric {
        /// Mean before clipping.
        mean: f64,
        /// Most.
        max: u32,
    },
}

impl Count {
    /// Checks the numbers; `least` is the smallest number that makes sense.
    ///
    /// # Errors
    /// Numbers out of `least..=MAX_TURNS`, swapped ends, or a mean outside of its range.
    pub fn check(self, what: &'static str, least: u32) -> Result<(), WorkloadError> {
        let within = |value: u32| {
            if (least..=MAX_TURNS).contains(&value) {
                Ok(())
            } else {
                Err(WorkloadError::Count { what, least, value })
            }
        };
        match self {
            Self::Fixed(n) => within(n),
            Self::Uniform { min, max } => {
                within(min)?;
                within(max)?;
                if min > max {
                    return Err(WorkloadError::Counts { what, min, max });
                }
                Ok(())
            }
            Self::Geometric { mean, max } => {
                within(max)?;
                // NaN is in no range.
                if (f64::from(least)..=f64::from(max)).contains(&mean) {
                    Ok(())
                } else {
                    Err(WorkloadError::MeanCount {
                        what,
                        least,
                        max,
                        mean,
                    })
                }
            }
        }
    }

    /// Most it can be.
    #[must_use]
    pub const fn most(self) -> u32 {
        match self {
            Self::Fixed(n) => n,
            Self::Uniform { max, .. } | Self::Geometric { max, .. } => max,
        }
    }

    /// Chance that another follows, of a geometric one that starts at `least`.
    pub(super) fn goes_on(mean: f64, least: u32) -> f64 {
        let more = (mean - f64::from(least)).max(0.0);
        more / (more + 1.0)
    }

    /// Probability of `n` or more.
    #[must_use]
    pub fn at_least(self, n: u32, least: u32) -> f64 {
        if n <= least {
            return 1.0;
        }
        match self {
            Self::Fixed(all) => f64::from(u8::from(n <= all)),
            Self::Uniform { min, max } => {
                if n > max {
                    return 0.0;
                }
                let above = f64::from(max) - f64::from(n.max(min)) + 1.0;
                above / (f64::from(max) - f64::from(min) + 1.0)
            }
            Self::Geometric { mean, max } => {
                if n > max {
                    return 0.0;
                }
                libm::pow(Self::goes_on(mean, least), f64::from(n - least))
            }
        }
    }

    /// Mean, clipping included.
    #[must_use]
    pub fn mean(self, least: u32) -> f64 {
        match self {
            Self::Fixed(n) => f64::from(n),
            Self::Uniform { min, max } => f64::midpoint(f64::from(min), f64::from(max)),
            Self::Geometric { mean, max } => {
                let q = Self::goes_on(mean, least);
                let more = f64::from(max.saturating_sub(least));
                // The sum of P(at least n) over n above `least`.
                f64::from(least) + q * (1.0 - libm::pow(q, more)) / (1.0 - q)
            }
        }
    }
}

/// A wait drawn anew each time: gamma, and with a spread of 0 always the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// Mean; 0: none.
    pub mean: Seconds,
    /// Standard deviation over mean; 1 is exponential.
    pub cv: f64,
}

impl Wait {
    /// No wait.
    pub const NONE: Self = Self {
        mean: Seconds::new(0.0),
        cv: 0.0,
    };

    /// Checks the numbers.
    ///
    /// # Errors
    /// A mean below 0 or above a month, a spread that is no number or too wide.
    pub fn check(self, what: &'static str) -> Result<(), WorkloadError> {
        if !(0.0..=MAX_WAIT).contains(&self.mean.get()) {
            return Err(WorkloadError::Wait {
                what,
                value: self.mean.get(),
            });
        }
        check_spread(what, self.cv)
    }
}

/// A beginning that many conversations share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemPrompt {
    /// Its length.
    pub tokens: Tokens,
    /// How many different ones there are; each conversation has one, all equally often.
    pub distinct: u32,
}

/// Conversations. `Workload::input` are the new tokens of a turn, `Workload::output` its answer,
/// `Workload::requests` the turns of all conversations together: the last one is cut to fit.
///
/// Conversations begin by the workload's arrivals, so that the rate is one of turns: a rate of 6 a
/// second and 3 turns on average begin 2 conversations a second. In a closed loop the concurrency
/// is conversations, thinking ones included: the next begins when one has ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sessions {
    /// Turns of a conversation.
    pub turns: Count,
    /// From an answer's last token to the next turn.
    pub think: Wait,
    /// What conversations begin with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<SystemPrompt>,
}

impl Sessions {
    /// One turn and nothing shared: what a workload without conversations is.
    pub const SINGLE: Self = Self {
        turns: Count::Fixed(1),
        think: Wait::NONE,
        system: None,
    };

    /// Checks the numbers.
    ///
    /// # Errors
    /// What is wrong, by name.
    pub fn check(&self) -> Result<(), WorkloadError> {
        self.turns.check("turns of a conversation", 1)?;
        self.think.check("the think time")?;
        if let Some(system) = self.system {
            Length::Fixed(system.tokens).check("system prompt")?;
            if !(1..=MAX_SYSTEM_PROMPTS).contains(&system.distinct) {
                return Err(WorkloadError::SystemPrompts(system.distinct));
            }
        }
        Ok(())
    }
}

/// Rounds whose answers nobody reads: reasoning, tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hidden {
    /// Rounds before the one whose answer is read; may be 0.
    pub rounds: Count,
    /// Answer tokens of such a round.
    pub tokens: Length,
    /// Tokens the tool adds to the next prompt; none: it adds nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Length>,
    /// From such an answer's last token to the next round: the tool at work.
    pub wait: Wait,
    /// Whether later turns still see the hidden rounds (chat templates drop reasoning, and keep tool
    /// calls).
    pub kept: bool,
}

impl Hidden {
    /// Checks the numbers.
    ///
    /// # Errors
    /// What is wrong, by name.
    pub fn check(&self) -> Result<(), WorkloadError> {
        self.rounds.check("hidden rounds of a request", 0)?;
        self.tokens.check("hidden answer")?;
        if let Some(tool) = self.tool {
            tool.check("tool result")?;
        }
        self.wait.check("the tool wait")
    }

    /// What a round adds to the prompt on average.
    fn growth(&self) -> f64 {
        self.tokens.mean() + self.tool.map_or(0.0, Length::mean)
    }

    /// What all rounds add to the prompt at most.
    fn most(&self) -> u64 {
        let round = self.tokens.longest() + self.tool.map_or(0, Length::longest);
        round.saturating_mul(u64::from(self.rounds.most()))
    }
}

/// Requests of one priority.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorityClass {
    /// The lowest number is served first, where an engine looks at it.
    pub priority: i32,
    /// How many requests are of it, relative to the other classes.
    pub share: f64,
}

/// Most classes.
pub const MAX_CLASSES: usize = 16;

/// Checks the shares of priority classes.
pub(super) fn check_classes(classes: &[PriorityClass]) -> Result<(), WorkloadError> {
    if classes.len() > MAX_CLASSES {
        return Err(WorkloadError::Classes(classes.len()));
    }
    for class in classes {
        if !(class.share.is_finite() && class.share > 0.0) {
            return Err(WorkloadError::NotPositive {
                what: "the share of a priority class",
                value: class.share,
            });
        }
    }
    Ok(())
}

/// What conversations of these parts ask of a cluster.
pub(super) struct Conversation {
    pub(super) input: Length,
    pub(super) output: Length,
    pub(super) sessions: Sessions,
    pub(super) hidden: Option<Hidden>,
}

impl Conversation {
    /// Longest prompt and answer together, tokens.
    pub(super) fn longest(&self) -> u64 {
        let system = self.sessions.system.map_or(0, |s| s.tokens.get());
        let turns = u64::from(self.sessions.turns.most());
        let turn = self.input.longest().saturating_add(self.output.longest());
        let (kept, last) = match self.hidden {
            Some(hidden) if hidden.kept => (hidden.most(), 0),
            Some(hidden) => (0, hidden.most()),
            None => (0, 0),
        };
        turn.saturating_add(kept)
            .saturating_mul(turns)
            .saturating_add(last)
            .saturating_add(system)
    }

    /// A longest conversation that can be counted and held.
    pub(super) fn check(&self) -> Result<(), WorkloadError> {
        let tokens = self.longest();
        if tokens > MAX_TOKENS {
            return Err(WorkloadError::Conversation(tokens));
        }
        Ok(())
    }

    /// Mean prompt and answer tokens of one request of a client, hidden rounds included. Spreads of
    /// turns count, those of rounds are taken at their mean.
    pub(super) fn means(&self) -> (f64, f64) {
        let turns = self.sessions.turns;
        let (input, output) = (self.input.mean(), self.output.mean());
        let (rounds, growth, tokens, kept) = self.hidden.map_or((0.0, 0.0, 0.0, 0.0), |hidden| {
            let kept = f64::from(u8::from(hidden.kept));
            (
                hidden.rounds.mean(0),
                hidden.growth(),
                hidden.tokens.mean(),
                kept,
            )
        });
        // Turns before this one, on average over all turns.
        let earlier: f64 = (2..=turns.most())
            .map(|turn| f64::from(turn - 1) * turns.at_least(turn, 1))
            .sum::<f64>()
            / turns.mean(1).max(1.0);
        let system = self.sessions.system.map_or(0.0, |s| s.tokens.as_f64());
        let before = system + earlier * (input + output + kept * rounds * growth);
        (
            (rounds + 1.0) * (before + input) + growth * rounds * (rounds + 1.0) / 2.0,
            output + rounds * tokens,
        )
    }

    /// Mean time a client's request and what precedes it are spent waiting for people and tools,
    /// s.
    pub(super) fn pause(&self) -> f64 {
        let turns = self.sessions.turns.mean(1).max(1.0);
        let tools = self
            .hidden
            .map_or(0.0, |h| h.rounds.mean(0) * h.wait.mean.get());
        self.sessions.think.mean.get() * (turns - 1.0) / turns + tools
    }
}

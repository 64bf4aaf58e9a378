//! The engines' own names of settings, and what each means in a line.

use super::EngineKind;

/// A part of an engine's settings, as they are shown together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// Budgets, memory, blocks.
    Engine,
    /// How batches are formed.
    Scheduler,
    /// What of the KV cache is kept, and where.
    Cache,
    /// CUDA graphs.
    Graphs,
    /// Which kernels run.
    Kernels,
    /// Drafted tokens.
    Speculation,
    /// What the host costs.
    Host,
}

impl Part {
    /// Those shown folded, in their order.
    pub const FOLDED: [Self; 6] = [
        Self::Scheduler,
        Self::Cache,
        Self::Graphs,
        Self::Kernels,
        Self::Speculation,
        Self::Host,
    ];

    /// Its name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Engine => "Engine",
            Self::Scheduler => "Scheduler",
            Self::Cache => "Prefix cache & tiers",
            Self::Graphs => "CUDA graphs",
            Self::Kernels => "Kernels",
            Self::Speculation => "Speculative decoding",
            Self::Host => "Host",
        }
    }
}

/// A setting every engine has, or can be studied with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Setting {
    /// Token budget of a step, or of a prefill chunk.
    TokenBudget,
    /// Most requests running in one scheduler.
    MaxSequences,
    /// Tokens of a KV block.
    BlockSize,
    /// Share of memory; of what, differs.
    MemoryFraction,
    /// Whether a prompt may be cut to fit the budget.
    ChunkedPrefill,
    /// KV blocks as the engine reports them.
    Blocks,
    /// Layers of each pipeline stage.
    StageLayers,
    /// When a disaggregated first token reaches the client.
    FirstToken,
    /// How KV gets from prefill to decode.
    KvTransfer,
    /// How tokens reach their experts' ranks.
    ExpertExchange,
    /// The loop that forms batches.
    Scheduler,
    /// In which order requests wait.
    Order,
    /// Most tokens of one prompt in a step.
    LongPrefill,
    /// Most prompts under way at once.
    PartialPrefills,
    /// Share of blocks that must stay free at admission.
    Watermark,
    /// Decodes in the steps of prompt chunks.
    MixedChunk,
    /// Most prompt tokens of a batch.
    MaxPrefillTokens,
    /// How much of its answer a request is expected still to need.
    Conservativeness,
    /// Most steps in which prompts wait for more of them.
    BatchWait,
    /// Share of the token budget at which they wait no longer.
    BatchWaitRatio,
    /// Decode steps between looks at what has come in.
    ReceiveInterval,
    /// Whether prompts that begin alike share what is cached.
    PrefixCaching,
    /// KV tiers below HBM.
    Tiers,
    /// Which batches run as CUDA graphs.
    GraphMode,
    /// Largest captured size.
    GraphSize,
    /// Whether batches are padded to captured sizes.
    GraphPadding,
    /// Who drafts.
    Draft,
    /// Draft passes.
    DraftSteps,
    /// Tokens verified.
    Verified,
    /// Acceptance by depth.
    Acceptance,
    /// Whether host and device overlap.
    Overlap,
    /// Host time of a step.
    StepTime,
    /// Host time of a step for each sequence.
    SequenceTime,
    /// Host time of a request.
    RequestTime,
    /// Host time of a token handed over.
    OutputTime,
    /// Tokens of an answer that a message to its client carries.
    StreamInterval,
    /// Host time of a kernel.
    LaunchTime,
    /// Time of a request outside the server.
    NetworkTime,
    /// Time the device stands between launches.
    LaunchGap,
    /// How much slower than in a short benchmark kernels are that keep the tensor cores busy.
    Sustained,
    /// Kernels of experts.
    MoeBackend,
    /// Kernels of attention.
    AttentionBackend,
}

/// A line of the table.
struct Word {
    setting: Setting,
    part: Part,
    /// In vLLM, SGLang and TensorRT-LLM. After `!` the engine's name says the opposite; a name with
    /// spaces is ours, the engine has no such setting or no single name of it.
    names: [&'static str; 3],
    help: &'static str,
}

const fn word(setting: Setting, part: Part, names: [&'static str; 3], help: &'static str) -> Word {
    Word {
        setting,
        part,
        names,
        help,
    }
}

/// Each setting's names. Sources: vLLM 0.11 `vllm/engine/arg_utils.py`, `config/scheduler.py`,
/// `config/compilation.py`; SGLang 0.5 `srt/server_args.py`; TensorRT-LLM 1.0
/// `llmapi/llm_args.py`, where `enable_block_reuse`, `free_gpu_memory_fraction`,
/// `tokens_per_block` and `host_cache_size` belong to `kv_cache_config`, and
/// `capacity_scheduler_policy` to `scheduler_config`; its choice of an exchange is an environment
/// variable (`TRTLLM_FORCE_ALLTOALL_METHOD` before 1.2).
#[rustfmt::skip]
const WORDS: [Word; 42] = [
    word(Setting::TokenBudget, Part::Engine,
        ["max_num_batched_tokens", "chunked_prefill_size", "max_num_tokens"],
        "Token budget of a step"),
    word(Setting::MaxSequences, Part::Engine,
        ["max_num_seqs", "max_running_requests", "max_batch_size"],
        "Most requests running in one scheduler"),
    word(Setting::BlockSize, Part::Engine,
        ["block_size", "page_size", "tokens_per_block"],
        "Tokens of a KV block"),
    word(Setting::MemoryFraction, Part::Engine,
        ["gpu_memory_utilization", "mem_fraction_static", "free_gpu_memory_fraction"],
        "Share of the memory the engine may use"),
    word(Setting::ChunkedPrefill, Part::Engine,
        ["enable_chunked_prefill", "chunked prefill", "enable_chunked_prefill"],
        "Whether a prompt may be cut to fit the budget"),
    word(Setting::Blocks, Part::Engine,
        ["num_gpu_blocks", "KV pages", "KV blocks"],
        "KV blocks of one scheduler: worked out from memory, or as your engine's log says"),
    word(Setting::StageLayers, Part::Engine,
        ["VLLM_PP_LAYER_PARTITION", "SGLANG_PP_LAYER_PARTITION", "pp_partition"],
        "Layers of each pipeline stage, 16,16,15,14; even: equal shares"),
    word(Setting::FirstToken, Part::Engine,
        ["first token", "first token", "first token"],
        "When a disaggregated request's first token reaches the client"),
    word(Setting::KvTransfer, Part::Engine,
        ["KV transfer", "KV transfer", "KV transfer"],
        "How a prompt's KV gets from this prefill pool to decode: decode allocates after prefill and pulls (NIXL, TensorRT-LLM), or allocates first and prefill pushes, at its end, by chunk (SGLang) or by layer"),
    word(Setting::ExpertExchange, Part::Engine,
        ["all2all_backend", "moe_a2a_backend", "TRTLLM_FORCE_COMM_METHOD"],
        "How tokens reach the ranks that hold their experts, and results come back, where lanes (DP) share experts; SGLang's deepep is with deepep_mode auto, or with the mode after it"),
    word(Setting::Scheduler, Part::Scheduler,
        ["scheduler", "scheduler", "capacity_scheduler_policy"],
        "The loop that forms batches; those of other engines are for study"),
    word(Setting::Order, Part::Scheduler,
        ["scheduling_policy", "schedule_policy", "queue order"],
        "In which order requests wait: by arrival, by priority, or the longest cached prefix first"),
    word(Setting::LongPrefill, Part::Scheduler,
        ["long_prefill_token_threshold", "longest prompt piece", "longest prompt piece"],
        "Most tokens of one prompt in a step; 0: no limit but the budget"),
    word(Setting::PartialPrefills, Part::Scheduler,
        ["max_num_partial_prefills", "prompts under way", "prompts under way"],
        "Most prompts under way at once; 0: no limit. vLLM V1 knows only its default 1 and does not count, so 0 is what it does"),
    word(Setting::Watermark, Part::Scheduler,
        ["watermark", "watermark", "watermark"],
        "Share of KV blocks that must stay free when a request is admitted; vLLM V0 kept 0.01"),
    word(Setting::MixedChunk, Part::Scheduler,
        ["mixed chunks", "enable_mixed_chunk", "mixed chunks"],
        "Whether decodes run in the steps of prompt chunks (SGLang's loop)"),
    word(Setting::MaxPrefillTokens, Part::Scheduler,
        ["prompt tokens of a batch", "max_prefill_tokens", "prompt tokens of a batch"],
        "Most prompt tokens of a batch (SGLang's loop); 0: no limit"),
    word(Setting::Conservativeness, Part::Scheduler,
        ["conservativeness", "schedule_conservativeness", "conservativeness"],
        "Times the share of its answer a request is expected still to need when another is admitted (SGLang's loop)"),
    word(Setting::BatchWait, Part::Scheduler,
        ["prompts wait", "prompts wait", "batch_wait_timeout_iters"],
        "Most steps in which prompts wait for more of them while others decode (TensorRT-LLM's loop); 0: none"),
    word(Setting::BatchWaitRatio, Part::Scheduler,
        ["prompts wait up to", "prompts wait up to", "batch_wait_max_tokens_ratio"],
        "Share of the token budget at which prompts wait no longer (TensorRT-LLM's loop)"),
    word(Setting::ReceiveInterval, Part::Scheduler,
        ["looks every", "scheduler_recv_interval", "looks every"],
        "Decode steps between looks at what has come in (SGLang's loop); 0: before every step"),
    word(Setting::PrefixCaching, Part::Cache,
        ["enable_prefix_caching", "!disable_radix_cache", "enable_block_reuse"],
        "Whether prompts that begin alike share what is cached"),
    word(Setting::Tiers, Part::Cache,
        ["KV tiers", "KV tiers", "KV tiers"],
        "Where KV goes when it leaves HBM, nearest first: an offloading connector (vLLM), enable_hierarchical_cache (SGLang), host_cache_size (TensorRT-LLM)"),
    word(Setting::GraphMode, Part::Graphs,
        ["cudagraph_mode", "CUDA graphs", "cuda_graph_config"],
        "Which batches run as CUDA graphs; others are issued kernel by kernel"),
    word(Setting::GraphSize, Part::Graphs,
        ["max_cudagraph_capture_size", "cuda_graph_max_bs", "cuda_graph_max_batch_size"],
        "Largest captured size: tokens in vLLM, requests in the others; larger batches are eager"),
    word(Setting::MoeBackend, Part::Kernels,
        ["moe_backend", "moe_runner_backend", "moe_config_backend"],
        "Kernels of experts; auto: as the engine chooses for the GPU and the number format"),
    word(Setting::AttentionBackend, Part::Kernels,
        ["attention_backend", "attention_backend", "attn_backend"],
        "Kernels of attention; auto: as the engine chooses for the GPU"),
    word(Setting::GraphPadding, Part::Graphs,
        ["graph padding", "!disable_cuda_graph_padding", "enable_padding"],
        "Whether a batch is padded to the next captured size; else only batches of just such a size run as graphs. vLLM always pads"),
    word(Setting::Draft, Part::Speculation,
        ["speculative_config", "speculative_algorithm", "speculative_config"],
        "Who drafts the tokens that are verified together"),
    word(Setting::DraftSteps, Part::Speculation,
        ["num_speculative_tokens", "speculative_num_steps", "max_draft_len"],
        "Draft passes, each one token deeper"),
    word(Setting::Verified, Part::Speculation,
        ["tokens verified", "tokens verified", "tokens verified"],
        "Drafted tokens verified in a step: as many as steps in a chain, more in a tree (SGLang's speculative_num_draft_tokens counts the sure one too)"),
    word(Setting::Acceptance, Part::Speculation,
        ["acceptance", "acceptance", "acceptance"],
        "For each depth, how likely a token is accepted when all before it were; the last holds for all deeper"),
    word(Setting::Overlap, Part::Host,
        ["async_scheduling", "!disable_overlap_schedule", "!disable_overlap_scheduler"],
        "Whether the host prepares a step while the one before runs"),
    word(Setting::StepTime, Part::Host,
        ["host step time", "host step time", "host step time"],
        "Host time of each step"),
    word(Setting::SequenceTime, Part::Host,
        ["per sequence", "per sequence", "per sequence"],
        "Host time of a step for each of its sequences"),
    word(Setting::RequestTime, Part::Host,
        ["per request", "per request", "per request"],
        "Before a request reaches its scheduler: HTTP, templates, tokenising; one at a time"),
    word(Setting::OutputTime, Part::Host,
        ["per token out", "per token out", "per token out"],
        "Handing one message (a token, or stream_interval of them) to its client: detokenising, streaming; one at a time"),
    word(Setting::StreamInterval, Part::Host,
        ["stream_interval", "stream_interval", "stream_interval"],
        "Tokens of an answer that a message to its client carries"),
    word(Setting::LaunchTime, Part::Host,
        ["kernel launch", "kernel launch", "kernel launch"],
        "Issuing one kernel, or one graph"),
    word(Setting::NetworkTime, Part::Host,
        ["network", "network", "network"],
        "What a request takes beside all that and no other waits for: network, HTTP, the way of its first token back"),
    word(Setting::LaunchGap, Part::Host,
        ["launch gap", "launch gap", "launch gap"],
        "How long the device stands between two kernels or graphs that are issued apart"),
    word(Setting::Sustained, Part::Kernels,
        ["sustained load", "sustained load", "sustained load"],
        "How much longer than timed alone in a benchmark a kernel takes that keeps the tensor cores wholly busy: clocks fall under power"),
];

impl Setting {
    /// All, in the order shown.
    pub fn all() -> impl Iterator<Item = Self> {
        WORDS.iter().map(|word| word.setting)
    }

    /// Those of a part, in the order shown.
    pub fn of(part: Part) -> impl Iterator<Item = Self> {
        WORDS
            .iter()
            .filter(move |word| word.part == part)
            .map(|word| word.setting)
    }

    fn line(self) -> Option<&'static Word> {
        WORDS.iter().find(|word| word.setting == self)
    }

    /// What it means, one sentence.
    #[must_use]
    pub fn help(self) -> &'static str {
        self.line().map_or("", |word| word.help)
    }
}

impl EngineKind {
    const fn column(self) -> usize {
        match self {
            Self::Vllm => 0,
            Self::Sglang => 1,
            Self::TensorRtLlm => 2,
        }
    }

    fn marked(self, setting: Setting) -> &'static str {
        setting.line().map_or("", |word| word.names[self.column()])
    }

    /// The engine's own name of a setting.
    #[must_use]
    pub fn word(self, setting: Setting) -> &'static str {
        self.marked(setting).trim_start_matches('!')
    }

    /// Whether the engine's name says the opposite: `disable_radix_cache`.
    #[must_use]
    pub fn inverts(self, setting: Setting) -> bool {
        self.marked(setting).starts_with('!')
    }

    /// The setting of a name, and whether the name says the opposite: the engine's own name, or
    /// else vLLM's, which documents use. Spaces of our own names may be `-` or `_`.
    #[must_use]
    pub fn setting(self, name: &str) -> Option<(Setting, bool)> {
        let plain = |text: &str| text.to_lowercase().replace(['-', '_'], " ");
        let asked = plain(name);
        [self, Self::Vllm].into_iter().find_map(|kind| {
            Setting::all()
                .find(|setting| plain(kind.word(*setting)) == asked)
                .map(|setting| (setting, kind.inverts(setting)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_name_and_a_help_in_every_engine() {
        for kind in EngineKind::ALL {
            for setting in Setting::all() {
                let word = kind.word(setting);
                assert!(
                    !word.is_empty() && !word.contains('!'),
                    "{setting:?} {kind:?}"
                );
                assert!(!setting.help().is_empty(), "{setting:?}");
                // A name says which setting, and only that one.
                let found = kind.setting(word);
                assert_eq!(found, Some((setting, kind.inverts(setting))), "{word}");
            }
        }
        let parts = [Part::Engine].into_iter().chain(Part::FOLDED);
        assert_eq!(
            parts.map(|part| Setting::of(part).count()).sum::<usize>(),
            Setting::all().count()
        );
    }

    #[test]
    fn names_are_the_engines_own() {
        let names = |setting| EngineKind::ALL.map(|kind| kind.word(setting));
        assert_eq!(
            names(Setting::MemoryFraction),
            [
                "gpu_memory_utilization",
                "mem_fraction_static",
                "free_gpu_memory_fraction"
            ]
        );
        assert_eq!(
            names(Setting::PrefixCaching),
            [
                "enable_prefix_caching",
                "disable_radix_cache",
                "enable_block_reuse"
            ]
        );
        let inverts = |setting| EngineKind::ALL.map(|kind| kind.inverts(setting));
        assert_eq!(inverts(Setting::PrefixCaching), [false, true, false]);
        assert_eq!(inverts(Setting::Overlap), [false, true, true]);
        // Another engine understands vLLM's names too, as they are.
        assert_eq!(
            EngineKind::Sglang.setting("async_scheduling"),
            Some((Setting::Overlap, false))
        );
        assert_eq!(EngineKind::Vllm.setting("disable_radix_cache"), None);
    }
}

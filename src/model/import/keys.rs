//! How the families spell the same quantity. The first spelling is the most common one and the one
//! messages name.

/// Width of the residual stream.
pub(super) const HIDDEN: &[&str] = &["hidden_size", "n_embd", "d_model", "model_dim"];
/// Layers.
pub(super) const LAYERS: &[&str] = &[
    "num_hidden_layers",
    "n_layer",
    "n_layers",
    "num_layers",
    "num_transformer_layers",
];
/// Rows of the embedding table.
pub(super) const VOCAB: &[&str] = &["vocab_size", "padded_vocab_size"];
/// Longest context.
pub(super) const CONTEXT: &[&str] = &[
    "max_position_embeddings",
    "model_max_length",
    "max_sequence_length",
    "max_seq_len",
    "max_seq_length",
    "seq_length",
    "n_positions",
    "n_ctx",
    "context_length",
];
/// Query heads.
pub(super) const HEADS: &[&str] = &["num_attention_heads", "n_head", "n_heads", "num_heads"];
/// Key-value heads.
pub(super) const KV_HEADS: &[&str] = &[
    "num_key_value_heads",
    "num_kv_heads",
    "n_kv_heads",
    "n_head_kv",
    "kv_n_heads",
    "num_attention_groups",
    "multi_query_group_num",
    "num_query_groups",
];
/// Width of a head.
pub(super) const HEAD_DIM: &[&str] = &["head_dim", "attention_head_dim", "kv_channels", "d_head"];
/// The window of sliding-window layers.
pub(super) const WINDOW: &[&str] = &[
    "sliding_window",
    "sliding_window_size",
    "attention_window_size",
    "window_size",
];
/// Inner width of a dense MLP.
pub(super) const INTERMEDIATE: &[&str] = &[
    "intermediate_size",
    "n_inner",
    "ffn_dim",
    "ffn_hidden_size",
    "block_ff_dim",
];
/// Inner width of the dense MLPs of a model whose `intermediate_size` is an expert's.
pub(super) const DENSE_INTERMEDIATE: &[&str] =
    &["dense_intermediate_size", "intermediate_size_mlp"];
/// Routed experts.
pub(super) const EXPERTS: &[&str] = &[
    "num_experts",
    "n_routed_experts",
    "num_local_experts",
    "num_routed_experts",
    "moe_num_experts",
];
/// Routed experts a token visits.
pub(super) const TOP_K: &[&str] = &[
    "num_experts_per_tok",
    "num_experts_per_token",
    "experts_per_token",
    "moe_topk",
    "moe_top_k",
    "moe_k",
    "top_k_experts",
    "num_selected_experts",
];
/// Inner width of a routed expert.
pub(super) const EXPERT_WIDTH: &[&str] = &[
    "moe_intermediate_size",
    "expert_ffn_hidden_size",
    "moe_ffn_hidden_size",
    "expert_intermediate_size",
];
/// Shared experts.
pub(super) const SHARED: &[&str] = &[
    "n_shared_experts",
    "num_shared_experts",
    "num_shared_expert",
    "moe_num_shared_experts",
];
/// Inner width of all shared experts together.
pub(super) const SHARED_WIDTH: &[&str] = &[
    "shared_expert_intermediate_size",
    "moe_shared_expert_intermediate_size",
    "shared_intermediate_size",
    "share_expert_dim",
];
/// Width of the space routed experts work in.
pub(super) const LATENT: &[&str] = &["moe_latent_size", "routed_expert_hidden_size"];
/// Groups of experts.
pub(super) const GROUPS: &[&str] = &["n_group", "num_expert_groups", "num_expert_group"];
/// Groups a token chooses in.
pub(super) const GROUPS_PER_TOKEN: &[&str] = &["topk_group", "num_limited_groups"];
/// Layers in front that are dense.
pub(super) const FIRST_DENSE: &[&str] = &[
    "first_k_dense_replace",
    "num_dense_layers",
    "moe_layer_num_skipped",
];
/// Ranks and widths of MLA.
pub(super) const KV_RANK: &[&str] = &["kv_lora_rank", "attention_kv_lora_dim"];
/// Rank of its queries.
pub(super) const Q_RANK: &[&str] = &["q_lora_rank", "attention_q_lora_dim"];
/// Width of a head's part without position.
pub(super) const NOPE: &[&str] = &["qk_nope_head_dim", "attention_qk_dim"];
/// Width of its rotary part.
pub(super) const ROPE: &[&str] = &["qk_rope_head_dim", "attention_qk_rope_dim"];
/// Width of a value head.
pub(super) const VALUE: &[&str] = &["v_head_dim", "attention_v_dim"];
/// Layers that predict further tokens.
pub(super) const MTP: &[&str] = &[
    "num_nextn_predict_layers",
    "num_mtp_modules",
    "mtp_num_hidden_layers",
    "num_mtp_layers",
];

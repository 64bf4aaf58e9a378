use super::not_run;
use crate::catalog::Dtype;
use crate::model::{Attention, Ffn, Indexer, LayerRun, Model, Recurrent, Span, samples};
use crate::plan::legality::{Facts, legal_tps as legal};

fn legal_tps(model: &Model, most: u32) -> Vec<u32> {
    legal(&Facts::of(model, Dtype::Bf16), most)
}

fn of(attentions: &[Attention]) -> Model {
    samples::tiny(attentions)
}

#[test]
fn every_kind_of_layer_runs() {
    for model in samples::all() {
        assert_eq!(not_run(&model), None, "{}", model.id);
    }
}

#[test]
fn what_does_not_run_is_refused_by_name() {
    let mut own = samples::gqa(8, 2, 64, Span::Chunk(8192));
    own.indexer = Some(samples::INDEXER);
    let cause = not_run(&of(&[Attention::Gqa(own)])).unwrap();
    assert!(cause.contains("indexer chooses inside a chunk"), "{cause}");
    let windows = |count: u64| {
        let layers: Vec<Attention> = (1..=count)
            .map(|n| Attention::Gqa(samples::gqa(8, 2, 64, Span::Window(64 * n))))
            .collect();
        not_run(&of(&layers))
    };
    assert_eq!(windows(16), None);
    assert!(windows(17).unwrap().contains("17 different spans"));
    // The same number of tokens by any name is one span.
    let chosen = Attention::Mla(crate::model::Mla {
        heads: 8,
        kv_rank: 64,
        nope_dim: 32,
        rope_dim: 16,
        v_dim: 32,
        indexer: Some(Indexer {
            top_k: 64,
            ..samples::INDEXER
        }),
        ..crate::model::Mla::default()
    });
    let mut layers = vec![chosen];
    layers.extend((1..=16).map(|n| Attention::Gqa(samples::gqa(8, 2, 64, Span::Window(64 * n)))));
    assert_eq!(not_run(&of(&layers)), None);
}

#[test]
fn tp_divides_both_halves_of_a_layer_and_all_heads_of_a_recurrence() {
    let model = |attention| {
        let layer = LayerRun::new(1, attention, Ffn::gated(4096));
        samples::model("one", 1024, 32_000, vec![layer])
    };
    let delta = |key, value| Recurrent::DeltaNet(samples::delta_net(key, value, false));
    assert_eq!(
        legal_tps(&model(Attention::Recurrent(delta(16, 48))), 32),
        [1, 2, 4, 8, 16]
    );
    let both = Attention::Parallel {
        attention: samples::gqa(24, 6, 64, Span::Full),
        recurrent: delta(8, 8),
    };
    // 4 neither divides 6 KV heads nor is a multiple of them; 3 does not divide 8 heads.
    assert_eq!(legal_tps(&model(both), 8), [1, 2]);
    let convolution = Recurrent::ShortConv {
        width: 1024,
        kernel: 3,
        bias: false,
    };
    assert_eq!(
        legal_tps(&model(Attention::Recurrent(convolution)), 8),
        [1, 2, 4, 8]
    );
}

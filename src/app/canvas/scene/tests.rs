use super::*;
use crate::app::canvas::hit::{Hit, hit};
use crate::app::canvas::testing::{catalog, design};

#[test]
fn every_gpu_shows_its_pool() {
    let (catalog, design) = (catalog(), design());
    let scene = Scene::build(&design, &catalog);
    let owner = design.pool_by_gpu();
    for card in &scene.cards {
        for instance in 0..card.count {
            for slot in 0..card.stride {
                let expected = owner.get(&card.address(instance, slot)).copied();
                let shown = scene
                    .pool(card.gpu(instance, slot))
                    .map(|pool| pool.id.clone());
                assert_eq!(shown, expected.map(|pool| design.pools[pool].id.clone()));
            }
        }
        let gpus: u32 = card.mix.iter().map(|(_, n)| n).sum();
        assert_eq!(gpus, card.count * card.stride);
    }
}

#[test]
fn what_is_drawn_is_what_is_hit() {
    let scene = Scene::build(&design(), &catalog());
    for (number, card) in scene.cards.iter().enumerate() {
        let title = card.shape.rect.left_top() + eframe::egui::vec2(20.0, 8.0);
        assert_eq!(hit(&scene, 1.0, title, None), Hit::Card(number));
        if let Inside::Gpus(grid) = card.shape.inside {
            for slot in 0..grid.count {
                let under = hit(&scene, 1.0, grid.tile(slot).center(), None);
                assert_eq!(
                    under,
                    Hit::Gpu {
                        card: number,
                        instance: 0,
                        slot
                    }
                );
            }
        }
    }
    let wire = scene
        .wires
        .iter()
        .position(|wire| wire.kind != WireKind::Feed)
        .unwrap();
    let middle = scene.wires[wire].points[20];
    assert_eq!(hit(&scene, 1.0, middle, None), Hit::Wire(wire));
    assert_eq!(hit(&scene, 1.0, pos2(-5000.0, 0.0), None), Hit::Empty);
}

#[test]
fn wires_end_at_their_cards_and_labels_cover_none() {
    let scene = Scene::build(&design(), &catalog());
    assert!(scene.wires.iter().any(|wire| wire.kind == WireKind::Feed));
    for wire in &scene.wires {
        for (end, card) in [(wire.points.first(), wire.a), (wire.points.last(), wire.b)] {
            let rect = scene.cards[card].shape.rect;
            assert!(rect.distance_to_pos(*end.unwrap()) < 0.1);
        }
        if let Some(middle) = wire.label_at {
            assert!(
                !scene
                    .cards
                    .iter()
                    .any(|card| card.shape.rect.contains(middle))
            );
        }
    }
    let link = scene
        .wires
        .iter()
        .find(|wire| wire.kind != WireKind::Feed)
        .unwrap();
    assert_eq!(link.label, "8 × 400 Gb/s IB");
}

#[test]
fn a_hostile_drawing_neither_panics_nor_explodes() {
    let (catalog, mut design) = (catalog(), design());
    design.cluster.groups[0].count = u32::MAX;
    design.cluster.groups[1].position.x = f32::NAN;
    design.cluster.groups[1].count = 0;
    let twin = design.cluster.groups[1].clone();
    design.cluster.groups.push(twin);
    let scene = Scene::build(&design, &catalog);
    assert!(
        scene
            .cards
            .iter()
            .all(|card| card.gpus.len() <= MAX_GPUS as usize)
    );
    assert!(scene.bounds.unwrap().is_finite());
}

#[test]
fn a_thousand_gpus_are_laid_out_within_a_frame() {
    let catalog = catalog();
    let mut design = design();
    for _ in 0..120 {
        let groups = std::collections::BTreeSet::from([design.cluster.groups[0].id.clone()]);
        edits::duplicate_groups(&mut design, &groups, 300.0, 0.0, &catalog);
    }
    let start = std::time::Instant::now();
    let scene = Scene::build(&design, &catalog);
    // Generous for a debug build on a loaded machine; it takes a few milliseconds.
    assert!(start.elapsed().as_millis() < 500, "{:?}", start.elapsed());
    assert!(scene.cards.len() > 120);
}

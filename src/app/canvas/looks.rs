//! Which cards look unlike the rest, and how: selected, hovered, under the brush, with a badge,
//! open to a link or not.

use super::badge::Badges;
use super::gesture::Gesture;
use super::hit::Hit;
use super::paint_card::Look;
use super::{CanvasState, CanvasView};
use crate::app::selection::Item;
use crate::cluster::GroupId;
use crate::plan::PoolId;
use std::collections::BTreeMap;

impl CanvasState {
    /// How the cards that stand out look.
    pub(super) fn looks(&self, view: &CanvasView<'_>, badges: &Badges) -> BTreeMap<usize, Look> {
        let mut looks: BTreeMap<usize, Look> = BTreeMap::new();
        let index = |id: &GroupId| self.scene.index.get(id).copied();
        for item in &view.selection.items {
            match item {
                Item::Group(id) => {
                    if let Some(card) = index(id) {
                        looks.entry(card).or_default().selected = true;
                    }
                }
                Item::Gpu(gpu) => {
                    if let Some(card) = index(&gpu.group) {
                        looks
                            .entry(card)
                            .or_default()
                            .gpus
                            .insert((gpu.instance, gpu.slot));
                    }
                }
                Item::Pool(id) => self.mark_pool(id, &mut looks),
                Item::Link(_) => {}
            }
        }
        for (id, badge) in &badges.groups {
            if let Some(card) = index(id) {
                looks.entry(card).or_default().badge = Some(badge.clone());
            }
        }
        if let Some(card) = self.hover.card()
            && matches!(self.gesture, None | Some(Gesture::Link { .. }))
        {
            let look = looks.entry(card).or_default();
            look.hovered = true;
            look.hovered_gpu = match self.hover {
                Hit::Gpu { instance, slot, .. } => Some((instance, slot)),
                Hit::Cell { cell, .. } => {
                    Some((self.scene.cards[card].cell_instances(cell).start, 0))
                }
                _ => None,
            };
        }
        match &self.gesture {
            Some(Gesture::Brush { role, gpus, .. }) => {
                for gpu in gpus {
                    if let Some(card) = index(&gpu.group) {
                        let look = looks.entry(card).or_default();
                        look.brush = *role;
                        look.painted.insert((gpu.instance, gpu.slot));
                    }
                }
            }
            Some(Gesture::Link { from, legal, .. }) => {
                for (card, legal) in legal.iter().enumerate() {
                    let itself = index(from) == Some(card);
                    looks.entry(card).or_default().legal = (!itself).then_some(*legal);
                }
            }
            _ => {}
        }
        looks
    }

    fn mark_pool(&self, id: &PoolId, looks: &mut BTreeMap<usize, Look>) {
        let Some(pool) = self.scene.pools.iter().position(|pool| pool.id == *id) else {
            return;
        };
        for (number, card) in self.scene.cards.iter().enumerate() {
            if !card.mix.iter().any(|(n, _)| usize::from(*n) == pool) {
                continue;
            }
            let look = looks.entry(number).or_default();
            for (at, gpu) in (0u32..).zip(&card.gpus) {
                if usize::from(*gpu) == pool {
                    look.gpus.insert((at / card.stride, at % card.stride));
                }
            }
        }
    }
}

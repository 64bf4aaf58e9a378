//! The shape of one group's card: where title, GPU tiles, NICs and footer lie, in world points.
//! Painting and hit-testing both ask here, so what is seen is what is hit.

use eframe::egui::{Pos2, Rect, Vec2, pos2, vec2};

/// Inner margin.
pub const PAD: f32 = 12.0;
/// Title line and the line below it.
pub const HEADER: f32 = 46.0;
/// Line with the scale-up domain's name, in its box.
const DOMAIN_LABEL: f32 = 21.0;
/// Margin of the domain's box.
const DOMAIN_PAD: f32 = 8.0;
/// A NIC.
const NIC: Vec2 = vec2(18.0, 8.0);
/// Bottom line.
const FOOTER: f32 = 26.0;
/// Most tiles of a stack; larger groups show several instances per tile.
const MOST_CELLS: u32 = 64;
/// Most NICs drawn one by one.
const MOST_NICS: u32 = 16;

/// A regular grid of equal tiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    /// Top left of the first tile.
    pub origin: Pos2,
    /// Tiles of a row.
    pub columns: u32,
    /// Tiles in all.
    pub count: u32,
    /// Size of a tile.
    pub tile: Vec2,
    /// Between tiles.
    pub gap: f32,
}

impl Grid {
    fn rows(&self) -> u32 {
        self.count.div_ceil(self.columns.max(1))
    }

    fn size(&self) -> Vec2 {
        let (columns, rows) = (self.columns.min(self.count).max(1), self.rows().max(1));
        #[expect(clippy::cast_precision_loss, reason = "a grid has few tiles")]
        let span = |n: u32, tile: f32| n as f32 * (tile + self.gap) - self.gap;
        vec2(span(columns, self.tile.x), span(rows, self.tile.y))
    }

    /// The whole grid.
    pub fn bounds(&self) -> Rect {
        Rect::from_min_size(self.origin, self.size())
    }

    /// The place of a tile.
    pub fn tile(&self, index: u32) -> Rect {
        let (column, row) = (index % self.columns.max(1), index / self.columns.max(1));
        #[expect(clippy::cast_precision_loss, reason = "a grid has few tiles")]
        let offset = vec2(
            column as f32 * (self.tile.x + self.gap),
            row as f32 * (self.tile.y + self.gap),
        );
        Rect::from_min_size(self.origin + offset, self.tile)
    }

    /// The tile at a point; a gap belongs to none.
    pub fn at(&self, point: Pos2) -> Option<u32> {
        let local = point - self.origin;
        if local.x < 0.0 || local.y < 0.0 {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and float casts saturate"
        )]
        let (column, row) = (
            (local.x / (self.tile.x + self.gap)) as u32,
            (local.y / (self.tile.y + self.gap)) as u32,
        );
        let index = row.checked_mul(self.columns)?.checked_add(column)?;
        (column < self.columns && index < self.count && self.tile(index).contains(point))
            .then_some(index)
    }
}

/// What is inside a card.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Inside {
    /// One node: its GPUs.
    Gpus(Grid),
    /// Several nodes: a tile per instance, or per `each` of them.
    Instances {
        /// The tiles.
        grid: Grid,
        /// Instances of a tile.
        each: u32,
    },
    /// Anything without GPU slots: a line of text.
    Plain,
}

/// A card's geometry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// The whole card.
    pub rect: Rect,
    /// What is in it.
    pub inside: Inside,
    /// Box of the scale-up domain.
    pub domain: Option<Rect>,
    /// Line of the NICs.
    pub nics: Option<Rect>,
    /// Bottom line.
    pub footer: Rect,
}

impl Shape {
    /// A single node.
    pub fn node(at: Pos2, gpus: u32, nics: u32) -> Self {
        let (columns, tile, gap) = match gpus {
            0..=4 => (gpus.max(1), vec2(62.0, 40.0), 6.0),
            5..=8 => (4, vec2(62.0, 40.0), 6.0),
            9..=16 => (8, vec2(44.0, 34.0), 5.0),
            17..=96 => (12, vec2(32.0, 26.0), 4.0),
            _ => (32, vec2(20.0, 18.0), 3.0),
        };
        let origin = at + vec2(PAD + DOMAIN_PAD, HEADER + DOMAIN_LABEL);
        let mut grid = Grid {
            origin,
            columns,
            count: gpus,
            tile,
            gap,
        };
        let inner = grid.size().x.max(250.0);
        // Few GPUs: stretch the tiles rather than leave the box half empty.
        if gpus <= 4 {
            #[expect(clippy::cast_precision_loss, reason = "at most four")]
            let n = columns as f32;
            grid.tile.x = ((inner - gap * (n - 1.0)) / n).min(128.0);
        }
        let domain = Rect::from_min_size(
            at + vec2(PAD, HEADER),
            vec2(
                inner + 2.0 * DOMAIN_PAD,
                DOMAIN_LABEL + grid.size().y + DOMAIN_PAD,
            ),
        );
        Self::below(at, Inside::Gpus(grid), domain, Some(domain), nics)
    }

    /// Several nodes of a kind.
    pub fn stack(at: Pos2, count: u32, nics: u32) -> Self {
        let each = count.div_ceil(MOST_CELLS).max(1);
        let cells = count.div_ceil(each).max(1);
        let (columns, tile, gap) = match cells {
            0..=8 => (4, vec2(64.0, 36.0), 6.0),
            9..=32 => (8, vec2(36.0, 26.0), 5.0),
            _ => (16, vec2(20.0, 18.0), 3.0),
        };
        let grid = Grid {
            origin: at + vec2(PAD, HEADER + 2.0),
            columns,
            count: cells,
            tile,
            gap,
        };
        let mut area = grid.bounds();
        area.set_width(area.width().max(266.0));
        Self::below(at, Inside::Instances { grid, each }, area, None, nics)
    }

    /// A switch, a loose part.
    pub fn plain(at: Pos2) -> Self {
        let rect = Rect::from_min_size(at, vec2(168.0, 60.0));
        Self {
            rect,
            inside: Inside::Plain,
            domain: None,
            nics: None,
            footer: Rect::from_min_max(pos2(rect.left(), rect.bottom() - 24.0), rect.max),
        }
    }

    fn below(at: Pos2, inside: Inside, area: Rect, domain: Option<Rect>, nics: u32) -> Self {
        let width = area.width() + 2.0 * PAD;
        let mut bottom = area.bottom() + 8.0;
        let nic_row = (nics > 0)
            .then(|| Rect::from_min_size(pos2(at.x + PAD, bottom), vec2(width - 2.0 * PAD, NIC.y)));
        if nic_row.is_some() {
            bottom += NIC.y + 2.0;
        }
        let footer = Rect::from_min_size(pos2(at.x, bottom), vec2(width, FOOTER));
        Self {
            rect: Rect::from_min_max(at, footer.max),
            inside,
            domain,
            nics: nic_row,
            footer,
        }
    }

    /// Where NICs are drawn: one each, or one bar for very many.
    pub fn nic_rects(&self, nics: u32) -> Vec<Rect> {
        let Some(row) = self.nics else {
            return Vec::new();
        };
        if nics > MOST_NICS {
            return vec![row];
        }
        #[expect(clippy::cast_precision_loss, reason = "at most sixteen")]
        let step = row.width() / nics as f32;
        (0..nics)
            .map(|nic| {
                #[expect(clippy::cast_precision_loss, reason = "at most sixteen")]
                let x = row.left() + step * (nic as f32 + 0.5);
                Rect::from_center_size(pos2(x, row.center().y), NIC)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_is_inside_its_card_and_is_found_again() {
        for shape in [1, 2, 4, 5, 8, 16, 72, 384, 1024]
            .map(|gpus| Shape::node(pos2(24.0, -8.0), gpus, 8))
            .into_iter()
            .chain(
                [2, 4, 8, 9, 32, 33, 64, 65, 1000, 16_384]
                    .map(|n| Shape::stack(pos2(0.0, 0.0), n, 8)),
            )
        {
            let grid = match shape.inside {
                Inside::Gpus(grid) | Inside::Instances { grid, .. } => grid,
                Inside::Plain => continue,
            };
            for index in 0..grid.count {
                let tile = grid.tile(index);
                assert!(
                    shape.domain.unwrap_or(shape.rect).contains_rect(tile),
                    "{index} of {grid:?}"
                );
                assert_eq!(grid.at(tile.center()), Some(index));
            }
            assert_eq!(
                grid.at(grid.tile(0).right_bottom() + Vec2::splat(1.0)),
                None
            );
            assert!(shape.rect.contains_rect(shape.footer));
            assert!(
                shape
                    .nic_rects(8)
                    .iter()
                    .all(|nic| shape.rect.contains_rect(*nic))
            );
        }
    }

    #[test]
    fn a_stack_shows_every_instance() {
        for count in [2, 64, 65, 129, 16_384] {
            let Inside::Instances { grid, each } = Shape::stack(Pos2::ZERO, count, 8).inside else {
                panic!("a stack has instances");
            };
            assert!(grid.count * each >= count && (grid.count - 1) * each < count);
            assert!(grid.count <= MOST_CELLS);
        }
    }
}

//! The order in which things go: a doubly linked list over slots, least recently released first.

/// No slot.
const NONE: u32 = u32::MAX;

/// A slot's neighbours.
#[derive(Debug, Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
}

/// Slots in order. Who is in it is known to the owner; a slot is in it once at most.
#[derive(Debug)]
pub(super) struct Order {
    first: u32,
    last: u32,
    links: Vec<Link>,
}

impl Order {
    pub(super) const fn new() -> Self {
        Self {
            first: NONE,
            last: NONE,
            links: Vec::new(),
        }
    }

    /// Who goes next.
    pub(super) const fn first(&self) -> Option<u32> {
        if self.first == NONE {
            None
        } else {
            Some(self.first)
        }
    }

    /// Adds a slot that goes after all others.
    pub(super) fn push_last(&mut self, slot: u32) {
        self.put(slot, self.last, NONE);
    }

    /// Adds a slot that goes before all others.
    pub(super) fn push_first(&mut self, slot: u32) {
        self.put(slot, NONE, self.first);
    }

    /// Adds a slot that goes right after one that is in the list.
    pub(super) fn push_after(&mut self, slot: u32, before: u32) {
        self.put(slot, before, self.links[before as usize].after);
    }

    fn put(&mut self, slot: u32, before: u32, after: u32) {
        let link = Link { before, after };
        let index = slot as usize;
        if self.links.len() <= index {
            let empty = Link {
                before: NONE,
                after: NONE,
            };
            self.links.resize(index + 1, empty);
        }
        self.links[index] = link;
        self.join(before, slot);
        self.join(slot, after);
    }

    /// Takes out a slot that is in the list.
    pub(super) fn remove(&mut self, slot: u32) {
        let Link { before, after } = self.links[slot as usize];
        self.join(before, after);
    }

    /// Makes two slots neighbours; [`NONE`] stands for the list's ends.
    fn join(&mut self, before: u32, after: u32) {
        if before == NONE {
            self.first = after;
        } else {
            self.links[before as usize].after = after;
        }
        if after == NONE {
            self.last = before;
        } else {
            self.links[after as usize].before = before;
        }
    }

    /// All, in order.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        std::iter::successors(self.first(), |slot| {
            let after = self.links[*slot as usize].after;
            (after != NONE).then_some(after)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Order;

    #[test]
    fn slots_come_and_go_anywhere() {
        let mut order = Order::new();
        for slot in [3, 1, 4] {
            order.push_last(slot);
        }
        order.push_first(5);
        order.push_after(9, 1);
        order.push_after(2, 4);
        assert_eq!(order.iter().collect::<Vec<_>>(), [5, 3, 1, 9, 4, 2]);
        for slot in [5, 9, 2] {
            order.remove(slot);
        }
        assert_eq!(order.iter().collect::<Vec<_>>(), [3, 1, 4]);
        for slot in [1, 3, 4] {
            order.remove(slot);
        }
        assert_eq!(order.first(), None);
        order.push_first(7);
        assert_eq!(order.iter().collect::<Vec<_>>(), [7]);
    }
}

//! Loads of lanes in a binary tree of least and greatest, so that the least loaded is found, and a
//! load changed, in as many steps as the number of lanes has digits.

/// Loads by lane.
pub(super) struct Loads {
    count: usize,
    /// Leaves of the tree: a power of two.
    leaves: usize,
    /// (least, greatest) under each node; the root is 1, leaves begin at `leaves`.
    nodes: Vec<(u64, u64)>,
}

/// A leaf without a lane.
const VACANT: (u64, u64) = (u64::MAX, 0);

impl Loads {
    /// So many lanes without load.
    pub(super) fn new(count: usize) -> Self {
        let leaves = count.next_power_of_two();
        let mut own = Self {
            count,
            leaves,
            nodes: vec![VACANT; 2 * leaves],
        };
        own.nodes[leaves..leaves + count].fill((0, 0));
        for node in (1..leaves).rev() {
            own.nodes[node] = own.joined(node);
        }
        own
    }

    fn joined(&self, node: usize) -> (u64, u64) {
        let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
        (left.0.min(right.0), left.1.max(right.1))
    }

    /// A lane's load.
    pub(super) fn of(&self, index: usize) -> u64 {
        self.nodes[self.leaves + index].0
    }

    /// Changes a lane's load.
    pub(super) fn set(&mut self, index: usize, load: u64) {
        let mut node = self.leaves + index;
        self.nodes[node] = (load, load);
        while node > 1 {
            node /= 2;
            let joined = self.joined(node);
            if self.nodes[node] == joined {
                break;
            }
            self.nodes[node] = joined;
        }
    }

    /// The least and the greatest load.
    pub(super) fn extremes(&self) -> (u64, u64) {
        self.nodes[1]
    }

    /// The least loaded lane, of equal ones the first from `first` on, round.
    pub(super) fn least(&self, first: usize) -> usize {
        let least = self.nodes[1].0;
        self.first_of(1, (0, self.leaves), first, least)
            .or_else(|| self.first_of(1, (0, self.leaves), 0, least))
            .unwrap_or(0)
            .min(self.count.saturating_sub(1))
    }

    /// The first leaf from `first` on, under a node over these leaves, that has this load.
    fn first_of(
        &self,
        node: usize,
        (low, high): (usize, usize),
        first: usize,
        load: u64,
    ) -> Option<usize> {
        if high <= first || self.nodes[node].0 != load {
            return None;
        }
        if node >= self.leaves {
            return Some(low);
        }
        let middle = usize::midpoint(low, high);
        self.first_of(2 * node, (low, middle), first, load)
            .or_else(|| self.first_of(2 * node + 1, (middle, high), first, load))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_least_is_that_of_a_look_at_all(
            count in 1_usize..40,
            changes in proptest::collection::vec((0_usize..40, 0_u64..6, 0_usize..40), 1..60),
        ) {
            let mut loads = Loads::new(count);
            let mut plain = vec![0; count];
            for (index, load, first) in changes {
                let (index, first) = (index % count, first % count);
                loads.set(index, load);
                plain[index] = load;
                let around = (0..count).map(|offset| (first + offset) % count);
                prop_assert_eq!(Some(loads.least(first)), around.min_by_key(|i| plain[*i]));
                let most = plain.iter().max().copied().unwrap_or(0);
                prop_assert_eq!(loads.extremes().1, most);
                prop_assert_eq!(loads.of(index), load);
            }
        }
    }
}

//! The end of a run at its cells.

use crate::engine::Sim;
use ackclock_run::others::Other;

impl Sim {
    /// The run has ended: so have its cells.
    pub fn finish_cells(&mut self) {
        let (mut number, mut first) = (0, 0);
        for other in &mut self.others {
            if let Other::Cell(cell) = other {
                cell.finish(self.end, &mut self.slab);
                self.probes.take_of_cell(cell, (number, first));
                number += 1;
                first += cell.len() as u32;
            }
        }
    }
}

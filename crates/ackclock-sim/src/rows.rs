//! From what flows have counted to the rows of datagrams, transfers and pages.

use crate::engine::Sim;
use crate::flow::{Flow, Side, Snapshot, Transfer, snapshot};
use crate::host::Datagrams;
use ackclock_run::rows::{DatagramRow, ObjectRow, PageRow, TransferRow};

impl Datagrams {
    pub(crate) fn row(&self) -> DatagramRow {
        DatagramRow { lost: self.sent.saturating_sub(self.of_sent + self.in_flight), in_flight: self.in_flight }
    }
}

impl Flow {
    /// The counters of the flow so far, of all its connections.
    pub(crate) fn totals(&self, sides: &[Side]) -> Snapshot {
        let mut sum = self.ended();
        for c in &self.open {
            let pair = &sides[2 * *c as usize..];
            if let (Some(source), Some(sink)) = (&pair[0].endpoint, &pair[1].endpoint) {
                sum.add(&snapshot(source, sink));
            }
        }
        sum
    }
}

impl Sim {
    /// The transfers of flow number `i`, in the order in which they began.
    pub(crate) fn transfers(&self, i: usize) -> Vec<TransferRow> {
        let flow = &self.flows[i];
        let row = |(index, t): (usize, &Transfer)| {
            // Over one connection the first alone waits for a handshake.
            let handshake = flow.handshake && (flow.many || index == 0);
            TransferRow::of((i as u32, index as u64), (t.start, t.end), t.bytes, flow.path.ideal(t.bytes, handshake))
        };
        flow.transfers.iter().enumerate().map(row).collect()
    }

    /// The pages of all flows, and their objects.
    pub(crate) fn pages(&self) -> (Vec<PageRow>, Vec<ObjectRow>) {
        let (mut pages, mut objects) = (Vec::new(), Vec::new());
        for (flow, f) in (0u32..).zip(&self.flows) {
            for app in f.apps.iter().flatten() {
                pages.extend(app.pages().into_iter().map(|page| PageRow { flow, page }));
                objects.extend(app.objects().into_iter().map(|object| ObjectRow { flow, object }));
            }
        }
        (pages, objects)
    }
}

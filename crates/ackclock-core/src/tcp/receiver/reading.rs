//! When an application that reads at once has read what came, as far as acknowledgments wait for it.

use super::Receiver;

impl Receiver {
    /// From now on several segments may come at the same moment, as from a radio's block of data: an application that reads at
    /// once reads when it is over.
    #[inline]
    pub fn comes_in_blocks(&mut self) {
        if let Some(l) = &mut self.linux {
            l.in_blocks = true;
        }
    }

    /// The application has read what came at this moment: an acknowledgment that waits for that is due.
    #[inline]
    pub fn has_been_read(&mut self) {
        self.ack_now |= self.linux.as_ref().is_some_and(|l| l.awaits_reading());
    }
}

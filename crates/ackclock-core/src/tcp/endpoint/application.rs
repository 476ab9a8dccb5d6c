//! What the application does with its direction.

use super::Endpoint;

impl Endpoint {
    /// The application, which has read what came, writes `bytes` more ([`Sender::write`](crate::tcp::sender::Sender::write)).
    pub fn send(&mut self, bytes: u64) {
        self.rx.has_been_read();
        self.tx.write(bytes);
    }

    /// The application closes its direction: a FIN follows what it wrote.
    //= RFC 9293 §3.6.1 half-close
    pub fn close(&mut self) {
        self.rx.has_been_read();
        self.tx.stream.close();
    }
}

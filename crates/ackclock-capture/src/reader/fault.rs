//! Why a file cannot be read, or not to its end.

use std::io;

/// Why a file is not read at all.
#[derive(Debug)]
pub enum Fault {
    /// There is nothing in it.
    Empty,
    /// It does not begin as a capture does; its first bytes.
    Magic([u8; 4]),
    /// It ends within its header.
    Header,
    /// Its version is none that is known.
    Version(&'static str, u16, u16),
    /// The first section of pcapng has no byte order.
    ByteOrder(u32),
    /// The length of its first block cannot be.
    FirstBlock(u32),
    /// The system could not read it, or it cannot be unpacked.
    Io(io::Error),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Empty => f.write_str("is empty: a capture has a header at least"),
            Fault::Magic([a, b, c, d]) => write!(
                f,
                "is no capture: it begins with {a:02x}{b:02x}{c:02x}{d:02x}, which is neither pcap nor pcapng (nor gzip)"
            ),
            Fault::Header => f.write_str("ends within the header that every capture begins with"),
            Fault::Version(format, major, minor) => {
                let known = if *format == "pcap" { "2.2 to 2.4" } else { "1.0 and later of 1" };
                write!(f, "has version {major}.{minor} of {format}; {known} can be read")
            }
            Fault::ByteOrder(word) => {
                write!(f, "has {word:08x} for a byte order in its section header; pcapng has 1a2b3c4d in either order")
            }
            Fault::FirstBlock(length) => {
                write!(f, "has a section header of {length} bytes; 28 to 16777216 in steps of 4 can be")
            }
            Fault::Io(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for Fault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Fault::Io(e) => Some(e),
            _ => None,
        }
    }
}

/// Why a file is not read further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It ends within a record or block.
    Ends,
    /// There are zeros where the next packet would be.
    Zeros,
    /// The header of another file stands where the next packet would be.
    Appended,
    /// A packet says that more of it was captured than of any.
    Captured(u32),
    /// A packet says that more of it was captured than its block has room for.
    Beyond(u32),
    /// A block says that it is shorter or longer than any, or no multiple of 4.
    BlockLength(u32),
    /// A block has another length at its end.
    LengthsDiffer(u32, u32),
    /// A packet is of an interface that was not described.
    Interface(u32),
    /// There are more interfaces than can be told apart.
    MostInterfaces,
    /// A section begins without a byte order.
    ByteOrder(u32),
    /// A section has a version that is not known.
    Version(u16, u16),
    /// What is compressed is damaged or ends.
    Packed,
    /// As many bytes were read as were asked for.
    MostBytes,
}

/// Where reading ended before the file did, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Begin of what could not be read, bytes from the begin of the (unpacked) file.
    pub offset: u64,
    /// Packets before it.
    pub packets: u64,
    /// Why.
    pub why: Why,
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "read up to byte {}, {} packets: ", self.offset, self.packets)?;
        match self.why {
            Why::Ends => f.write_str("the file ends within the next one"),
            Why::Zeros => f.write_str("zeros follow, as where a file was made larger and not filled"),
            Why::Appended => f.write_str("the header of another capture follows; join files with mergecap"),
            Why::Captured(n) => write!(f, "the next says that {n} bytes of it were captured, of at most 262144"),
            Why::Beyond(n) => {
                write!(f, "the next says that {n} bytes of it were captured, which its block does not have")
            }
            Why::BlockLength(n) => write!(f, "the next block has a length of {n}; 12 to 16777216 in steps of 4 can be"),
            Why::LengthsDiffer(a, b) => write!(f, "the next block has length {a} at its begin and {b} at its end"),
            Why::Interface(n) => write!(f, "the next is of interface {n}, which was not described"),
            Why::MostInterfaces => f.write_str("more than 65536 interfaces"),
            Why::ByteOrder(word) => write!(f, "a section has {word:08x} for a byte order"),
            Why::Version(major, minor) => write!(f, "a section has version {major}.{minor} of pcapng"),
            Why::Packed => f.write_str("the compressed data are damaged or end there"),
            Why::MostBytes => f.write_str("no more bytes were to be read"),
        }
    }
}

/// Why there is no next packet.
#[derive(Debug)]
pub(super) enum Stop {
    /// What follows cannot be read.
    Cut(Why),
    /// Nothing can.
    Fault(Fault),
}

impl From<Why> for Stop {
    fn from(why: Why) -> Stop {
        Stop::Cut(why)
    }
}

impl From<io::Error> for Stop {
    /// What is damaged ends the file; what the system does not do is another matter.
    fn from(e: io::Error) -> Stop {
        match e.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                Stop::Cut(Why::Packed)
            }
            _ => Stop::Fault(Fault::Io(e)),
        }
    }
}

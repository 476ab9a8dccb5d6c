//! Links: serialisation and propagation.

mod serializer;

pub use serializer::Serializer;

"""What packets pass through: the keys of links and topologies, and links as the engine reads them."""

"""What a sample is made of: missing values left out, order, percentiles, the warm-up."""

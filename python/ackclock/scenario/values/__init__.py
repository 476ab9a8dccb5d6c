"""What a value of a scenario may be: units, kinds of numbers, draws, options of algorithms."""

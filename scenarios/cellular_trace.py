"""Makes ``cellular.trace``, a trace in mahimahi's format that looks like that of a cellular link but was not recorded.

The rate is a random walk of its logarithm that is drawn back to 6 Mbit/s, with a new step every 100 ms, between 1 and 20
Mbit/s; each opportunity of 1500 bytes falls into the millisecond in which the rate has carried it.

    python3 scenarios/cellular_trace.py > scenarios/cellular.trace
"""

import math
import random

SECONDS = 10
STEP_MS = 100
MEAN, LEAST, MOST = 6e6, 1e6, 20e6


def main() -> None:
    """Prints the trace."""
    rng = random.Random(1)
    level = math.log(MEAN)
    bits = 0.0
    for ms in range(1, 1000 * SECONDS + 1):
        if ms % STEP_MS == 0:
            level += 0.15 * (math.log(MEAN) - level) + rng.gauss(0, 0.35)
            level = min(max(level, math.log(LEAST)), math.log(MOST))
        bits += math.exp(level) / 1000
        while bits >= 12_000:
            bits -= 12_000
            print(ms)


if __name__ == "__main__":
    main()

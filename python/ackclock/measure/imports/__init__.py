"""What other tools have measured, in the tables of every engine: iperf3, flent, mahimahi, Pantheon (docs/import.md)."""

"""``python -m ackclock`` is the command line."""

from ackclock.cli.entry import main

if __name__ == "__main__":
    raise SystemExit(main())

"""``python -m ackclock`` is the command line."""

from ackclock.cli.entry import command

if __name__ == "__main__":
    command()

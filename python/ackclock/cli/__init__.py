"""The command line: ``ackclock run | show | cc | doctor``. docs/cli.md describes it."""

"""The compiled engine. Use `ackclock.engine`, which adds types, checks and caching to it."""

__version__: str

class Table:
    """A table handed over without copying, through the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...

class RunOutput:
    """What one run produced."""

    @property
    def flows(self) -> Table:
        """One row per flow."""
    @property
    def links(self) -> Table:
        """One row per link."""
    @property
    def series(self) -> Table:
        """One row per sample: time_s, kind, id, metric, value."""
    @property
    def info(self) -> str:
        """JSON object: events, packets, wall_s, warnings."""

def describe() -> str:
    """JSON object: version, profiles, tcp_options, controllers, slow_starts, flow_series, link_series."""

def run(resolved_json: str) -> RunOutput:
    """Run one resolved run. Releases the GIL; Ctrl-C stops it. Raises ValueError for a bad document."""

def validate(resolved_json: str) -> None:
    """Check a resolved run without running it. Raises ValueError for a bad document."""

def estimate_bytes(resolved_json: str) -> int:
    """Upper estimate of the memory a run and its result need, in bytes."""

def resolve_tcp(profile: str, options_json: str) -> str:
    """All TCP options of a profile with the given ones applied, as JSON."""

"""Networks of explicit nodes and links."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from ackclock.errors import Problem, unknown
from ackclock.scenario.topology.link import LinkKeys
from ackclock.scenario.values.base import Model
from ackclock.scenario.values.types import Count, Duration

MOST_NODES = 10_000
"""Of a network: routes are found with all their nodes, which take as much memory as the square of these."""

_NAME = re.compile(r"[\w.-]+")


def _node_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise Problem(f"'{value}' is no name for a node", "use letters, digits, '_', '-' and '.'")
    return value


NodeName = Annotated[str, AfterValidator(_node_name), Field(strict=True)]
"""The name of a node."""


class Node(Model):
    """A place where links meet."""

    name: NodeName
    """What links and flows call it."""


class NetworkLink(LinkKeys):
    """A link from one node to another."""

    source: NodeName = Field(alias="from")
    """Node it leads from."""
    target: NodeName = Field(alias="to")
    """Node it leads to."""
    delay: Duration
    """Propagation delay, one way."""
    both: Annotated[bool, Field(strict=True)] = False
    """Whether there is a link with the same keys in the other direction. Default: no."""
    cost: Count = 1
    """What routes count it as: they take the least sum."""

    @property
    def directions(self) -> list[tuple[str, str]]:
        """From where to where it leads: once, or there and back."""
        there = (self.source, self.target)
        return [there, there[::-1]] if self.both else [there]


class Network(Model):
    """Nodes and links as they are listed; every flow takes the cheapest way from its `from` to its `to`."""

    kind: Literal["network"]
    """The topology."""
    nodes: tuple[Node, ...] = ()
    """The nodes. Default: those that links name."""
    links: Annotated[tuple[NetworkLink, ...], Field(min_length=1)]
    """The links."""

    @model_validator(mode="after")
    def _consistent(self) -> "Network":
        known: dict[str, None] = {}
        for index, node in enumerate(self.nodes):
            if node.name in known:
                problem = f"there are two nodes '{node.name}'"
                raise Problem(problem, "remove one or rename it", "nodes", index, "name")
            known[node.name] = None
        seen: dict[tuple[str, str], int] = {}
        for index, link in enumerate(self.links):
            if link.source == link.target:
                problem = f"a link from '{link.source}' to itself"
                raise Problem(problem, "name another node", "links", index, "to")
            for key, name in (("from", link.source), ("to", link.target)):
                if known and name not in known:
                    raise unknown("node", name, known, "links", index, key)
            for ends in link.directions:
                if ends in seen:
                    problem = f"a second link from '{ends[0]}' to '{ends[1]}'"
                    raise Problem(problem, f"links.{seen[ends]} is the first; remove one", "links", index)
                seen[ends] = index
        if len(self.names) > MOST_NODES:
            raise Problem(f"a network of {len(self.names)} nodes", f"at most {MOST_NODES} are possible", "links")
        return self

    @property
    def names(self) -> list[str]:
        """The nodes, in the order of the file."""
        listed: dict[str, Any] = dict.fromkeys(node.name for node in self.nodes)
        return list(listed or dict.fromkeys(name for link in self.links for name in (link.source, link.target)))

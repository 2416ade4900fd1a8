"""The processor, and those of its instructions that products of vectors and in eight bits use."""

import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from memnet.config import available_cores

_CPUINFO = Path("/proc/cpuinfo")
_SETS: Mapping[str, frozenset[str]] = {
    # Linux names instructions one by one, NumPy by the level or the generation that brought them.
    "AVX2": frozenset({"avx2", "X86_V3", "AVX2"}),
    "AVX-512": frozenset({"avx512f", "X86_V4", "AVX512F", "AVX512_SKX"}),
    "VNNI": frozenset({"avx512_vnni", "avx_vnni", "AVX512_ICL", "AVX512_CLX"}),
    "AMX": frozenset({"amx_int8"}),
    "NEON": frozenset({"asimd", "NEON", "ASIMD"}),
    "dot products": frozenset({"asimddp", "ASIMDDP"}),
}


class Processor(NamedTuple):
    """A processor."""

    name: str
    cores: int
    """That this process may use."""
    instructions: tuple[str, ...]
    """Of "AVX2", "AVX-512", "VNNI" (products in eight bits), "AMX" (of matrices in eight bits),
    and on ARM "NEON" and "dot products", those that it has."""


def processor() -> Processor:
    """The processor of this machine."""
    name, flags = _from_linux(_CPUINFO)
    return Processor(
        name or _name_elsewhere() or platform.machine(),
        available_cores(),
        tuple(one for one, marks in _SETS.items() if marks & (flags or _from_numpy())),
    )


def _from_linux(path: Path) -> tuple[str, frozenset[str]]:
    """Name and instructions of the first processor that Linux describes; empty elsewhere."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "", frozenset()
    fields: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    flags = fields.get("flags") or fields.get("Features") or ""
    return fields.get("model name", ""), frozenset(flags.split())


def _from_numpy() -> frozenset[str]:
    """The sets of instructions that NumPy found; it does not look for AMX."""
    import numpy as np

    found = np.show_config("dicts")["SIMD Extensions"]
    return frozenset([*found.get("baseline", ()), *found.get("found", ())])


def _name_elsewhere() -> str:
    if platform.system() == "Darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        return done.stdout.strip()
    return platform.processor()

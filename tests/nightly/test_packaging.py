import os
import sys
from pathlib import Path

from tests.waiting import completed

ROOT = Path(__file__).parents[2]


def test_the_wheel_runs_outside_the_repository(tmp_path: Path) -> None:
    def python(*arguments: str, **environment: str) -> str:
        return completed(
            [sys.executable, *arguments], cwd=tmp_path, env={**os.environ, **environment}
        ).stdout

    # By way of a source distribution, so that nothing an earlier build left behind gets in.
    python("-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT))
    (wheel,) = tmp_path.glob("memnet_qa-*.whl")
    target = tmp_path / "installed"
    # Its dependencies are those of this environment: installing torch again would prove nothing.
    python("-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(wheel))
    assert {path.name for path in target.iterdir() if "-" not in path.name} == {"memnet", "bin"}
    assert not (target / "memnet" / "storage").is_symlink()
    for data in (
        "stories/babi_names.txt",
        "reader/observed.jsonl",
        "shipped/babi/model.json",
        "shipped/minilm/tokenizer.json",
        "py.typed",
    ):
        assert (target / "memnet" / data).is_file()

    (tmp_path / "note.txt").write_text("The Orre Light was built by Una Thale.")
    store = str(tmp_path / "store")
    where = python(
        "-c",
        "import memnet.cli, memnet.storage; print(memnet.storage.__file__)",
        PYTHONPATH=str(target),
    )
    assert where.startswith(str(target))
    python("-m", "memnet", "ingest", "note.txt", "--store", store, PYTHONPATH=str(target))
    shown = python(
        "-m", "memnet", "ask", "Who built the Orre Light?", "--store", store, PYTHONPATH=str(target)
    )
    assert shown.startswith("The Orre Light was built by **Una Thale**.  (confidence ")

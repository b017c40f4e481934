"""`ctbnlearn check`: does the model of a result fit the data?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctbnlearn.cli.cache import use_cache
from ctbnlearn.cli.learning import print_json
from ctbnlearn.cli.progress import ProgressLines, visible
from ctbnlearn.cli.rereading import read_again
from ctbnlearn.result.archive import check_result_target, load_result


def run_model_check(
    folder: Path, data: Path, given: Mapping[str, Any], folds: int, seed: int, jobs: int, quiet: bool, as_json: bool
) -> int:
    """Check the model on units held out, say what came of it, and put it into the result and its report."""
    from ctbnlearn.learn.checking import check_model
    from ctbnlearn.learn.rebuild import learner_of

    result = load_result(folder)
    check_result_target(folder)
    with ProgressLines(quiet or as_json) as progress:
        progress.phase(f"reading {data}")
        obs = read_again(result, data, given, "complete paths have no values to predict; give observations", progress)
        use_cache()
        progress.phase("learning without some of the units, and predicting them")
        check = check_model(
            learner_of(result), obs, n_folds=folds, random_state=seed, jobs=jobs, progress=progress.event
        )
        progress.phase(f"writing {folder}")
        result.with_check(check).save(folder)
    if as_json:
        print_json(check.to_dict())
    elif not quiet:
        for line in check.words:
            print(visible(line))
        width = max(8, *(len(visible(row["variable"])) for row in check.variables))
        print(f"{'variable':<{width}}  values  with edges  without  gain (standard error)")
        for row in check.variables:
            print(
                f"{visible(row['variable']):<{width}}  {row['values']:6d}  {row['score']:10.3f}  "
                f"{row['empty_score']:7.3f}  {row['gain']:+.4f} ({row['gain_error']:.4f})"
            )
        print(f"written to {visible(folder)}")
    return 0

"""Write the report of a proof from the results that came back: findings first, then slices, parity and all metrics."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from model.errors import BadRun
from model.evaluation import metrics, run_file
from model.evaluation.bootstrap import Estimate, estimate_differences
from model.evaluation.judged_group import JudgedGroup
from model.evaluation.report.content import Section, Table
from model.evaluation.report.html_page import write_report
from model.evaluation.report.input_folder import read_report_input
from model.evaluation.report.outline import build_report
from training.calibrators.claims import ClaimTargets
from training.calibrators.evidence import collect_evidence, list_rows
from training.calibrators.fitting import fit_calibrator, measure_gains
from training.gpu_proof import slices
from training.gpu_proof.findings import Finding, build_findings, summarise
from training.gpu_proof.settings import SETS
from training.gpu_proof.slice_runner import list_open, read_records
from training.gpu_proof.slices import SLICES, SliceRecord
from training.runs import run_folder

CONSENSUS = "consensus"
_ALONE = {
    name: metrics.METRICS[name]
    for name in ("auroc", "brier", "accuracy", "exact_match", "best_of_group")
}
_COMPARISONS = (
    ("YES/NO after SFT, minus the base", slices.YES_NO_AFTER, slices.YES_NO_BEFORE),
    ("boxes after SFT, minus the base", slices.BOXED_AFTER_SFT, slices.BOXED_BEFORE),
    ("boxes after GRPO, minus after SFT", slices.BOXED_AFTER_GRPO, slices.BOXED_AFTER_SFT),
)
_TRAINED = (
    ("YES/NO after SFT", slices.YES_NO_AFTER),
    ("boxes after GRPO", slices.BOXED_AFTER_GRPO),
)
Runs = Mapping[tuple[str, str], Sequence[JudgedGroup]]
"""Judged groups by set and by slice, or CONSENSUS."""


def list_results(home: Path, size: str, *, adapters: bool) -> dict[str, Path]:
    """List the files to send back, by their path in the folder of results."""
    work = home / size
    files = {f"results/{path.name}": path for path in sorted((home / "results").glob("*.jsonl"))}
    for path in sorted((work / "results").rglob("*")):
        if path.is_file():
            files[f"results/{path.relative_to(work / 'results')}"] = path
    kept = (run_folder.PLAN, run_folder.METRICS, run_folder.RESULT, run_folder.PROBE)
    for run in sorted((work / "runs").glob("*")):
        inside = [run / name for name in kept]
        inside += sorted((run / run_folder.ADAPTER).glob("*")) if adapters else []
        for path in inside:
            if path.is_file():
                files[f"runs/{run.name}/{path.relative_to(run)}"] = path
    return files


def read_runs(results: Path) -> dict[tuple[str, str], list[JudgedGroup]]:
    """Read the run files of the folder `results`. Raises BadRun."""
    names = (*(step.name for step in SLICES if step.verifier), CONSENSUS)
    return {
        (group_set, name): run_file.read_sorted(path)
        for group_set in SETS
        for name in names
        if (path := results / f"{group_set}.{name}.jsonl").exists()
    }


def compare_runs(runs: Runs) -> list[Finding]:
    """Return every difference of the proof, on each set, by draws of issues (pure)."""
    findings: list[Finding] = []
    for group_set in SETS:
        for label, after, before in _COMPARISONS:
            pair = [runs.get((group_set, name), ()) for name in (after, before)]
            findings += build_findings(label, group_set, _estimate(*pair))
        consensus = runs.get((group_set, CONSENSUS), ())
        for label, name in _TRAINED:
            with_consensus = f"{label} with consensus, minus consensus alone"
            gained = _measure_together(runs.get((group_set, name), ()), consensus)
            findings += build_findings(with_consensus, group_set, gained)
    return findings


def _estimate(
    after: Sequence[JudgedGroup], before: Sequence[JudgedGroup]
) -> Mapping[str, Estimate]:
    try:
        return estimate_differences(after, before, _ALONE)
    except ValueError:  # no group that both judged
        return dict.fromkeys(_ALONE, Estimate(None, None, None))


def _measure_together(
    votes: Sequence[JudgedGroup], consensus: Sequence[JudgedGroup]
) -> Mapping[str, Estimate]:
    """Return the gain of votes and consensus, calibrated together, over calibrated consensus alone.

    Both calibrators are fitted on other issues than the ones they are measured on.
    """
    nothing = dict.fromkeys(("brier", "auroc"), Estimate(None, None, None))
    try:
        groups = collect_evidence([*votes, *consensus]) if votes and consensus else []
    except ValueError:  # no group that both judged
        return nothing
    fit = fit_calibrator(list_rows(groups), fitted_at="")
    if not fit.briers:
        return nothing
    gains = measure_gains(groups, fit, ClaimTargets()).get("consensus", {})
    return {name: Estimate(**gain) for name, gain in gains.items()} or nothing


def write_proof_report(out: Path) -> list[Finding]:
    """Write report.html, findings.md and findings.json in `out`, from `out/results`. Returns the findings.

    Raises BadRun when nothing was judged.
    """
    results = out / "results"
    if not results.is_dir():
        raise BadRun(f"{out} has no results; give the parts that were sent back")
    records = read_records(results)
    findings = compare_runs(read_runs(results))
    documents = {
        name: json.loads((results / f"{name}.json").read_text())
        for name in ("machine", slices.PARITY)
        if (results / f"{name}.json").exists()
    }
    sections = [
        _build_findings_section(findings),
        _build_slices_section(records, documents.get("machine", {})),
        _build_parity_section(documents.get(slices.PARITY)),
    ]
    page = build_report(read_report_input(results))
    title = "What training on one GPU changed"
    text = (summarise(findings), *page.text)
    write_report(replace(page, title=title, text=text, sections=[*sections, *page.sections]), out)
    (out / "findings.md").write_text(_format_markdown(findings, sections))
    listed = [asdict(finding) | {"change": finding.change.value} for finding in findings]
    (out / "findings.json").write_text(json.dumps(listed, indent=2) + "\n")
    return findings


def _build_findings_section(findings: Sequence[Finding]) -> Section:
    rows = [
        (finding.comparison, finding.group_set, finding.metric, finding.change, finding.estimate)
        for finding in findings
    ]
    text = (
        "Differences with 95 % intervals by draws of whole issues. A gain is an interval that lies wholly on the better "
        "side of 0. For Brier, less is better. No issue was trained on and measured on."
    )
    head = ("comparison", "set", "metric", "says", "difference")
    return Section("training", "What the training changed", (text, Table("", head, rows, words=4)))


def _build_slices_section(
    records: Mapping[str, SliceRecord], machine: Mapping[str, Any]
) -> Section:
    rows = [
        (
            step.name,
            record.status.value if record else "not begun",
            record.why if record else "",
            record.seconds / 60 if record else None,
            record.attempts if record else 0,
            record.measured.get("tokens_per_second") if record else None,
            record.measured.get("peak_memory_gib") if record else None,
        )
        for step in SLICES
        for record in (records.get(step.name),)
    ]
    head = ("slice", "ended", "why", "minutes", "attempts", "tokens/s", "peak GiB")
    left = list_open(records)
    text = f"Not finished: {', '.join(left)}." if left else "All slices finished."
    facts = ", ".join(f"{name} {value}" for name, value in machine.items() if value is not None)
    return Section("slices", "Slices", (f"{text} Machine: {facts}.", Table("", head, rows, 3)))


def _build_parity_section(document: Mapping[str, Any] | None) -> Section:
    title = "Log-probabilities of the reloaded adapter"
    if document is None:
        return Section("parity", title, ("The slice has not finished.",))
    objections: Iterable[str] = document["objections"]
    text = (
        f"{document['tokens']} tokens of {document['run']}, sampled in a padded batch with a cache: "
        f"{document['mean_distance']:.4f} nats from the trainer's in the mean; {document['effect']:.3f} of the "
        f"adapter's effect arrives. {'; '.join(objections) or 'No objection'}."
    )
    return Section("parity", title, (text,))


def _format_markdown(findings: Sequence[Finding], sections: Sequence[Section]) -> str:
    slices_table = sections[1].tables[0]
    lines = [summarise(findings), "", *(f"- {finding.sentence}" for finding in findings), ""]
    lines += [
        f"| {' | '.join(slices_table.head)} |",
        f"| {' | '.join('---' for _ in slices_table.head)} |",
        *(f"| {' | '.join(cells)} |" for cells in slices_table.cells),
        "",
        *sections[1].text,
        *sections[2].text,
    ]
    return "\n".join(lines) + "\n"

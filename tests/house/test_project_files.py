"""Files about the repository: workflows, forms, the changelog, documents at the top."""

import re
from pathlib import Path

import yaml
from tables import for_each

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
DOCUMENTS = sorted(ROOT.glob("*.md"))
LONGEST_SECTION = 60  # lines of the changelog about one version

every_workflow = for_each("workflow", WORKFLOWS, ids=[path.stem for path in WORKFLOWS])
every_document = for_each("document", DOCUMENTS, ids=[path.stem for path in DOCUMENTS])


def text_of(path):
    return path.read_text(encoding="utf-8")


def jobs_of(workflow):
    return yaml.safe_load(text_of(workflow))["jobs"]


def steps_of(workflow):
    return [step for job in jobs_of(workflow).values() for step in job.get("steps", ())]


@every_workflow
def test_actions_are_pinned_by_hash(workflow):
    """A tag can be moved to other code; a comment says which release a hash is."""
    uses = re.findall(r"^\s*(?:- )?uses: (.*)$", text_of(workflow), re.MULTILINE)
    pinned = re.compile(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [each for each in uses if not each.startswith("./") and not pinned.fullmatch(each)] == []


@every_workflow
def test_no_job_has_rights_that_it_does_not_name(workflow):
    assert yaml.safe_load(text_of(workflow)).get("permissions") in ({}, {"contents": "read"})
    jobs = jobs_of(workflow).items()
    assert [name for name, job in jobs if "uses" not in job and "timeout-minutes" not in job] == []


@for_each("text", [*WORKFLOWS, *DOCUMENTS, *(ROOT / "docs/extend").glob("*.md")])
def test_sessions_exist(text):
    noxfile = text_of(ROOT / "noxfile.py")
    functions = set(re.findall(r"^def (\w+)\(session", noxfile, re.MULTILINE))
    named = set(re.findall(r'@nox.session\([^)]*name="([\w-]+)"', noxfile))
    stages = {f"tests-{stage}" for stage in re.findall(r'Stage\(\s*"([\w-]+)"', noxfile)}
    for names in re.findall(r"\./noxw -s ((?: ?(?<!-)\b[\w-]+)+)", text_of(text)):
        assert set(names.split()) <= functions | named | stages, names


def test_fields_of_forms_have_names_of_their_own():
    assert FORMS
    for form in FORMS:
        fields = [field["id"] for field in yaml.safe_load(text_of(form)).get("body", ())]
        assert len(fields) == len(set(fields)), form


def test_a_reader_can_use_the_changelog():
    sections = re.split(r"^## ", text_of(ROOT / "CHANGELOG.md"), flags=re.MULTILINE)[1:]
    assert sections
    for section in sections:
        assert len(section.splitlines()) < LONGEST_SECTION, section.partition("\n")[0]


@every_document
def test_links_of_documents_lead_somewhere(document):
    text = re.sub(r"^```.*?^```$", "", text_of(document), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r'\]\(([^)#\s]+)|(?:src|srcset|href)="([^"#]+)"', text)
    for target in ("".join(pair) for pair in targets):
        if "://" not in target:
            assert (ROOT / target).exists(), target


def test_the_citation_has_what_its_format_requires():
    citation = yaml.safe_load(text_of(ROOT / "CITATION.cff"))
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["license"] in text_of(ROOT / "packages/glassjax/pyproject.toml")


def test_workflows_call_what_must_pass_before_a_merge():
    assert ".ci/run" in [step.get("run") for step in steps_of(ROOT / ".github/workflows/ci.yml")]
    assert "./noxw -s tests " in text_of(ROOT / ".ci/run")

"""Says whether a folder is an RO-Crate 1.1: validate_crate.py FOLDER required|recommended. Needs no network: the JSON-LD context
comes from the rocrate package. That one is of RO-Crate 1.3, which has the terms of 1.1 and more."""
import sys
from pathlib import Path

import requests
import rocrate
from rocrate_validator import models, services
from rocrate_validator.utils.http import HttpRequester


def get(self, url, **_):
    response = requests.Response()
    response.url, response.status_code = url, 404
    if url == "https://w3id.org/ro/crate/1.1/context":
        response.status_code = 200
        response.headers["Content-Type"] = "application/ld+json"
        response._content = (Path(rocrate.__file__).parent / "data/ro-crate.jsonld").read_bytes()
    return response


HttpRequester.get = get
result = services.validate(services.ValidationSettings(
    rocrate_uri=sys.argv[1], profile_identifier="ro-crate-1.1", offline=True,
    requirement_severity=models.Severity[sys.argv[2].upper()], skip_availability_check=True))
for issue in result.get_issues():
    print(f"{issue.severity.name} {issue.check.identifier}: {issue.message}")
sys.exit(1 if result.has_issues() else 0)

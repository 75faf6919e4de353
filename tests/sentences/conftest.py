import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def pytest_addoption(parser):
    parser.addoption(
        "--update", action="store_true", help="write the expected sentences anew, to be reviewed as a diff"
    )

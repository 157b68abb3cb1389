"""`python -m tellstone`."""

import sys

from tellstone.cli import main

sys.exit(main())

"""The rows of a store, the only truth about what is stored; SQL stands in the parts joined here."""

from memnet.storage.bundle_rows import BundleRows
from memnet.storage.check_rows import CheckRows
from memnet.storage.link_rows import LinkRows
from memnet.storage.revision_rows import RevisionRows
from memnet.storage.run_rows import RunRows
from memnet.storage.told_rows import ToldRows


class Records(RevisionRows, RunRows, ToldRows, LinkRows, BundleRows, CheckRows):
    """One connection to the rows of a store, with everything that is read and written there."""

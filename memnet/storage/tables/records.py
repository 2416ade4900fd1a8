"""The rows of a store, the only truth about what is stored; SQL stands in the parts joined here."""

from memnet.storage.tables.bundle_rows import BundleRows
from memnet.storage.tables.check_rows import CheckRows
from memnet.storage.tables.link_rows import LinkRows
from memnet.storage.tables.revision_rows import RevisionRows
from memnet.storage.tables.run_rows import RunRows
from memnet.storage.tables.source_reads import SourceReads
from memnet.storage.tables.told_rows import ToldRows


class Records(RevisionRows, RunRows, SourceReads, ToldRows, LinkRows, BundleRows, CheckRows):
    """One connection to the rows of a store, with everything that is read and written there."""

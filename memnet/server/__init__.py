"""A memory over HTTP (extra ``server``): routes, security, metrics and the page."""

from typing import TYPE_CHECKING

from memnet.runtime import lazy_names

if TYPE_CHECKING:
    from memnet.server.app import create_app
    from memnet.server.settings import ServerSettings

__all__ = ["ServerSettings", "create_app"]

# ``import memnet.server`` loads neither FastAPI nor torch
__getattr__, __dir__ = lazy_names(
    __name__, {"ServerSettings": "memnet.server.settings", "create_app": "memnet.server.app"}
)

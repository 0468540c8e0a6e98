"""Messages of dpboost as tasks of NVFlare, which carries their bytes and reads nothing."""

from collections.abc import Sequence

from nvflare.apis.controller_spec import ClientTask, Task
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

TASK = "dpboost"
MESSAGE = "message"


class TaskChannel:
    """Sends each message as a task to the sites of some parties.

    Parameters
    ----------
    controller : Controller
    context : FLContext
    stop : Signal
        Of a run that is aborted.
    sites : sequence of str
        Names of the parties' sites, by their numbers.
    timeout : int, default=600
        Seconds to wait for the replies to a message.
    """

    def __init__(
        self,
        controller: Controller,
        context: FLContext,
        stop: Signal,
        sites: Sequence[str],
        timeout: int = 600,
    ) -> None:
        self._controller = controller
        self._context = context
        self._stop = stop
        self._sites = tuple(sites)
        self._timeout = timeout

    @property
    def n_parties(self) -> int:
        """How many parties there are."""
        return len(self._sites)

    def exchange(self, message: bytes, to: Sequence[int]) -> dict[int, bytes]:
        """Send a message to some parties and wait for their replies."""
        replies = {}

        def keep(client_task: ClientTask, fl_ctx: FLContext) -> None:
            reply = bytes_of(client_task.result)
            # Whatever a site says of itself, NVFlare knows which one it is.
            if reply:
                replies[self._sites.index(client_task.client.name)] = reply
            client_task.result = None

        self._controller.broadcast_and_wait(
            Task(
                name=TASK,
                data=Shareable({MESSAGE: message}),
                timeout=self._timeout,
                result_received_cb=keep,
            ),
            self._context,
            targets=[self._sites[index] for index in to],
            min_responses=len(to),
            abort_signal=self._stop,
        )
        return replies


def bytes_of(shareable: Shareable) -> bytes:
    """Return the message of a task or a reply; nothing where there is none."""
    content = shareable.get(MESSAGE)
    is_fine = shareable.get_return_code() == ReturnCode.OK and isinstance(content, bytes)
    return content if is_fine else b""

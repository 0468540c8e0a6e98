"""Messages of dpboost as tasks of NVFlare, which carries their bytes and reads nothing."""

from collections.abc import Mapping, Sequence

from nvflare.apis.controller_spec import ClientTask, Task
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

TASK = "dpboost"
MESSAGE = "message"


class Tasks:
    """Brings each party some bytes as a task of its site, and returns their replies.

    Parameters
    ----------
    controller : Controller
    context : FLContext
    stop : Signal
        Of a run that is aborted.
    sites : sequence of str
        Names of the parties' sites, by their numbers.
    timeout : int, default=600
        Seconds to wait for a reply.
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

    def __call__(self, tasks: Mapping[int, bytes]) -> Mapping[int, bytes]:
        """Send the tasks: sites that get the same bytes get them together."""
        replies: dict[int, bytes] = {}

        def keep(client_task: ClientTask, fl_ctx: FLContext) -> None:
            reply = bytes_of(client_task.result)
            # Whatever a site says of itself, NVFlare knows which one it is.
            if reply:
                replies[self._sites.index(client_task.client.name)] = reply
            client_task.result = None

        for content in dict.fromkeys(tasks.values()):
            targets = [self._sites[index] for index in tasks if tasks[index] == content]
            self._controller.broadcast_and_wait(
                Task(
                    name=TASK,
                    data=Shareable({MESSAGE: content}),
                    timeout=self._timeout,
                    result_received_cb=keep,
                ),
                self._context,
                targets=targets,
                min_responses=len(targets),
                abort_signal=self._stop,
            )
        return replies


def bytes_of(shareable: Shareable) -> bytes:
    """Return the message of a task or a reply; nothing where there is none."""
    content = shareable.get(MESSAGE)
    is_fine = shareable.get_return_code() == ReturnCode.OK and isinstance(content, bytes)
    return content if is_fine else b""

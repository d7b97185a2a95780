"""A tool call that fires once, from Python and with nothing but its standard library.

Run it against a server: python3 guarded_call.py http://127.0.0.1:7070
"""

import json
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid


class CallProblem(Exception):
    """An answer that is no success. `code` says which: call_in_flight, needs_review, idempotency_conflict, ..."""

    def __init__(self, problem):
        super().__init__(problem.get("detail", "the server gave no reason"))
        self.code = problem.get("code", "unavailable")
        self.retryable = problem.get("retryable", False)
        self.call = problem.get("call", {})


class NotDone(Exception):
    """What a tool raises when it has certainly not had its effect: the next caller may fire at once."""


class Server:
    def __init__(self, url, token=None, tries=5):
        self.url, self.tries = url, tries
        self.headers = {"content-type": "application/json"}
        if token is not None:
            self.headers["authorization"] = f"Bearer {token}"

    def post(self, path, body):
        """Posts until there is an answer, and gives it with the time at which the request was sent that got it.

        Repeating is safe: every request here names its claim.
        """
        data = json.dumps(body).encode()
        for left in reversed(range(self.tries)):
            sent_at = time.monotonic()
            try:
                request = urllib.request.Request(self.url + path, data, self.headers, method="POST")
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return json.load(answer), sent_at
            except urllib.error.HTTPError as error:
                # 503: not done now, or not known whether it was. All else is an answer.
                if error.code != 503 or left == 0:
                    raise CallProblem(problem_of(error)) from None
            except OSError:
                if left == 0:
                    raise
            time.sleep(0.2)


def problem_of(error):
    try:
        return json.load(error)
    except ValueError:
        return {"detail": f"something answered {error.code}"}


class Claim:
    """A claim that is renewed in the background until it is settled."""

    def __init__(self, server, answer, sent_at):
        self.server, self.claim_id, self.hold = server, answer["claim_id"], answer["hold"]
        self.path = "/v1/tool-calls/" + urllib.parse.quote(answer["key"], safe="")
        # Hand them on: the service then sees one effect, too, and a late worker is told from a newer one.
        self.headers, self.fencing_token = answer["headers"], answer["fencing_token"]
        self.lost = False
        self.ended = threading.Event()
        self.hold_until(answer, sent_at)
        threading.Thread(target=self.keep, daemon=True).start()

    def hold_until(self, answer, sent_at):
        # Counted from before the request was sent, never from its answer: that may have travelled for long.
        self.valid_until = sent_at + answer["valid_for"]

    def is_valid(self):
        """Whether the claim surely holds now. Begin no effect when it does not."""
        return not self.lost and time.monotonic() < self.valid_until

    def renew(self):
        self.hold_until(*self.server.post(self.path + "/renew", {"claim_id": self.claim_id}))

    def keep(self):
        while not self.ended.wait(self.hold / 3):
            try:
                self.renew()
            except CallProblem as problem:
                if problem.code == "claim_lost":
                    self.lost = True
                    return
            except OSError:
                pass  # The next third of the hold is another try.

    def settle(self, how, **outcome):
        self.ended.set()
        return self.server.post(f"{self.path}/{how}", {"claim_id": self.claim_id, **outcome})[0]


def run_once(server, request, tool):
    """Runs `tool` unless somebody has, and gives the outcome: `result`, `was_replay`, ..."""
    # Fresh for every claim. A worker that starts anew must take another one: its old claim may have fired.
    answer, sent_at = server.post("/v1/tool-calls/claim", {**request, "claim_id": str(uuid.uuid4())})
    if not answer["claimed"]:
        return answer
    claim = Claim(server, answer, sent_at)
    try:
        if not claim.is_valid():
            claim.renew()
        result = tool(claim)
    except NotDone as error:
        claim.settle("release", error=str(error))
        raise
    except Exception as error:
        # It may have had its effect before it failed.
        claim.settle("unknown", error={"name": type(error).__name__, "message": str(error)})
        raise
    return claim.settle("complete", result=result)


def main(url):
    server = Server(url)
    mails = []

    def send_email(claim):
        mails.append(claim.headers["Idempotency-Key"])
        time.sleep(0.05)
        return {"message": f"mail {len(mails)}"}

    request = {"tool": "send_email", "args": {"order": 12345, "to": "ana@example.com"}, "scope": "turn-1"}

    # The model emits the call twice at once: one fires, the other waits for its result.
    outcomes = []
    threads = [threading.Thread(target=lambda: outcomes.append(run_once(server, request, send_email))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for outcome in sorted(outcomes, key=lambda each: each["was_replay"]):
        print("twice at once:", outcome["result"]["message"], "replay:", outcome["was_replay"])

    try:
        run_once(server, {**request, "key": "order-12345"}, send_email)
        run_once(server, {**request, "key": "order-12345", "args": {"order": 1}}, send_email)
    except CallProblem as problem:
        print("other arguments:", problem.code)

    def refused(claim):
        raise NotDone("connection refused")

    try:
        run_once(server, {**request, "scope": "turn-2"}, refused)
    except NotDone as error:
        print("not done:", error)
    print("tried again:", run_once(server, {**request, "scope": "turn-2"}, send_email)["attempt"], "attempts")
    print("mails sent:", len(mails))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7070")

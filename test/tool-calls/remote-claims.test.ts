import fc from "fast-check";
import { expect, test } from "vitest";
import { ManualClock } from "../../src/base/manual-clock.js";
import { openMemoryStore } from "../../src/level/index.js";
import { toolCalls } from "../../src/tool-calls/index.js";
import type { RemoteClaims } from "../../src/tool-calls/remote-claims.js";
import { FaultyNetwork } from "./faulty-network.js";
import { openScene, settled } from "./scene.js";

/*
 * Claims of callers who have nothing but a claim id, through any of several processes, none of which knows of the others
 * or keeps anything. Each caller counts the validity of its claim by the moment at which it sent its own request.
 */

const request = { tool: "mail", args: { to: "ann" }, key: "k", pendingTtl: 60, waitTimeout: 0 };
const key = "mail:k";

test("a claim goes on through another process than the one that made it", async () => {
  const scene = await openScene();
  const [one, two] = [scene.worker("one"), scene.worker("two")].map(({ calls }) => calls.remoteClaims());
  const claim = await one?.claim(request, { owner: "w", claimId: "c" });
  await scene.advance(50);
  await two?.hold(key, "c", "renew");
  await scene.advance(50);
  expect(await two?.complete(key, "c", "sent")).toMatchObject({
    result: "sent",
    attempt: 1,
    fencing_token: claim !== undefined && "claim_id" in claim ? claim.fencing_token : undefined,
  });
});

test("a request that is repeated while the first is under way cannot count on a claim that may be older than itself", async () => {
  const scene = await openScene();
  const { calls, network } = scene.worker("one");
  const claims = calls.remoteClaims();
  network.fault("pending", "held");
  const repeated = claims.claim(request, { owner: "w", claimId: "c" });
  await settled();
  const first = await scene.worker("two").calls.remoteClaims().claim(request, { owner: "w", claimId: "c" });
  expect(first).toMatchObject({ claimed: true, valid_for: 60 });
  await scene.advance(59);
  network.deliver();
  // 59 of its own 60 seconds are over, too; only a renewal makes more of it.
  expect(await repeated).toMatchObject({ claimed: true, recognised: true, valid_for: 119 });
  expect(network.sent).toEqual(["pending", "renew"]);
});

test("a claim whose write arrives after its claimant was told that there is no answer is found by the retry", async () => {
  const scene = await openScene();
  const { calls, network } = scene.worker("one");
  const claims = calls.remoteClaims();
  network.fault("pending", "late", 3);
  await expect(claims.claim(request, { owner: "w", claimId: "c" })).rejects.toMatchObject({ code: "outcome_unknown" });
  network.deliver();
  await settled();
  expect(network.sent).not.toContain("released");
  expect(await claims.claim(request, { owner: "w", claimId: "c" })).toMatchObject({ recognised: true, attempt: 1 });
});

const steps = fc.array(
  fc.oneof(
    fc.record({
      step: fc.constantFrom("claim", "retry", "renew", "complete", "release"),
      who: fc.nat(2),
      lost: fc.boolean(),
    }),
    fc.record({ step: fc.constant("repeat" as const), which: fc.nat(30) }),
    fc.record({ step: fc.constant("pass" as const), seconds: fc.constantFrom(1, 20, 59, 60, 200) }),
    fc.record({
      step: fc.constant("fault" as const),
      who: fc.nat(2),
      request: fc.constantFrom("pending", "renew", "completed", "released", "read"),
      fault: fc.constantFrom("reply lost" as const, "request lost" as const, "late" as const),
    }),
    fc.record({ step: fc.constant("deliver" as const), who: fc.nat(2) }),
  ),
  { minLength: 5, maxLength: 40 },
);

/** One caller, who knows what its last answers said. */
interface Caller {
  readonly claims: RemoteClaims;
  readonly network: FaultyNetwork;
  claimId: string | undefined;
  validUntil: number;
}

test("whatever is lost, late or repeated, no two callers hold a valid claim at once, and there is one result", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (plan) => {
      const clock = new ManualClock();
      const store = await openMemoryStore({ clock });
      const callers = [0, 1, 2].map((): Caller => {
        const network = new FaultyNetwork(store);
        const claims = toolCalls(network.store, { clock, completedTtl: 100_000 }).remoteClaims();
        return { claims, network, claimId: undefined, validUntil: 0 };
      });
      const sent: (() => Promise<unknown>)[] = [];
      const results = new Set<unknown>();
      let claimCount = 0;

      /** Sends a request, of which a copy may arrive once more at any time. undefined: the caller got no answer. */
      const send = async <T>(lost: boolean, what: () => Promise<T>): Promise<T | undefined> => {
        sent.push(what);
        const answer = await what().catch(() => undefined);
        return lost ? undefined : answer;
      };
      const claim = async (caller: Caller, claimId: string, lost: boolean): Promise<void> => {
        caller.claimId = claimId;
        const sentAt = clock.monotonicNow();
        const answer = await send(lost, () => caller.claims.claim(request, { owner: "w", claimId }));
        if (answer?.claimed === true) caller.validUntil = sentAt + answer.valid_for * 1000;
        if (answer?.claimed === false) results.add(answer.result);
      };

      for (const each of plan) {
        if (each.step === "pass") clock.advance(each.seconds * 1000);
        else if (each.step === "repeat") await sent[each.which % Math.max(1, sent.length)]?.().catch(() => {});
        else {
          const caller = callers[each.who];
          if (caller === undefined) continue;
          const { claims, network, claimId } = caller;
          if (each.step === "fault") network.fault(each.request, each.fault);
          else if (each.step === "deliver") network.deliver();
          else if (each.step === "claim") {
            if (claimId === undefined) await claim(caller, `c-${++claimCount}`, each.lost);
          } else if (claimId !== undefined) {
            if (each.step === "retry") await claim(caller, claimId, each.lost);
            else if (each.step === "renew") {
              const sentAt = clock.monotonicNow();
              const held = await send(each.lost, () => claims.hold(key, claimId, "renew"));
              if (held !== undefined) caller.validUntil = sentAt + held.valid_for * 1000;
            } else {
              // Whatever becomes of the request: its claim is over for the caller, who may come again with a new one.
              caller.claimId = undefined;
              caller.validUntil = 0;
              const result = `by ${claimId}`;
              const ended =
                each.step === "complete"
                  ? await send(each.lost, () => claims.complete(key, claimId, result))
                  : await send(each.lost, () => claims.end(key, claimId, { action: "release" }));
              if (ended !== undefined && "result" in ended) results.add(ended.result);
            }
          }
        }
        await settled();
        const valid = callers.filter(({ validUntil }) => clock.monotonicNow() < validUntil);
        expect(valid.length).toBeLessThanOrEqual(1);
        expect(results.size).toBeLessThanOrEqual(1);
      }
      await store.close();
    }),
    { numRuns: 150 },
  );
});

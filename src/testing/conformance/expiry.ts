import assert from "node:assert/strict";
import type { DocumentStore } from "../../documents/contract.js";
import type { Case, Register } from "./case.js";
import { listedIds, present, scannedIds } from "./observing.js";
import { failsOneCondition, refuses } from "./refusals.js";

/** How many ways of looking find the document; the same for all of them at any instant. */
async function seenBy(store: DocumentStore, shape: string, id: string): Promise<string[]> {
  const found: [name: string, seen: boolean][] = [
    ["get", (await store.get(shape, id)) !== undefined],
    ["getDocument", (await store.getDocument(shape, id)) !== undefined],
    ["getMany", (await store.getMany([{ shape, id }]))[0] !== undefined],
    ["list", (await listedIds(store, shape)).includes(id)],
    ["list in reverse", (await listedIds(store, shape, { reverse: true, prefix: id })).includes(id)],
    ["scan", (await scannedIds(store, shape)).includes(id)],
    ["waitFor", (await store.waitFor(shape, id, { timeout: 0 })).document !== null],
    ["a condition", await held(store.batch([{ op: "check", shape, id, if_match: { exists: true } }]))],
  ];
  return found.filter(([, seen]) => seen).map(([name]) => name);
}

async function held(check: Promise<unknown>): Promise<boolean> {
  return await check.then(
    () => true,
    () => false,
  );
}

const allWays = ["get", "getDocument", "getMany", "list", "list in reverse", "scan", "waitFor", "a condition"];

/** Lets a deadline pass: to the millisecond where time is exact, with room where it is not. */
async function passDeadline(subject: Case, ms: number): Promise<void> {
  await subject.pass(subject.exactTime ? ms : ms + 50);
}

/** Expired documents, swept or not. */
export function expiryCases(register: Register): void {
  register("a document is there until the millisecond before its deadline, and absent from it on", async (subject) => {
    const { store, shape } = subject;
    await store.put({ shape, id: "a", set: { n: 1 }, ttl: 0.5 });
    await store.put({ shape, id: "b", set: { n: 1 } });
    if (subject.exactTime) {
      await subject.pass(499);
      assert.deepEqual(await seenBy(store, shape, "a"), allWays);
      await subject.pass(1);
    } else {
      await subject.pass(550);
    }
    assert.deepEqual(await seenBy(store, shape, "a"), []);
    assert.deepEqual(await seenBy(store, shape, "b"), allWays);
    await subject.pass(1);
    assert.deepEqual(await seenBy(store, shape, "a"), []);
  });

  register("a ttl is rounded to whole milliseconds from the instant of the write", async ({ store, shape }) => {
    const ttls: [seconds: number, ms: number][] = [
      [0.0014, 1],
      [0.0016, 2],
      [1.2345, 1235],
      [86_400, 86_400_000],
      [store.limits.ttlSecondsMax, store.limits.ttlSecondsMax * 1000],
    ];
    for (const [ttl, ms] of ttls) {
      const { expires_at, document } = await store.put({ shape, id: "a", set: {}, ttl, return: "document" });
      assert.equal(Date.parse(expires_at ?? "") - Date.parse(document?.updated_at ?? ""), ms, `ttl ${ttl}`);
    }
  });

  register("an expired document does not stand in the way of a create", async (subject) => {
    const { store, shape } = subject;
    const first = await store.put({ shape, id: "a", set: { n: 1 }, ttl: 0.2, return: "document" });
    await passDeadline(subject, 200);
    const again = await store.put({ shape, id: "a", set: { n: 2 }, if_match: { exists: false } });
    assert.equal(again.created, true);
    assert.ok(again.revision > first.revision);
    const document = await present(store, shape, "a");
    assert.equal(document.created_revision, again.revision);
    assert.ok(document.created_at > (first.document?.created_at ?? ""));
    assert.deepEqual([document.fields, document.expires_at], [{ n: 2 }, null]);
  });

  register("the revision of an expired document does not match", async (subject) => {
    const { store, shape } = subject;
    const { revision } = await store.put({ shape, id: "a", set: { n: 1 }, ttl: 0.2 });
    await passDeadline(subject, 200);
    const if_match = { revision };
    await failsOneCondition(() => store.put({ shape, id: "a", set: {}, if_match }));
    await failsOneCondition(() => store.patch({ shape, id: "a", merge: {}, ttl: 5, if_match }));
    await failsOneCondition(() => store.delete({ shape, id: "a", if_match }));
    await failsOneCondition(() => store.delete({ shape, id: "a", if_match: { fields: { n: 1 } } }));
    assert.deepEqual(await seenBy(store, shape, "a"), []);
  });

  register("an expired document cannot be patched or renewed, and deleting it finds nothing", async (subject) => {
    const { store, shape } = subject;
    await store.put({ shape, id: "a", set: { n: 1 }, ttl: 0.2 });
    await passDeadline(subject, 200);
    await refuses(() => store.patch({ shape, id: "a", merge: { n: 2 } }), "not_found");
    await refuses(() => store.patch({ shape, id: "a", ttl: 60 }), "not_found");
    const gone = await store.delete({ shape, id: "a", return: "document" });
    assert.equal(gone.document, null);
    assert.deepEqual(await seenBy(store, shape, "a"), []);
  });

  register("only the last write's ttl counts", async (subject) => {
    const { store, shape } = subject;
    await store.put({ shape, id: "longer", set: {}, ttl: 0.2 });
    await store.put({ shape, id: "longer", set: {}, ttl: 3600 });
    await store.put({ shape, id: "renewed", set: {}, ttl: 0.2 });
    await store.patch({ shape, id: "renewed", ttl: 3600 });
    await store.put({ shape, id: "replaced", set: {}, ttl: 0.2 });
    await store.put({ shape, id: "replaced", set: {} });
    await store.put({ shape, id: "unbound", set: {}, ttl: 0.2 });
    await store.patch({ shape, id: "unbound", ttl: null });
    await store.put({ shape, id: "reborn", set: {}, ttl: 0.2 });
    await store.delete({ shape, id: "reborn" });
    await store.put({ shape, id: "reborn", set: {} });
    await store.put({ shape, id: "patched", set: {}, ttl: 0.2 });
    await store.patch({ shape, id: "patched", merge: { n: 1 } });
    await store.put({ shape, id: "shorter", set: {}, ttl: 3600 });
    await store.put({ shape, id: "shorter", set: {}, ttl: 0.2 });
    await store.put({ shape, id: "bound", set: {} });
    await store.patch({ shape, id: "bound", ttl: 0.2 });
    await subject.pass(250);
    assert.deepEqual(await listedIds(store, shape), ["longer", "reborn", "renewed", "replaced", "unbound"]);
    await subject.pass(1000);
    assert.deepEqual(await listedIds(store, shape), ["longer", "reborn", "renewed", "replaced", "unbound"]);
  });

  register("of many writes with different ttls at once, the last commit's counts", async ({ store, shape, pass }) => {
    const ttls = Array.from({ length: 50 }, (_, n) => (n % 3 === 0 ? null : n % 3 === 1 ? 0.1 : 3600));
    const results = await Promise.all(ttls.map((ttl) => store.put({ shape, id: "a", set: {}, ttl })));
    const last = results.reduce((one, other) => (other.revision > one.revision ? other : one));
    await pass(150);
    const document = await store.getDocument(shape, "a");
    const ended = ttls[results.indexOf(last)] === 0.1;
    assert.equal(document?.revision, ended ? undefined : last.revision);
  });

  register("a ttl of months or years does not end early", async ({ store, shape, pass }) => {
    const days = [24, 25, 30, 365, 3650];
    for (const day of days) await store.put({ shape, id: `${day}`, set: {}, ttl: day * 86_400 });
    await pass(1000);
    assert.equal((await listedIds(store, shape)).length, days.length);
  });

  register("a ttl that is not a number of seconds in bounds is refused, for every kind of write", async (subject) => {
    const { store, shape } = subject;
    await store.put({ shape, id: "a", set: { n: 1 } });
    const { ttlSecondsMax, ttlSecondsMin } = store.limits;
    const wrong: unknown[] = [
      0,
      -0,
      -1,
      Number.NaN,
      Infinity,
      -Infinity,
      "60",
      "",
      " ",
      true,
      false,
      [],
      [60],
      {},
      1e20,
    ];
    wrong.push(ttlSecondsMax + 1, ttlSecondsMin / 3, 60n, new Date(60_000));
    for (const value of wrong) {
      const ttl = value as number;
      const about = `${typeof value} ${String(value)}`;
      const refused = ["invalid_request"] as const;
      const put = await refuses(() => store.put({ shape, id: "b", set: {}, ttl }), refused, `put ${about}`);
      assert.ok(put.path?.includes("ttl"), `${about}: the error names the ttl`);
      await refuses(() => store.patch({ shape, id: "a", ttl }), refused, `patch ${about}`);
      await refuses(() => store.batch([{ op: "put", shape, id: "b", set: {}, ttl }]), refused, `batch ${about}`);
    }
    const document = await present(store, shape, "a");
    assert.equal(document.expires_at, null);
    assert.equal(await store.get(shape, "b"), undefined);
  });

  register("a page of a list that begins with expired documents does not end the list", async (subject) => {
    const { store, shape } = subject;
    const put = (n: number, ttl: number | null) => ({
      op: "put" as const,
      shape,
      id: `d${`${n}`.padStart(3, "0")}`,
      set: {},
      ttl,
    });
    for (let start = 0; start < 120; start += 60) {
      await store.batch(Array.from({ length: 60 }, (_, n) => put(start + n, start === 0 ? 0.2 : null)));
    }
    await passDeadline(subject, 200);
    const expected = Array.from({ length: 60 }, (_, n) => `d${`${60 + n}`.padStart(3, "0")}`);
    assert.deepEqual(await listedIds(store, shape, { limit: 10 }), expected);
    assert.deepEqual(await listedIds(store, shape, { limit: 10, reverse: true }), expected.toReversed());
  });
}

import assert from "node:assert/strict";
import type { Register } from "./case.js";
import { CommitReader, listedIds, revisionOf, scannedIds } from "./observing.js";
import { refusesRequest, unchecked } from "./refusals.js";

const oddIds: readonly string[] = Object.freeze([
  ..." !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
  ..."0aAzZ",
  "..",
  "...",
  "./a",
  "../../etc",
  "a/b",
  "/a",
  "a/",
  "//",
  "a//b",
  "a%2Fb",
  "a%2fb",
  "%2E%2E",
  "%2e",
  "%%",
  "%00",
  "%zz",
  "50%",
  "a+b",
  "a b",
  " a",
  "a ",
  "a?b=c",
  "a#b",
  "a&b=c",
  "a;b",
  "\0",
  "\0\0",
  "a\0b",
  "a\0",
  "\n",
  "a\r\nb: c",
  "\t",
  "\u007f",
  "\u0080",
  "\u00ff",
  "é",
  "e\u0301",
  "\u00c5",
  "\u212b",
  "\u0444",
  "中",
  "\u2028",
  "\ufeff",
  "\ufeffa",
  "\uffff",
  "\u{1F600}",
  "\u{10FFFF}",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "undefined",
  "null",
  "true",
  "NaN",
  "documents",
  "http://example.com/a?b#c",
]);

function byBytes(ids: readonly string[]): string[] {
  return ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** Ids and shapes: any name is its own document. */
export function idCases(register: Register): void {
  register("any id is its own document, in every call", async ({ store, shape }) => {
    const since = await revisionOf(store, shape);
    for (const [n, id] of oddIds.entries()) {
      const about = JSON.stringify(id);
      assert.equal(await store.get(shape, id), undefined, `${about} is new`);
      const { created } = await store.put({ shape, id, set: { n }, if_match: { exists: false } });
      assert.equal(created, true, about);
    }
    for (const [n, id] of oddIds.entries()) {
      const about = JSON.stringify(id);
      assert.deepEqual(await store.get(shape, id), { n }, about);
      const document = await store.getDocument(shape, id);
      assert.deepEqual([document?.id, document?.shape], [id, shape], about);
      await store.patch({ shape, id, merge: { patched: n } });
    }
    const documents = await store.getMany(oddIds.map((id) => ({ shape, id })));
    assert.deepEqual(
      documents.map((document) => [document?.id, document?.fields]),
      oddIds.map((id, n) => [id, { n, patched: n }]),
    );
    const reader = new CommitReader(store.watch({ shape, since }));
    const commits = await reader.take(oddIds.length);
    await reader.end();
    assert.deepEqual(
      commits.map((commit) => commit.changes[0]?.id),
      oddIds,
    );
    for (const id of oddIds) await store.delete({ shape, id, if_match: { exists: true } });
    assert.deepEqual(await listedIds(store, shape), []);
  });

  register("ids are listed and scanned in the order of their UTF-8 bytes", async ({ store, shape }) => {
    await store.batch(oddIds.map((id) => ({ op: "put" as const, shape, id, set: {} })));
    const sorted = byBytes(oddIds);
    assert.deepEqual(await listedIds(store, shape, { limit: 1000 }), sorted);
    assert.deepEqual(await listedIds(store, shape, { limit: 3 }), sorted);
    assert.deepEqual(await listedIds(store, shape, { limit: 4, reverse: true }), sorted.toReversed());
    assert.deepEqual(await scannedIds(store, shape), sorted);
  });

  register("a prefix finds every id that begins with it, whatever its bytes", async ({ store, shape }) => {
    const ids = ["z", "\u00ff", "\u00ff\u00ff", "\u0444", "\u4e2d", "\u{1F600}", "\u{1F600}\u{1F600}", "\uffff"];
    ids.push(
      "\uffff\uffff",
      "\u{10FFFF}",
      "\u{10FFFF}\u{10FFFF}",
      "\u{10FFFF}a",
      "a\u{10FFFF}",
      "a\u{10FFFF}b",
      "a",
      "b",
    );
    ids.push("a%", "a%b", "a_", "a*", "A", "\0", "\0a", "a\0", "a\0\0");
    await store.batch(ids.map((id) => ({ op: "put" as const, shape, id, set: {} })));
    for (const prefix of ids) {
      const expected = byBytes(ids.filter((id) => id.startsWith(prefix)));
      const about = JSON.stringify(prefix);
      assert.deepEqual(await listedIds(store, shape, { prefix }), expected, `prefix ${about}`);
      assert.deepEqual(
        await listedIds(store, shape, { prefix, limit: 1, reverse: true }),
        expected.toReversed(),
        about,
      );
      assert.deepEqual(await scannedIds(store, shape, prefix), expected, `scan ${about}`);
    }
  });

  register("numbers as ids are texts: 1 is not 10, and 10 comes before 2", async ({ store, shape }) => {
    for (const id of ["2", "10", "-1", "1", "01"]) await store.put({ shape, id, set: { id } });
    assert.deepEqual(await listedIds(store, shape), ["-1", "01", "1", "10", "2"]);
    assert.deepEqual(await listedIds(store, shape, { prefix: "1" }), ["1", "10"]);
    assert.deepEqual(await listedIds(store, shape, { after: "10" }), ["2"]);
    assert.deepEqual(await store.get(shape, "1"), { id: "1" });
  });

  register("no shape shows another shape's documents, however alike the names", async (subject) => {
    const { store } = subject;
    const base = subject.freshShape();
    const shapes = [
      base,
      `${base}.`,
      `${base}.a`,
      `${base}-`,
      `${base}-a`,
      `${base}_`,
      `${base}0`,
      `${base}a`,
      base.slice(0, -1),
    ];
    const ids = ["a", ".a", "-a", "0", "\0", "\0a", "a\0", ":a", "/a", "!"];
    for (const shape of shapes) {
      await store.batch(ids.map((id) => ({ op: "put" as const, shape, id, set: { shape } })));
    }
    for (const shape of shapes) {
      const { documents } = await store.list(shape);
      assert.deepEqual(
        documents.map((document) => [document.shape, document.id, document.fields["shape"]]),
        byBytes(ids).map((id) => [shape, id, shape]),
      );
      assert.deepEqual(await scannedIds(store, shape, "a"), byBytes(["a", "a\0"]));
    }
    for (const id of ids) await store.delete({ shape: base, id });
    for (const shape of shapes.slice(1)) assert.equal((await listedIds(store, shape)).length, ids.length);
  });

  register("an id has 1 to as many bytes as its limit says", async ({ store, shape }) => {
    const { idBytesMax } = store.limits;
    const good = [
      "x".repeat(idBytesMax),
      "é".repeat(Math.floor(idBytesMax / 2)),
      "/".repeat(idBytesMax),
      "%".repeat(101),
    ];
    good.push("x".repeat(100), "x".repeat(101), "x".repeat(500), "\u{1F600}".repeat(Math.floor(idBytesMax / 4)));
    for (const [n, id] of good.entries()) {
      await store.put({ shape, id, set: { n } });
      assert.deepEqual(await store.get(shape, id), { n });
      await store.patch({ shape, id, merge: { n: n + 1 } });
      assert.deepEqual(await store.get(shape, id), { n: n + 1 });
    }
    assert.deepEqual(await listedIds(store, shape), byBytes(good));
    for (const id of good) await store.delete({ shape, id, if_match: { exists: true } });
    const bad: unknown[] = ["", "x".repeat(idBytesMax + 1), "中".repeat(Math.ceil((idBytesMax + 1) / 3))];
    bad.push("\ud83d", "a\ude00b", 5, null, undefined, ["a"], {}, Symbol("a"), 5n, Buffer.from("a"));
    for (const value of bad) {
      const id: string = unchecked(value);
      const about = `${typeof value} ${String(value).slice(0, 10)}`;
      await refusesRequest(() => store.put({ shape, id, set: {} }), "id", `put ${about}`);
      await refusesRequest(() => store.patch({ shape, id, merge: {} }), "id", `patch ${about}`);
      await refusesRequest(() => store.delete({ shape, id }), "id", `delete ${about}`);
      await refusesRequest(() => store.get(shape, id), "id", `get ${about}`);
      await refusesRequest(() => store.waitFor(shape, id, { timeout: 0 }), "id", `waitFor ${about}`);
      await refusesRequest(() => store.getMany([{ shape, id }]), "id", `getMany ${about}`);
    }
    assert.deepEqual(await listedIds(store, shape), []);
  });

  register("ids of any length are told apart by their last character", async ({ store, shape }) => {
    // Multi-byte characters at every place around the sizes that buffers like to have.
    const ids: string[] = [];
    for (const length of [14, 15, 16, 30, 31, 32, 62, 63, 64, 65, 126, 127, 128, 254, 255, 256, 510, 511, 512]) {
      for (const end of ["", "a", "€", "€a", "é", "\u{1F600}"]) ids.push("x".repeat(length) + end);
    }
    await store.put({ shape, id: "x", set: { n: -1 } });
    for (const [n, id] of ids.entries()) {
      assert.equal(await store.get(shape, id), n > 0 && ids.indexOf(id) < n ? { n: ids.indexOf(id) } : undefined);
      await store.put({ shape, id, set: { n } });
      assert.deepEqual(await store.get(shape, id), { n });
      assert.deepEqual(await store.get(shape, "x"), { n: -1 });
    }
  });

  register("names of inherited properties are ordinary shapes and ids", async ({ store, shape }) => {
    for (const name of ["constructor", "prototype", "valueof", "__proto__", "hasOwnProperty", "toString"]) {
      assert.equal(await store.get(shape, name), undefined, name);
      assert.equal((await store.waitFor(shape, name, { after: 0, timeout: 0 })).changed, false, name);
      const waiting = store.waitFor(shape, name, { after: 0, timeout: 60 });
      await store.put({ shape, id: name, set: { name }, if_match: { exists: false } });
      assert.deepEqual((await waiting).document?.fields, { name });
    }
    // This shape is shared by everybody who runs the suite on the same store; the id is not.
    const id = shape;
    await store.put({ shape: "constructor", id, set: { n: 1 }, if_match: { exists: false } });
    assert.deepEqual(await store.get("constructor", id), { n: 1 });
    await store.delete({ shape: "constructor", id });
  });

  register(
    "a shape is 1 to 64 characters of a-z, 0-9, '.', '_' and '-', and begins with a letter or digit",
    async (s) => {
      const { store } = s;
      const good = [`${s.shape}._-9`, s.shape.padEnd(64, "z")];
      for (const shape of good) {
        await store.put({ shape, id: "a", set: { shape } });
        assert.deepEqual(await store.get(shape, "a"), { shape });
      }
      const bad: unknown[] = ["", "A", "aB", "-a", ".a", "_a", "a b", "a/b", "a:b", "é", "a\0b", "a\n", "x".repeat(65)];
      bad.push("..", "__proto__", "a%2Fb", "\ud83d", 5, null, undefined, ["a"], {});
      for (const value of bad) {
        const shape: string = unchecked(value);
        const about = JSON.stringify(value);
        await refusesRequest(() => store.put({ shape, id: "a", set: {} }), "shape", `put ${about}`);
        await refusesRequest(() => store.patch({ shape, id: "a", merge: {} }), "shape", `patch ${about}`);
        await refusesRequest(() => store.delete({ shape, id: "a" }), "shape", `delete ${about}`);
        await refusesRequest(() => store.get(shape, "a"), "shape", `get ${about}`);
        await refusesRequest(() => store.list(shape), "shape", `list ${about}`);
        await refusesRequest(() => store.waitFor(shape, "a", { timeout: 0 }), "shape", `waitFor ${about}`);
      }
    },
  );

  register("texts that look alike are different ids when their code points differ", async ({ store, shape }) => {
    const ids = ["é", "e\u0301", "\u00c5", "A\u030a", "\u212b", "ﬁ", "fi", "ß", "ss"];
    for (const [n, id] of ids.entries()) await store.put({ shape, id, set: { n }, if_match: { exists: false } });
    for (const [n, id] of ids.entries()) assert.deepEqual(await store.get(shape, id), { n });
    assert.deepEqual(await listedIds(store, shape), byBytes(ids));
  });
}

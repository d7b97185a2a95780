import assert from "node:assert/strict";
import type { Fields, JsonValue } from "../../documents/contract.js";
import type { Case, Register } from "./case.js";
import { CommitReader, revisionOf } from "./observing.js";
import { refuses, refusesRequest, unchecked } from "./refusals.js";

/** Asserts that every way of reading gives the fields back as they are expected: values, member order and prototypes. */
async function comesBack({ store, shape }: Case, id: string, set: Fields, expected: Fields = set): Promise<void> {
  const since = await revisionOf(store, shape);
  const written = await store.put({ shape, id, set, return: "document" });
  const watching = new CommitReader(store.watch({ shape, id, since }));
  const commit = await watching.next();
  await watching.end();
  const ways: [way: string, fields: Fields | undefined][] = [
    ["put", written.document?.fields],
    ["get", await store.get(shape, id)],
    ["getDocument", (await store.getDocument(shape, id))?.fields],
    ["list", (await store.list(shape, { prefix: id })).documents[0]?.fields],
    ["watch", commit.changes[0]?.document?.fields],
    ["waitFor", (await store.waitFor(shape, id, { after: 0, timeout: 0 })).document?.fields],
  ];
  for (const [way, fields] of ways) {
    assert.deepStrictEqual(fields, expected, `${way} of ${id}`);
    assert.equal(JSON.stringify(fields), JSON.stringify(expected), `${way} of ${id}, with the order of members`);
  }
}

class Money {
  readonly amount = 5;
}

/** Values come back exactly as they went in, or are refused. */
export function valueCases(register: Register): void {
  register("values of all kinds come back exactly, whichever way they are read", async (subject) => {
    await comesBack(subject, "kinds", {
      nothing: null,
      yes: true,
      no: false,
      zero: 0,
      text: "text",
      empty: { text: "", list: [], object: {}, listOfEmpty: [[], {}, ""] },
      nested: { a: [{ b: [1, [2, { c: null }]] }] },
      mixed: [null, false, 0, "", 1.5, "1", true, { z: 1, a: 2 }, [1, 2]],
    });
  });

  register("numbers come back exactly", async (subject) => {
    const numbers = [
      1,
      -1,
      127,
      128,
      -129,
      65_536,
      2 ** 31,
      2 ** 32,
      -(2 ** 31) - 1,
      2 ** 52,
      0.1,
      -0.1,
      1 / 3,
      1.5e-7,
    ];
    numbers.push(
      5e-324,
      2.2250738585072014e-308,
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
      0.1 + 0.2,
      1e15,
      1e-300,
    );
    numbers.push(4_503_599_627_370_495.5, 123_456_789.123_456_78);
    await comesBack(subject, "numbers", { numbers });
    for (const [n, number] of numbers.entries()) await comesBack(subject, `number ${n}`, { number });
  });

  register("-0 is 0", async (subject) => {
    const { store, shape } = subject;
    await store.put({ shape, id: "a", set: { n: -0, list: [-0] } });
    const fields = await store.get(shape, "a");
    assert.ok(Object.is(fields?.["n"], 0));
    assert.deepStrictEqual(fields, { n: 0, list: [0] });
  });

  register("texts come back exactly, code point by code point", async (subject) => {
    const texts = ["", " ", "\0", "a\0b", "\n\r\t", '"\\/', "\u007f\u0080\u00ff", "é", "e\u0301", "\u00c5", "\u212b"];
    texts.push(
      "\u2028\u2029",
      "\ufeffbom",
      "\uffff\ufffd",
      "😀",
      "👩‍👩‍👧",
      "中文",
      `${"x".repeat(70)}😀`,
      "é".repeat(40),
    );
    texts.push("x".repeat(31), "x".repeat(32), "x".repeat(255), "x".repeat(65_536), "€".repeat(3000), "<script>&amp;");
    await comesBack(subject, "texts", { texts });
    for (const [n, text] of texts.entries()) await comesBack(subject, `text ${n}`, { text });
  });

  register("names of members come back exactly", async (subject) => {
    const names = [
      "",
      " ",
      "a.b",
      "$set",
      "a/b",
      "0",
      "é",
      "e\u0301",
      "😀",
      "\0",
      "\n",
      "toString",
      "valueOf",
      "length",
    ];
    names.push(
      "hasOwnProperty",
      "constructor",
      "prototype",
      "toJSON",
      "then",
      "id",
      "shape",
      "_id",
      "__defineGetter__",
    );
    await comesBack(subject, "names", Object.fromEntries(names.map((name, n) => [name, n])));
    for (const [n, name] of names.entries()) await comesBack(subject, `name ${n}`, { deep: { [name]: { [name]: n } } });
    await comesBack(subject, "constructor", { constructor: { prototype: { admin: true } } });
  });

  register(
    "__proto__ as a name comes back as it is or is refused by name, and never reaches a prototype",
    async (s) => {
      const { store, shape } = s;
      const texts = [
        '{"__proto__":{"polluted":1},"m":2}',
        '{"deep":{"__proto__":{"polluted":1}}}',
        '{"__proto__":null}',
      ];
      for (const text of texts) {
        const set = JSON.parse(text) as Fields;
        const outcome = await store.put({ shape, id: "a", set }).catch((error: unknown) => error);
        if (outcome instanceof Error) {
          const error = await refusesRequest(() => Promise.reject(outcome));
          assert.match(error.message, /__proto__/);
          assert.equal(await store.get(shape, "a"), undefined);
        } else {
          assert.equal(JSON.stringify(await store.get(shape, "a")), text);
          await store.delete({ shape, id: "a" });
        }
      }
      await store.put({ shape, id: "b", set: {} });
      await store.patch({ shape, id: "b", merge: JSON.parse(texts[0] ?? "") }).catch(() => undefined);
      assert.equal(Reflect.get({}, "polluted"), undefined);
      assert.equal(Reflect.get((await store.get(shape, "b")) ?? {}, "polluted"), undefined);
    },
  );

  register("undefined members are dropped, as JSON does, on every path", async (subject) => {
    const { store, shape } = subject;
    const given = { kept: 1, gone: undefined, deep: { gone: undefined, list: [{ gone: undefined }] } };
    const expected = { kept: 1, deep: { list: [{}] } };
    await comesBack(subject, "a", unchecked(given), expected);
    await store.put({ shape, id: "b", set: {} });
    await store.patch({ shape, id: "b", merge: unchecked(given) });
    assert.deepStrictEqual(await store.get(shape, "b"), expected);
    await store.batch([{ op: "put", shape, id: "c", set: unchecked(given) }]);
    assert.deepStrictEqual(await store.get(shape, "c"), expected);
    await store.put({ shape, id: "c", set: {}, if_match: { fields: unchecked({ ...given, deep: given.deep }) } });
  });

  register("what JSON cannot say is refused, with its place, and nothing is written", async ({ store, shape }) => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    const sparse = [1, 2, 3];
    delete sparse[1];
    const wrong: [about: string, value: unknown][] = [
      ["NaN", Number.NaN],
      ["Infinity", Infinity],
      ["-Infinity", -Infinity],
      ["an integer beyond 2^53 - 1", 2 ** 53],
      ["an integer below -(2^53 - 1)", -(2 ** 53)],
      ["a bigint", 5n],
      ["a large bigint", 2n ** 70n],
      ["a function", () => 1],
      ["a symbol", Symbol("s")],
      ["a Date", new Date(0)],
      ["an invalid Date", new Date(Number.NaN)],
      ["a Map", new Map([["a", 1]])],
      ["a Set", new Set([1])],
      ["a RegExp", /q/i],
      ["an Error", new Error("e")],
      ["a class instance", new Money()],
      ["bytes", new Uint8Array([1])],
      ["a Buffer", Buffer.from("a")],
      ["a boxed number", Object(5)],
      ["a promise", Promise.resolve(1)],
      ["an object with toJSON", { toJSON: () => 1 }],
      ["a lone high surrogate", "go \ud83d"],
      ["a lone low surrogate", "\ude00 go"],
      ["a long text with a lone surrogate", `${"x".repeat(70)}\ud83d`],
      ["a cycle", cyclic],
      ["a sparse array", sparse],
    ];
    for (const [about, value] of wrong) {
      const set: Fields = unchecked({ good: 1, items: [{ bad: value }] });
      await refusesRequest(() => store.put({ shape, id: "a", set }), "set", `put of ${about}`);
      await refusesRequest(() => store.put({ shape, id: "a", set: unchecked({ bad: value }) }), "set", about);
    }
    await refusesRequest(() => store.put({ shape, id: "a", set: { list: unchecked([1, undefined, 3]) } }), "set");
    await refusesRequest(() => store.put({ shape, id: "a", set: { "\ud83d": 1 } }), "set");
    const error = await refusesRequest(() => store.put({ shape, id: "a", set: { items: [{ price: Number.NaN }] } }));
    assert.equal(error.path, "set.items[0].price");
    assert.equal(await store.get(shape, "a"), undefined);
  });

  register("fields that are not a plain object are refused", async ({ store, shape }) => {
    for (const set of [null, undefined, 5, "text", true, [], ["a"], new Date(0), new Map(), new Money(), () => 1]) {
      await refusesRequest(() => store.put({ shape, id: "a", set: unchecked(set) }), "set", String(set));
    }
    assert.equal(await store.get(shape, "a"), undefined);
  });

  register("objects without a prototype are plain", async (subject) => {
    const bare: Fields = Object.assign(Object.create(null), { n: 1 });
    await comesBack(subject, "a", { bare }, { bare: { n: 1 } });
  });

  register("nesting is kept up to the limit and refused beyond it", async (subject) => {
    const { store, shape } = subject;
    const nested = (levels: number): Fields => {
      let value: JsonValue = "bottom";
      for (let level = 1; level < levels; level++) value = level % 2 === 0 ? [value] : { in: value };
      return { in: value };
    };
    const { depthMax } = store.limits;
    await comesBack(subject, "deep", nested(depthMax));
    await refusesRequest(() => store.put({ shape, id: "deeper", set: nested(depthMax + 1) }), "set");
    await refusesRequest(() => store.put({ shape, id: "deepest", set: nested(20_000) }), "set");
  });

  register("a part that is referred to many times comes back as copies", async ({ store, shape }) => {
    const part = { u: "x" };
    await store.put({ shape, id: "a", set: { list: Array.from({ length: 10_001 }, () => part) } });
    const list: { u: string }[] = unchecked((await store.get(shape, "a"))?.["list"]);
    assert.equal(list.length, 10_001);
    assert.ok(list.every((item) => item.u === "x" && Object.keys(item).length === 1));
    const first = list[0];
    assert.ok(first !== undefined);
    first.u = "changed";
    assert.equal(list[1]?.u, "x");
  });

  register("documents with many different sets of names all come back", async ({ store, shape }) => {
    const sets = Array.from({ length: 60 }, (_, n) =>
      Object.fromEntries(Array.from({ length: 1 + (n % 9) }, (_, k) => [`name${n}_${k}`, { [`in${k}`]: n }])),
    );
    await store.batch(sets.map((set, n) => ({ op: "put" as const, shape, id: `d${n}`, set })));
    const documents = await store.getMany(sets.map((_, n) => ({ shape, id: `d${n}` })));
    assert.deepStrictEqual(
      documents.map((document) => document?.fields),
      sets,
    );
  });

  register("a member that throws when it is read fails that write alone", async ({ store, shape }) => {
    const set = {
      get n(): number {
        throw new Error("from the getter");
      },
    };
    await assert.rejects(store.put({ shape, id: "a", set }), /n/);
    await refuses(() => store.batch([{ op: "put", shape, id: "a", set }]), "invalid_request");
    await store.put({ shape, id: "a", set: { n: 1 } });
    assert.deepEqual(await store.get(shape, "a"), { n: 1 });
  });
}

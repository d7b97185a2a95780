import { expect, test } from "vitest";
import type { Document } from "../../src/documents/contract.js";
import { withMethods } from "../server/test-server.js";
import type { Weakness } from "./fuzz-server.js";
import { wrongValuesEverywhere } from "./wrong-values-everywhere.js";

/** Hundreds of requests, some of them large: many seconds where others use the machine, too. */
const long = { timeout: 600_000 };

// The whole tables at every place are tried in the slow run.
test(
  "every member of every request is refused by its place when its value is wrong, nothing is stored then, and what is taken is what the description allows",
  long,
  async () => {
    const { faults, refused, taken, part } = await wrongValuesEverywhere(8);
    expect(faults).toEqual([]);
    expect(part.untried()).toEqual([]);
    expect(refused).toBeGreaterThan(500);
    expect(taken).toBeGreaterThan(50);
  },
);

const dropsUnknown: Weakness = {
  // A server that drops what it does not know, as many do.
  app: (app) => {
    app.addHook("preValidation", (request, _, done) => {
      const { body } = request;
      if (typeof body === "object" && body !== null && "surprise" in body) delete body.surprise;
      done();
    });
  },
};

const storesFirst: Weakness = {
  app: (app, store) => {
    app.addHook("preValidation", async (request) => {
      if (request.method === "PUT") await store.put({ shape: "note", id: "seen", set: {} });
    });
  },
};

test(
  "a server that drops members which it does not know, or that stores before it judges, would be found by that",
  long,
  async () => {
    const dropped = await wrongValuesEverywhere(4, dropsUnknown, "putDocument");
    expect(dropped.faults).toContainEqual(expect.stringMatching(/^putDocument with the member surprise: it was taken/));
    const stored = await wrongValuesEverywhere(4, storesFirst, "putDocument");
    expect(stored.faults).toContainEqual(expect.stringMatching(/set = .*: it was refused, and something was stored/));
  },
);

/** A server that shows what it was last asked to write, before it has judged that: no revision tells of it. */
function showsEarly(): Weakness {
  const touched = new Set<string>();
  const shown = (document: Document | undefined): Document | undefined =>
    document !== undefined && touched.has(document.id) ? { ...document, fields: { early: true } } : document;
  return {
    app: (app) => {
      app.addHook("preValidation", async ({ method, url, body }) => {
        if (method === "GET") return;
        for (const id of `${url} ${JSON.stringify(body)}`.match(/n-\d+-\d/g) ?? []) touched.add(id);
      });
    },
    store: (store) =>
      withMethods(store, { getMany: async (keys) => (await store.getMany(keys)).map((document) => shown(document)) }),
  };
}

test.each(["putDocument", "patchDocument", "deleteDocument", "batch"])(
  "a server that shows what it has refused would be found by that: %s",
  long,
  async (operation) => {
    const { faults } = await wrongValuesEverywhere(4, showsEarly(), operation);
    expect(faults).toContainEqual(expect.stringMatching(/: it was refused, and a document is another than before$/));
  },
);

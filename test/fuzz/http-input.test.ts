import { expect, test } from "vitest";
import { SeededRandom } from "../crash/seeded-random.js";
import { withMethods } from "../server/test-server.js";
import type { Weakness } from "./fuzz-server.js";
import { httpInput } from "./http-input.js";

/** Hundreds of requests: many seconds where others use the machine, too. */
const long = { timeout: 600_000 };

test(
  "spoiled requests of every kind meet no fault of the server's, change nothing when they are refused, and are there when they are taken",
  long,
  async () => {
    const counts = await httpInput(250).run(new SeededRandom());
    for (const what of ["parts", "bytes", "raw", "refused", "taken"]) expect(counts[what], what).toBeGreaterThan(10);
  },
);

const weaknesses: readonly [string, Weakness, RegExp][] = [
  [
    "throws at a certain value",
    {
      store: (store) =>
        withMethods(store, {
          put: (write) => (write.shape === "note" ? Promise.reject(new TypeError("not a function")) : store.put(write)),
        }),
    },
    /the log says|500 is no answer/,
  ],
  [
    "stores before it judges",
    {
      app: (app, store) => {
        app.addHook("preValidation", async (request) => {
          if (request.method === "PUT") await store.put({ shape: "note", id: "seen", set: {} });
        });
      },
    },
    /it was refused, and something was stored/,
  ],
  [
    "changes what it stores",
    {
      store: (store) =>
        withMethods(store, {
          put: (write) => store.put(write.shape === "note" ? { ...write, set: { ...write.set, extra: 1 } } : write),
        }),
    },
    /what was sent is not what is there/,
  ],
  [
    "answers what is not described",
    {
      app: (app) => {
        app.addHook("onSend", async (request, reply, payload) => {
          if (request.method === "PATCH" && reply.statusCode === 200) return '{"revision":"one"}';
          return payload;
        });
      },
    },
    /the answer.* must/,
  ],
  [
    "lets everybody in",
    {
      app: (app) => {
        app.addHook("onSend", async (_, reply, payload) => {
          if (reply.statusCode !== 401) return payload;
          reply.code(200).header("content-type", "application/json").removeHeader("content-length");
          return "{}";
        });
      },
    },
    /the token (?:wrong|none) must not do that/,
  ],
  [
    "drops connections",
    {
      app: (app) => {
        app.addHook("preValidation", async (request) => {
          if (request.method === "DELETE") request.raw.socket.destroy();
        });
      },
    },
    /no answer to DELETE/,
  ],
];

test.each(weaknesses)("a server that %s would be found by that", long, async (_, weaken, found) => {
  // At most so many pieces of work: one of them meets it, whatever the seeds are.
  const run = async (): Promise<void> => {
    const random = new SeededRandom();
    for (let piece = 0; piece < 20; piece++) await httpInput(250, weaken).run(random);
  };
  await expect(run()).rejects.toThrow(found);
});

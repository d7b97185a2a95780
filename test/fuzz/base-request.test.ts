import { expect, test } from "vitest";
import { baseRequest, wireRequest } from "./base-request.js";
import { openFuzzServer } from "./fuzz-server.js";

test("every route takes the request that is made of its description, with all its members, and answers as it is described", async () => {
  const server = await openFuzzServer();
  try {
    const refused: string[] = [];
    for (const operation of server.operations) {
      const answer = await server.wire.send(wireRequest(await baseRequest(server, operation)));
      const faults = server.judge.faults(operation, answer);
      if (answer.status >= 400 || faults.length > 0) {
        refused.push(`${operation.id}: ${answer.status} ${answer.text.slice(0, 300)} ${faults.join(", ")}`);
      }
    }
    expect(refused).toEqual([]);
    expect(server.operations.length).toBeGreaterThan(25);
    expect(server.moves()).toBe(0);
  } finally {
    await server.close();
  }
});

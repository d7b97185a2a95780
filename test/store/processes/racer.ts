import { createClient } from "../../../client/index.js";
import { PreconditionFailedError } from "../../../src/documents/precondition-failed.js";

/**
 * One of several processes that race through a server: `racer.ts <url> <name> <rounds>`. It notes the revision of each
 * round's lease; when the document `go` appears, it tries in each round to create a claim, and to remove or to replace
 * the lease as it was, by two callers at once, and prints what it won.
 */

const [url = "", name = "", rounds = "0"] = process.argv.slice(2);

async function won(attempt: Promise<unknown>): Promise<boolean> {
  try {
    await attempt;
    return true;
  } catch (error) {
    if (error instanceof PreconditionFailedError) return false;
    throw error;
  }
}

async function main(): Promise<void> {
  const client = createClient({ url });
  const leases = new Map<string, number>();
  for await (const lease of client.scan("lease")) leases.set(lease.id, lease.revision);
  await client.put({ shape: "ready", id: name, set: {} });
  await client.waitFor("start", "go", { after: 0, timeout: 60 });

  const creates: number[] = [];
  const removals: number[] = [];
  const replacements: number[] = [];
  const create = async (round: number): Promise<void> => {
    const set = { by: name };
    const creating = client.put({ shape: "claim", id: `${round}`, set, if_match: { exists: false } });
    if (await won(creating)) creates.push(round);
  };
  const end = async (round: number, removes: boolean): Promise<void> => {
    const lease = { shape: "lease", id: `${round}`, if_match: { revision: leases.get(`${round}`) ?? 1 } };
    const ending = removes ? client.delete(lease) : client.put({ ...lease, set: { by: name } });
    if (await won(ending)) (removes ? removals : replacements).push(round);
  };
  const count = async (): Promise<void> => {
    for (;;) {
      const counter = await client.getDocument("counter", "shared");
      const n = Number(counter?.fields["n"] ?? 0) + 1;
      const if_match = counter === undefined ? { exists: false } : { revision: counter.revision };
      if (await won(client.put({ shape: "counter", id: "shared", set: { n }, if_match }))) return;
    }
  };
  for (let round = 0; round < Number(rounds); round++) {
    await Promise.all([create(round), create(round), end(round, true), end(round, false)]);
    if (round % 10 === 0) await count();
  }
  await client.close();
  process.stdout.write(`${JSON.stringify({ creates, removals, replacements })}\n`);
}

await main();

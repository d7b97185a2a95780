import assert from "node:assert/strict";
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describe, test } from "vitest";
import { openStore, repairFolder, verifyFolder } from "../../src/level/index.js";
import { runCli } from "../cli/command-line.js";
import { SeededRandom } from "../crash/seeded-random.js";
import { entriesOf, entryOf, filesOf, fillFolder, tamper } from "../store/filled-folder.js";
import { rejection } from "../store/rejection.js";
import { repairTrial, tryRepairs } from "./repair-trial.js";

const filledStore = fillFolder();

describe("repair", () => {
  test("gives nothing that was not true, and names what it could not give, whatever is damaged", async () => {
    const counts = await repairTrial.run(new SeededRandom(7));
    assert.ok((counts["repairs"] ?? 0) >= 15 && (counts["documents"] ?? 0) > 1000, JSON.stringify(counts));
    assert.ok((counts["lossless"] ?? 0) >= 3 && (counts["named_as_lost"] ?? 0) >= 1, JSON.stringify(counts));
  });

  test("damage at the end of a table, where its indexes are, is told with its file and loses nothing, wherever it is", async () => {
    const dataDir = await filledStore();
    await tamper(dataDir, (level) => level.compactRange(Buffer.from([0]), Buffer.from([255])));
    const { documents } = await verifyFolder({ dataDir });
    const [table] = (await filesOf(dataDir, ".ldb")).toSorted();
    assert.ok(table !== undefined && documents > 0);
    const bytes = await readFile(table);
    for (let back = 9; back < 220; back += 21) {
      const folder = `${dataDir}-${back}`;
      await cp(dataDir, folder, { recursive: true });
      const spoilt = Buffer.from(bytes);
      const place = bytes.length - back;
      spoilt.writeUInt8(spoilt.readUInt8(place) ^ 4, place);
      await writeFile(join(folder, basename(table)), spoilt);
      const found = await verifyFolder({ dataDir: folder });
      // Between its places and its magic number the footer is padded, and nothing reads that.
      if (!found.ok) assert.ok(found.problems[0]?.startsWith(`${basename(table)}: `), found.problems.join());
      assert.equal(found.documents, documents, `byte ${back} from the end`);
      const report = await repairFolder({ dataDir: folder, into: `${folder}-repaired` });
      assert.deepEqual([report.documents, report.lost_count, report.lost_stretches], [documents, 0, []]);
      // Neither has left its copy behind.
      const beside = await readdir(dirname(folder));
      assert.deepEqual(
        beside.filter((name) => /working|verifying/.test(name)),
        [],
      );
    }
  });

  test("a repair that keeps quiet, or gives something else, is found", async () => {
    await assert.rejects(
      tryRepairs(
        new SeededRandom(7),
        async (options) => ({
          ...(await repairFolder(options)),
          ok: true,
          lost: [],
          lost_stretches: [],
          missing_revisions: [],
        }),
        ["table-cut", "table-gone"],
      ),
      /not as it last was/,
    );
    // To say that something is wrong does not do where each loss can be named.
    for (const damage of ["table-bits", "document-bits"]) {
      await assert.rejects(
        tryRepairs(
          new SeededRandom(7),
          async (options) => ({
            ...(await repairFolder(options)),
            ok: false,
            problems: ["something is lost"],
            lost: [],
            lost_stretches: [],
            missing_revisions: [],
          }),
          [damage],
        ),
        /nothing names it/,
        damage,
      );
    }
    await assert.rejects(
      tryRepairs(
        new SeededRandom(7),
        async (options) => {
          const report = await repairFolder(options);
          const store = await openStore({ dataDir: options.into, sweep: false });
          await store.put({ shape: "note", id: "d1", set: { made: "up" } });
          await store.close();
          return report;
        },
        ["nothing"],
      ),
    );
  });

  test("a damaged document is taken from the log, and named as lost when the log has it no more", async () => {
    for (const withLog of [true, false]) {
      const dataDir = await filledStore();
      await tamper(dataDir, async (level) => {
        const [key, value] = entryOf(await entriesOf(level, "d"), 17);
        value.writeUInt8(value.readUInt8(value.length - 1) ^ 1, value.length - 1);
        await level.put(key, value);
        // Only the oldest may go without leaving a gap.
        if (!withLog) for (const [entry] of (await entriesOf(level, "l")).slice(0, 40)) await level.del(entry);
      });
      const into = `${dataDir}-repaired`;
      const report = await repairFolder({ dataDir, into });
      assert.deepEqual(
        [report.ok, report.documents, report.from_log, report.lost],
        withLog ? [true, 300, 1, []] : [false, 299, 0, [{ shape: "note", id: "d0017", reason: "damaged" }]],
      );
      const { documents } = await (async () => {
        const store = await openStore({ dataDir: into, sweep: false });
        const page = await store.list("note", { limit: 1000 });
        await store.close();
        return page;
      })();
      assert.equal(
        documents.some(({ id, fields }) => id === "d0017" && fields["n"] === 17),
        withLog,
      );
    }
  });

  test("the command says what is lost and ends with 1, or with 0 when nothing is", async () => {
    const dataDir = await filledStore();
    const whole = await runCli(["repair", "--data", dataDir, "--into", `${dataDir}-1`]);
    assert.equal(whole.code, 0, whole.stderr);
    assert.match(whole.stdout, /holds 300 documents .*\nnothing is known to be lost\n$/);
    await tamper(dataDir, async (level) => {
      const entries = await entriesOf(level, "l");
      await level.del(entryOf(entries, Math.floor(entries.length / 2))[0]);
    });
    const damaged = await runCli(["repair", "--data", dataDir, "--into", `${dataDir}-2`]);
    assert.equal(damaged.code, 1);
    assert.match(damaged.stdout, /^lost: what revisions \d+ to \d+ changed$/m);
    const json = await runCli(["repair", "--data", dataDir, "--into", `${dataDir}-3`, "--json"]);
    assert.equal((JSON.parse(json.stdout) as { ok: boolean }).ok, false);
  });

  test("neither works in place, nor over anything, nor on what a process has open, nor on what is not ours", async () => {
    const dataDir = await filledStore();
    await rejection(repairFolder({ dataDir, into: dataDir }), "invalid_request");
    await rejection(repairFolder({ dataDir, into: join(dataDir, "inside") }), "invalid_request");
    const taken = `${dataDir}-taken`;
    await mkdir(taken);
    await writeFile(join(taken, "mine"), "precious");
    await rejection(repairFolder({ dataDir, into: taken }), "store_unwritable");
    await rejection(repairFolder({ dataDir: `${dataDir}-nowhere`, into: `${dataDir}-new` }), "store_unwritable");
    const foreign = `${dataDir}-foreign`;
    await tamper(foreign, (level) => level.put(Buffer.from("key"), Buffer.from("value")));
    await rejection(repairFolder({ dataDir: foreign, into: `${dataDir}-new` }), "store_format");
    if (process.platform !== "linux") return console.warn("SKIPPED: only Linux tells who holds a lock");
    const store = await openStore({ dataDir });
    await rejection(repairFolder({ dataDir, into: `${dataDir}-new` }), "store_locked");
    await store.close();
  });
});

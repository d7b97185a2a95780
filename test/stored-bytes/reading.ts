import { cp, readFile, rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { OnceKvError } from "../../src/base/errors.js";
import { type EmbeddedStore, openStore, verifyFolder } from "../../src/level/index.js";
import { ManualClock } from "../../src/testing/index.js";
import { type Filled, filledAt, shape } from "./filled-store.js";

/*
 * A process of its own that opens damaged folders and reads everything: LevelDB runs in it as native code, and what a
 * damaged file makes of that must not take the tests along. It gets a folder a line, and answers with a line.
 */

/** What a reader has found in a folder. */
export interface Reading {
  /** Our error at opening; absent: it opened. */
  readonly refused?: { readonly code: string; readonly message: string };
  readonly right: number;
  /** Documents whose reading gave an error of ours. */
  readonly errors: number;
  /** Documents that were not there, or as they were before. */
  readonly missing: readonly string[];
  readonly wrong: readonly string[];
  /** Errors that were not ours. */
  readonly foreign: readonly string[];
  /** Whether reading, or `verify` of the open store, found something. */
  readonly isFound: boolean;
  /** Whether `verify` of the folder, as it was before anybody opened it, found something; absent: it had not to. */
  readonly isFoundInFolder?: boolean;
  readonly revision: number;
}

async function read(dataDir: string, documents: readonly Filled[]): Promise<Reading> {
  const reading = { right: 0, errors: 0, missing: [] as string[], wrong: [] as string[], foreign: [] as string[] };
  const fails = (error: unknown): void => {
    if (error instanceof OnceKvError) reading.errors += 1;
    else reading.foreign.push(String((error as Error).stack));
  };
  let store: EmbeddedStore;
  try {
    store = await openStore({ dataDir, clock: new ManualClock(filledAt), sweep: false });
  } catch (error) {
    const ours = error instanceof OnceKvError;
    if (!ours) fails(error);
    const refused = ours ? { code: error.code, message: error.message } : { code: "", message: String(error) };
    return { ...reading, refused, isFound: true, revision: 0 };
  }
  const expected = new Map(documents.map((document) => [document.id, document]));
  const look = (id: string, fields: unknown, revision: number | undefined): void => {
    const right = expected.get(id);
    if (right === undefined) reading.wrong.push(`${id} never was`);
    else if (fields === undefined) reading.missing.push(id);
    else if (JSON.stringify(fields) === JSON.stringify(right.fields)) reading.right += 1;
    // A value that once was right is an older state, whose newer one is missing.
    else if (revision !== undefined && revision < right.revision && id.startsWith("d0-")) reading.missing.push(id);
    else reading.wrong.push(`${id}: ${JSON.stringify(fields)}`);
  };
  for (const { id } of documents) {
    try {
      const document = await store.getDocument(shape, id);
      look(id, document?.fields, document?.revision);
    } catch (error) {
      fails(error);
    }
  }
  try {
    for await (const { id, fields, revision } of store.scan(shape)) look(id, fields, revision);
  } catch (error) {
    fails(error);
  }
  try {
    const until = store.revision;
    const { oldest_revision: since } = store.stats();
    let seen = since;
    if (until > since) {
      for await (const { revision, changes } of store.watch({ since })) {
        if (revision !== seen + 1) reading.wrong.push(`watching went from ${seen} to ${revision}`);
        seen = revision;
        if (changes.length !== 1) reading.wrong.push(`a commit of ${changes.length} changes`);
        if (revision >= until) break;
      }
    }
  } catch (error) {
    fails(error);
  }
  let isFound = false;
  try {
    isFound = !(await store.verify()).ok;
  } catch (error) {
    fails(error);
    isFound = true;
  }
  const { revision } = store;
  await store.close().catch(fails);
  return { ...reading, isFound: isFound || reading.errors > 0, revision };
}

/** The same, and what `verify` says of the folder where documents are missing and the open store tells nothing. */
async function readAndVerify(dataDir: string, documents: readonly Filled[]): Promise<Reading> {
  // Opening a store changes its folder: LevelDB writes its log into tables, and may compact them.
  const untouched = `${dataDir}-untouched`;
  await cp(dataDir, untouched, { recursive: true });
  try {
    const reading = await read(dataDir, documents);
    if (reading.missing.length === 0 || reading.isFound) return reading;
    const isFoundInFolder = await verifyFolder({ dataDir: untouched }).then(
      ({ ok }) => !ok,
      (error: unknown) => error instanceof OnceKvError,
    );
    return { ...reading, isFoundInFolder };
  } finally {
    await rm(untouched, { recursive: true });
  }
}

const documents = JSON.parse(await readFile(process.argv[2] ?? "", "utf8")) as Filled[];
for await (const dataDir of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await readAndVerify(dataDir, documents))}\n`);
}

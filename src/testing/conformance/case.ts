import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { DocumentStore } from "../../documents/contract.js";

/** What `open` gives for one case. */
export interface Subject {
  readonly store: DocumentStore;
  /** Moves the store's time on by whole milliseconds, timers included. Absent: the store follows the real clock. */
  readonly advance?: (ms: number) => Promise<void> | void;
  /** Ends this subject after its case. Absent: `store.close()` does. */
  readonly close?: () => Promise<void> | void;
}

/** The caller's test runner: registers a test by its name, as `test` of vitest, node:test and tape do. */
export type TestFunction = (name: string, body: () => Promise<void>) => unknown;

/** Gives a store for one case. Stores of several cases may share their data, but closing one must not close another. */
export type OpenSubject = () => Promise<Subject> | Subject;

/** What the body of a case works with. */
export interface Case {
  readonly store: DocumentStore;
  /** A shape that nothing else has used, so that cases may share one store. */
  readonly shape: string;
  /** One more such shape. */
  freshShape(): string;
  /** Whether time stands still unless the case moves it; only then can a case look at a single millisecond. */
  readonly exactTime: boolean;
  /** Lets `ms` milliseconds pass for the store. */
  pass(ms: number): Promise<void>;
  /** Lets time pass in steps until the promise settles: a remote store may begin to wait only after a while. */
  settle<T>(promise: Promise<T>, stepMs?: number): Promise<T>;
}

/** Registers one case of the suite. */
export type Register = (name: string, body: (subject: Case) => Promise<void>) => void;

/** Real milliseconds after which something that should happen at once has failed. A failing test must not hang. */
const soonMs = 10_000;

/** Awaits something that needs no time of the store to pass. */
export async function soon<T>(promise: Promise<T>, what = "the call"): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new assert.AssertionError({ message: `${what} did not settle` })), soonMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether a promise is still pending after the requests that are under way had time to be answered. */
export async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const settled = promise.then(
    () => false,
    () => false,
  );
  return await Promise.race([settled, sleep(30, true)]);
}

/** Makes the function that registers cases with the caller's runner, each with a store of its own from `open`. */
export function registerWith(test: TestFunction, open: OpenSubject): Register {
  return (name, body) => {
    test(name, async () => {
      const subject = await open();
      try {
        await body(caseOf(subject));
      } finally {
        if (subject.close === undefined) await subject.store.close();
        else await subject.close();
      }
    });
  };
}

/** Shape names are drawn at random, so that a store that outlives the process can be used again. */
function freshShape(): string {
  return `case-${randomBytes(8).toString("hex")}`;
}

function caseOf(subject: Subject): Case {
  const { advance } = subject;
  const pass = async (ms: number): Promise<void> => {
    if (advance === undefined) await sleep(ms);
    else await advance(ms);
  };
  return {
    store: subject.store,
    shape: freshShape(),
    freshShape,
    exactTime: advance !== undefined,
    pass,
    async settle<T>(promise: Promise<T>, stepMs = 100): Promise<T> {
      for (let step = 0; step < 200; step++) {
        if (!(await isPending(promise))) return await promise;
        await pass(stepMs);
      }
      assert.fail("the call did not settle, though time went on");
    },
  };
}

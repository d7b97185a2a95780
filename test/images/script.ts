import type { BatchOperation, Condition, Fields } from "../../src/documents/contract.js";
import type { SeededRandom } from "../crash/seeded-random.js";
import { Model, type ModelDocument, type Outcome } from "../store/model.js";

/** The shape of all documents here. */
export const shape = "note";

/** The longest time to live that a script gives, in milliseconds. */
export const ttlMsMax = 4_000_000;

/** One write, with what the contract says of it where nothing fails. */
export interface Call {
  readonly operations: readonly BatchOperation[];
  readonly writeId: string | undefined;
  readonly expected: Outcome;
  /** Whether it repeats a write that came before, under the same write id. */
  readonly isRepetition: boolean;
  /** When the model's answer was made, in milliseconds since 1970. */
  readonly at: number;
}

export type Step =
  | { readonly kind: "writes"; readonly calls: readonly Call[] }
  | { readonly kind: "advance"; readonly ms: number }
  | { readonly kind: "sweep" | "reopen" | "backup" };

/** Documents by id. */
export type State = ReadonlyMap<string, ModelDocument>;

/** What a store goes through, and everything that it may show afterwards. */
export interface Script {
  readonly steps: readonly Step[];
  readonly model: Model;
  /** The documents as each revision left them, those included that have expired since. */
  readonly states: ReadonlyMap<number, State>;
  /** The store's now when each revision was made. */
  readonly times: ReadonlyMap<number, number>;
}

const ids = ["a", "b", "c", "d", "e", "f", "é"];

/** Writes a script of so many steps for a store that begins empty at `now`. */
export function writeScript(random: SeededRandom, length: number, now: number): Script {
  return new Writer(random, now).write(length);
}

class Writer {
  readonly #random: SeededRandom;
  readonly #model: Model;
  readonly #states = new Map<number, State>([[0, new Map()]]);
  readonly #times = new Map<number, number>();
  readonly #repeatable: Call[] = [];
  #number = 0;

  constructor(random: SeededRandom, now: number) {
    this.#random = random;
    this.#model = new Model(0, now);
  }

  write(length: number): Script {
    const steps: Step[] = [];
    for (let number = 0; number < length; number++) steps.push(...this.#steps());
    return { steps, model: this.#model, states: this.#states, times: this.#times };
  }

  #steps(): Step[] {
    const kind = this.#random.below(20);
    if (kind < 13) return [{ kind: "writes", calls: this.#calls() }];
    if (kind < 16) return [this.#advance(this.#one([1, 99, 1000, 1500, 2500, 70_000]))];
    // The sweeper comes at the end of each tenth of a second; there the store and the model must agree.
    if (kind < 18) {
      const advance = this.#advance((100 - (this.#model.now % 100)) % 100);
      this.#model.sweep();
      this.#note();
      return [advance, { kind: "sweep" }];
    }
    return [{ kind: kind < 19 ? "reopen" : "backup" }];
  }

  #advance(ms: number): Step {
    this.#model.now += ms;
    return { kind: "advance", ms };
  }

  #calls(): Call[] {
    return Array.from({ length: 1 + this.#random.below(4) }, () => {
      const repeated = this.#repeatable[this.#random.below(this.#repeatable.length * 6)];
      // Not what the model has forgotten: a store forgets write ids after ten minutes.
      if (repeated !== undefined && this.#model.now - repeated.at < 500_000) {
        return { ...repeated, isRepetition: true };
      }
      return this.#call();
    });
  }

  #call(): Call {
    const size = this.#random.below(3) === 0 ? 1 + this.#random.below(4) : 1;
    const chosen = new Set(Array.from({ length: size }, () => this.#one(ids)));
    const operations = [...chosen].map((id) => this.#operation(id));
    const writeId = this.#random.below(2) === 0 ? undefined : `w${this.#number}`;
    const expected = this.#model.write(operations);
    if (expected.ok && expected.changed) this.#note();
    const call = { operations, writeId, expected, isRepetition: false, at: this.#model.now };
    if (writeId !== undefined && expected.ok) this.#repeatable.push(call);
    return call;
  }

  #operation(id: string): BatchOperation {
    this.#number += 1;
    // The number makes every write one of its own; the text makes some of them large.
    const fields: Fields = { n: this.#number, text: "x".repeat(this.#one([0, 0, 10, 3000])) };
    const if_match = this.#condition(id);
    const about = { shape, id, ...(if_match === undefined ? {} : { if_match }) };
    const ttl = this.#one([undefined, undefined, null, 0.001, 1, 2, 60, ttlMsMax / 1000]);
    const life = ttl === undefined ? {} : { ttl };
    const kind = this.#random.below(10);
    if (kind < 5) return { op: "put", ...about, ...life, set: fields };
    if (kind < 8) return { op: "patch", ...about, ...life, merge: fields };
    if (kind < 9) return { op: "delete", ...about };
    return { op: "check", shape, id, if_match: if_match ?? { exists: true } };
  }

  #condition(id: string): Condition | undefined {
    const document = this.#model.get(id);
    switch (this.#random.below(6)) {
      case 0:
        return { exists: document !== undefined };
      case 1:
        return { exists: document === undefined };
      case 2:
        return { revision: document?.revision ?? 1 };
      case 3:
        return document === undefined ? undefined : { fields: { n: document.fields["n"] ?? 0 } };
      default:
        return undefined;
    }
  }

  /** Remembers what the newest revision has left. */
  #note(): void {
    const { revision, now } = this.#model;
    const state = new Map<string, ModelDocument>();
    for (const id of this.#model.ids()) {
      const document = this.#model.get(id);
      if (document !== undefined) state.set(id, document);
    }
    this.#states.set(revision, state);
    if (!this.#times.has(revision)) this.#times.set(revision, now);
  }

  #one<T>(values: readonly T[]): T {
    return values[this.#random.below(values.length)] as T;
  }
}

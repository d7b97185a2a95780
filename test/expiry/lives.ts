import assert from "node:assert/strict";
import type { Commit } from "../../src/documents/contract.js";

/** The lives of documents as a watcher is told of them. Throws at whatever cannot be a life. */
export class Lives {
  /** The newest commit. */
  revision = 0;
  /** Lives that have ended by their deadlines. */
  ended = 0;
  readonly #living = new Map<string, number>();

  add(commit: Commit): void {
    assert.ok(commit.revision > this.revision, `revision ${commit.revision} comes after ${this.revision}`);
    this.revision = commit.revision;
    for (const { type, id, document } of commit.changes) {
      const about = `${type} of ${id} at revision ${commit.revision}`;
      const began = this.#living.get(id);
      if (type === "put") {
        assert.equal(document?.created_revision, began ?? commit.revision, about);
        this.#living.set(id, began ?? commit.revision);
      } else {
        assert.notEqual(began, undefined, `${about}, which does not live`);
        this.#living.delete(id);
        if (type === "expire") this.ended += 1;
      }
    }
  }
}

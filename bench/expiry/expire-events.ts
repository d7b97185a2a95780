import type { Commit } from "../../src/documents/contract.js";
import { WrongResultError } from "../checks.js";
import { numberedId } from "../numbered-documents.js";

/** The id of a document that expires: what a watcher is told of an expiry is no more than this. */
export function expiringId(number: number): string {
  return `${numberedId(number)}-${number}`;
}

/**
 * Reads expiries from a watch until each of the documents has had its one, and checks that none comes twice, that
 * nothing else happens to them, and that the commits come in order.
 *
 * @param commits of the documents with the numbers from 0 up to but not including `count`, and of no others
 * @param onExpiry hears of each as it comes
 * @throws WrongResultError, also when the watch ends or its time is over before, and what else the watch throws
 */
export async function followExpiries(
  commits: AsyncIterable<Commit>,
  count: number,
  onExpiry: (number: number) => void = () => {},
): Promise<void> {
  const expiries = new Expiries(count);
  try {
    for await (const commit of commits) {
      for (const number of expiries.take(commit)) onExpiry(number);
      if (expiries.left === 0) return;
    }
  } catch (error) {
    if ((error as Error).name !== "TimeoutError") throw error;
  }
  throw new WrongResultError(`the watch ended, or took too long, before ${expiries.left} of ${count} expiries`);
}

/** Which documents have expired. */
class Expiries {
  readonly #heard: Uint8Array;
  #newest = 0;
  left: number;

  constructor(count: number) {
    this.#heard = new Uint8Array(count);
    this.left = count;
  }

  /** The numbers of the documents that expired with this commit. */
  take({ revision, changes }: Commit): readonly number[] {
    // A bookmark may name the revision of the commit before it.
    if (revision < this.#newest || (revision === this.#newest && changes.length > 0)) {
      throw new WrongResultError(`the watch showed revision ${revision} after revision ${this.#newest}`);
    }
    this.#newest = revision;
    return changes.map(({ type, id, document }) => {
      const number = Number(id.slice(id.lastIndexOf("-") + 1));
      if (type !== "expire" || document !== null || id !== expiringId(number) || this.#heard[number] === undefined) {
        throw new WrongResultError(`the watch showed a ${type} of ${id} where only expiries were to come`);
      }
      if (this.#heard[number] === 1) throw new WrongResultError(`the watch showed the expiry of ${id} twice`);
      this.#heard[number] = 1;
      this.left -= 1;
      return number;
    });
  }
}

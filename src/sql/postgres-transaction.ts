import { InvalidRequestError, OutcomeUnknownError } from "../base/errors.js";
import type { PostgresClient } from "./postgres-client.js";
import { noActiveTransaction, noSuchSavepoint, sqlStateOf, surelyNotCommitted } from "./postgres-errors.js";
import { endedByWork } from "./stored-call.js";

/** What is done together or not at all: a transaction of its own, or a part of the one that its caller has begun. */
export interface Scope {
  /** Whether it was begun here. What is a part of another transaction cannot be tried again alone. */
  readonly isOwn: boolean;
  /**
   * @throws OutcomeUnknownError when the answer was lost; what the client throws when it has certainly not happened
   */
  commit(): Promise<void>;
  /** Never throws. @returns false when the connection is of no more use */
  rollback(): Promise<boolean>;
}

/** How far transactions are kept apart; absent: as the connection has it. */
export type IsolationLevel = (typeof isolationLevels)[number];
export const isolationLevels = ["read committed", "repeatable read", "serializable"] as const;

/** The latest savepoint of a name is meant, so that calls within calls need no names of their own. */
const savepoint = "oncekv_call";

export async function beginTransaction(client: PostgresClient, isolation: IsolationLevel | undefined): Promise<Scope> {
  await client.query(isolation === undefined ? "BEGIN" : `BEGIN ISOLATION LEVEL ${isolation.toUpperCase()}`);
  return {
    isOwn: true,
    commit: () => commit(client),
    rollback: () => succeeds(() => client.query("ROLLBACK")),
  };
}

/**
 * Joins the transaction that the connection is in, as a part that can be rolled back alone.
 *
 * @returns undefined when the connection is in no transaction
 */
export async function joinTransaction(client: PostgresClient): Promise<Scope | undefined> {
  try {
    await client.query(`SAVEPOINT ${savepoint}`);
  } catch (error) {
    if (sqlStateOf(error) === noActiveTransaction) return undefined;
    throw error;
  }
  return {
    isOwn: false,
    commit: () => release(client),
    rollback: () =>
      succeeds(async () => {
        await client.query(`ROLLBACK TO SAVEPOINT ${savepoint}`);
        await client.query(`RELEASE SAVEPOINT ${savepoint}`);
      }),
  };
}

async function commit(client: PostgresClient): Promise<void> {
  let command: string | undefined;
  try {
    ({ command } = await client.query("COMMIT"));
  } catch (error) {
    if (surelyNotCommitted(error)) throw error;
    throw new OutcomeUnknownError(
      "the answer to COMMIT was lost: call again with the same key, which replays what was committed, or does it now",
      { cause: error },
    );
  }
  // A commit of a transaction that has failed is answered, without an error, by its rollback.
  if (command === "ROLLBACK") {
    throw new InvalidRequestError("work", "left a statement running that failed: await each; nothing was committed");
  }
}

async function release(client: PostgresClient): Promise<void> {
  try {
    await client.query(`RELEASE SAVEPOINT ${savepoint}`);
  } catch (error) {
    const state = sqlStateOf(error);
    if (state === noSuchSavepoint || state === noActiveTransaction) throw endedByWork({ cause: error });
    throw error;
  }
}

async function succeeds(action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch {
    return false;
  }
}

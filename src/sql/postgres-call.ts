import { InvalidRequestError, OutcomeUnknownError } from "../base/errors.js";
import type { PostgresClient, PostgresPool } from "./postgres-client.js";
import { lostToAnother } from "./postgres-errors.js";
import { claimRow, completeRow } from "./postgres-row.js";
import { beginTransaction, type IsolationLevel, joinTransaction, type Scope } from "./postgres-transaction.js";
import type { PreparedTransactionCall, TransactionCall, TransactionOutcome } from "./request.js";
import { encodeResult, replayOf } from "./stored-call.js";
import { Turn } from "./turn.js";

/** A call in PostgreSQL that was judged. */
export interface PreparedPostgresCall extends PreparedTransactionCall {
  readonly waitMs: number;
  readonly isolationLevel: IsolationLevel | undefined;
  readonly attempts: number;
}

export type PostgresWork = (client: PostgresClient, call: TransactionCall) => unknown;

/** What an attempt came to. A connection that is not usable is given to nobody else. */
type Ended = { readonly usable: boolean } & (
  | { readonly outcome: TransactionOutcome<unknown> }
  | { readonly error: unknown; readonly again: boolean }
);

/** Makes a call on a connection of the pool, which has it back afterwards. */
export async function callOnPool(
  pool: PostgresPool,
  call: PreparedPostgresCall,
  work: PostgresWork,
): Promise<TransactionOutcome<unknown>> {
  const client = await pool.connect();
  // A connection that breaks says so in an event as well, and Node ends a process in which nobody listens.
  const ignore = (): void => {};
  client.on("error", ignore);
  let usable = false;
  try {
    const ended = await attemptAll(client, call, work, () => beginTransaction(client, call.isolationLevel));
    ({ usable } = ended);
    return outcomeOf(ended);
  } finally {
    client.removeListener("error", ignore);
    client.release(!usable);
  }
}

/** Makes a call on a connection of the caller's: within the transaction that it is in, or else in one of its own. */
export async function callOnClient(
  client: PostgresClient,
  call: PreparedPostgresCall,
  work: PostgresWork,
): Promise<TransactionOutcome<unknown>> {
  const ended = await attemptAll(client, call, work, async (turn) => {
    // Whether it is in a transaction is known to the server alone.
    const joined = await joinTransaction(client);
    if (joined === undefined) {
      if (turn.isNested) {
        throw new InvalidRequestError(
          "database",
          "the work of the outer call has ended the transaction that this one is in",
        );
      }
      return beginTransaction(client, call.isolationLevel);
    }
    if (call.isolationLevel === undefined) return joined;
    await joined.rollback();
    throw new InvalidRequestError("isolationLevel", "cannot be set within a transaction that has begun");
  });
  return outcomeOf(ended);
}

async function attemptAll(
  client: PostgresClient,
  call: PreparedPostgresCall,
  work: PostgresWork,
  open: (turn: Turn) => Promise<Scope>,
): Promise<Ended> {
  const turn = Turn.begin(client, `${call.table} ${call.key}`);
  try {
    for (let attempt = 1; ; attempt++) {
      const scope = await open(turn);
      const ended = await attemptIn(scope, client, turn, call, (told) => work(client, told), attempt);
      // At once: what was in the way has committed or was rolled back, so that it does not stand in the way again.
      if (!("error" in ended && ended.again && attempt < call.attempts)) return ended;
    }
  } finally {
    turn.end();
  }
}

async function attemptIn(
  scope: Scope,
  client: PostgresClient,
  turn: Turn,
  call: PreparedPostgresCall,
  work: (told: TransactionCall) => unknown,
  attempt: number,
): Promise<Ended> {
  const { key } = call;
  let outcome: TransactionOutcome<unknown>;
  try {
    const claim = await claimRow(client, call, call.waitMs);
    if ("found" in claim) {
      outcome = replayOf(claim.found, call, turn.isWithinItself);
      // There is nothing to commit, and so nothing that could be in doubt.
      return { usable: await scope.rollback(), outcome };
    }
    const returned = await turn.run(async () => work({ key, attempt }));
    const { text, value } = encodeResult(returned);
    await completeRow(client, call, claim.claimed, text);
    outcome = { result: value, was_replay: false, original_called_at: claim.claimed.called_at, key };
  } catch (error) {
    return failed(error, scope, await scope.rollback());
  }
  try {
    await scope.commit();
  } catch (error) {
    return failed(error, scope, !(error instanceof OutcomeUnknownError));
  }
  return { usable: true, outcome };
}

/** Only what is surely rolled back, and whole, may be tried again. */
function failed(error: unknown, scope: Scope, usable: boolean): Ended {
  return { usable, error, again: usable && scope.isOwn && lostToAnother(error) };
}

function outcomeOf(ended: Ended): TransactionOutcome<unknown> {
  if ("error" in ended) throw ended.error;
  return ended.outcome;
}

/*
 * Decides whether a history is linearizable: whether its operations can be put in one order that the model allows and in which
 * no operation comes before one that had ended when it began. The search is that of Wing and Gong, with Lowe's memory: a set of
 * operations that were put in order, together with the states it can lead to, is tried once.
 */

/** What a store may do. A state is a value; operations lead to new ones. */
export interface Model<State, Input, Output> {
  readonly initial: State;
  /**
   * The states that an operation may lead to, given what was answered; none: the answer is impossible here.
   *
   * @param output undefined: nobody knows what was answered. Then only what follows when it took effect: that it had none
   * is the same as that it never came
   */
  step(state: State, input: Input, output: Output | undefined): readonly State[];
  /** Equal texts mean equal states. */
  textOf(state: State): string;
}

/** One operation of one client. Instants are of one clock for all clients. */
export interface Operation<Input, Output> {
  readonly input: Input;
  /** undefined: unknown. It may take effect at any instant after it was called, or never. */
  readonly output: Output | undefined;
  readonly called: bigint;
  /** undefined where the output is. */
  readonly returned: bigint | undefined;
}

/** What the search came to. */
export type Verdict<Input, Output> =
  | { readonly linearizable: true }
  | {
      readonly linearizable: false;
      /** The longest order that was found, and the operations that could not follow it. */
      readonly order: readonly Operation<Input, Output>[];
      readonly stuck: readonly Operation<Input, Output>[];
    }
  /** Neither was found within the bound. */
  | { readonly linearizable: undefined };

/** One end of an operation, in the list of what has not been put in order. */
interface End {
  readonly operation: number;
  readonly isCall: boolean;
  before: End | undefined;
  after: End | undefined;
}

interface Step<State> {
  readonly call: End;
  readonly states: readonly State[];
}

/**
 * Judges a history.
 *
 * @param stepsMax the bound of the search, in steps of the model
 */
export function checkLinearizable<State, Input, Output>(
  model: Model<State, Input, Output>,
  history: readonly Operation<Input, Output>[],
  stepsMax = 5_000_000,
): Verdict<Input, Output> {
  const { head, returns } = listOf(history);
  const tried = new Set<string>();
  const chosen = new Uint8Array(Math.ceil(history.length / 8));
  const path: Step<State>[] = [];
  let states: readonly State[] = [model.initial];
  let longest: readonly Step<State>[] = [];
  let known = history.filter(({ output }) => output !== undefined).length;
  let steps = 0;
  let end = head.after;
  while (known > 0) {
    if (end?.isCall) {
      steps += 1;
      if (steps > stepsMax) return { linearizable: undefined };
      const next = statesAfter(model, states, operationAt(history, end));
      flip(chosen, end.operation);
      const isNew = next.length > 0 && remember(tried, chosen, model, next);
      if (!isNew) {
        flip(chosen, end.operation);
        end = end.after;
        continue;
      }
      path.push({ call: end, states });
      states = next;
      if (operationAt(history, end).output !== undefined) known -= 1;
      takeOut(end, returns[end.operation]);
      if (path.length > longest.length) longest = [...path];
      end = head.after;
      continue;
    }
    // An operation ends here that has not been put in order, or nothing is left to try: the last choice was wrong.
    const last = path.pop();
    if (last === undefined) return refused(history, longest);
    states = last.states;
    flip(chosen, last.call.operation);
    if (operationAt(history, last.call).output !== undefined) known += 1;
    putBack(last.call, returns[last.call.operation]);
    end = last.call.after;
  }
  return { linearizable: true };
}

function refused<State, Input, Output>(
  history: readonly Operation<Input, Output>[],
  longest: readonly Step<State>[],
): Verdict<Input, Output> {
  const ordered = new Set(longest.map(({ call }) => call.operation));
  return {
    linearizable: false,
    order: longest.map(({ call }) => operationAt(history, call)),
    stuck: history.filter((operation, index) => !ordered.has(index) && operation.output !== undefined),
  };
}

function statesAfter<State, Input, Output>(
  model: Model<State, Input, Output>,
  states: readonly State[],
  { input, output }: Operation<Input, Output>,
): readonly State[] {
  const next = new Map<string, State>();
  for (const state of states) {
    for (const each of model.step(state, input, output)) next.set(model.textOf(each), each);
  }
  return [...next.values()];
}

function remember<State, Input, Output>(
  tried: Set<string>,
  chosen: Uint8Array,
  model: Model<State, Input, Output>,
  states: readonly State[],
): boolean {
  const text = `${Buffer.from(chosen).toString("latin1")}|${states
    .map((state) => model.textOf(state))
    .sort()
    .join("|")}`;
  if (tried.has(text)) return false;
  tried.add(text);
  return true;
}

/** All ends in the order of time. At one instant calls come first: that leaves the more freedom. */
function listOf(history: readonly Operation<unknown, unknown>[]): {
  readonly head: End;
  readonly returns: readonly (End | undefined)[];
} {
  const timed: { readonly end: End; readonly at: bigint }[] = [];
  const returns: (End | undefined)[] = [];
  for (const [operation, { called, returned }] of history.entries()) {
    const call: End = { operation, isCall: true, before: undefined, after: undefined };
    timed.push({ end: call, at: called });
    if (returned === undefined) {
      returns.push(undefined);
      continue;
    }
    const end: End = { operation, isCall: false, before: undefined, after: undefined };
    returns.push(end);
    timed.push({ end, at: returned });
  }
  timed.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : Number(b.end.isCall) - Number(a.end.isCall)));
  const head: End = { operation: -1, isCall: false, before: undefined, after: undefined };
  let last = head;
  for (const { end } of timed) {
    last.after = end;
    end.before = last;
    last = end;
  }
  return { head, returns };
}

function takeOut(...ends: readonly (End | undefined)[]): void {
  for (const end of ends) {
    if (end === undefined) continue;
    if (end.before !== undefined) end.before.after = end.after;
    if (end.after !== undefined) end.after.before = end.before;
  }
}

/** In the opposite order of taking out, so that each finds its neighbours as it left them. */
function putBack(...ends: readonly (End | undefined)[]): void {
  for (const end of [...ends].reverse()) {
    if (end === undefined) continue;
    if (end.before !== undefined) end.before.after = end;
    if (end.after !== undefined) end.after.before = end;
  }
}

function operationAt<Input, Output>(
  history: readonly Operation<Input, Output>[],
  { operation }: End,
): Operation<Input, Output> {
  const found = history[operation];
  if (found === undefined) throw new Error(`there is no operation ${operation}`);
  return found;
}

function flip(bits: Uint8Array, index: number): void {
  const byte = index >> 3;
  bits[byte] = (bits[byte] ?? 0) ^ (1 << (index & 7));
}

/** A move of the clock. Before `begun` it surely showed less than `now`, from `ended` on surely `now`. */
interface ClockMove {
  readonly now: number;
  readonly begun: bigint;
  readonly ended: bigint;
}

/** What the server's clock, which only messages move, can have shown at an instant of the machine's monotonic clock. */
export class ServerClock {
  #wall: number = Date.UTC(2026, 0, 1);
  #moves: ClockMove[] = [];

  /** What it shows now. */
  get wall(): number {
    return this.#wall;
  }

  /**
   * It was moved, or opened anew.
   *
   * @param wall where to
   * @param told what the server says that it shows
   * @param begun when the server was told to
   */
  moved(wall: number, told: number, begun: bigint): void {
    if (told !== wall) throw new Error(`the server's clock shows ${told} and not ${wall}`);
    this.#wall = wall;
    this.#moves.push({ now: wall, begun, ended: process.hrtime.bigint() });
  }

  /** Nobody asks for an instant that is over any more. */
  forget(): void {
    this.#moves = this.#moves.slice(-1);
  }

  earliestAt(instant: bigint): number {
    return Math.max(...this.#moves.filter(({ ended }) => ended <= instant).map(({ now }) => now));
  }

  latestAt(instant: bigint): number {
    return Math.max(...this.#moves.filter(({ begun }) => begun <= instant).map(({ now }) => now));
  }
}

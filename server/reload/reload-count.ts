/** How often files that are read again when they change were refused, and whether they are now. */
export interface ReloadState {
  /** What is in the files, for a label: "tokens". */
  readonly files: string;
  /** Whether the newest content of the files is refused, and an older one in use. */
  readonly isRefused: boolean;
  /** Refusals since the start, each content once. */
  readonly refusals: number;
}

/** Counts the refusals of one server's files, for its metrics. */
export class ReloadCount {
  readonly #states = new Map<string, ReloadState>();

  /** Takes note of files that are watched from now on. */
  follow(files: string): void {
    this.#states.set(files, { files, isRefused: false, refusals: 0 });
  }

  refused(files: string): void {
    const refusals = (this.#states.get(files)?.refusals ?? 0) + 1;
    this.#states.set(files, { files, isRefused: true, refusals });
  }

  /** The files were read, and what they hold is in use. */
  accepted(files: string): void {
    const refusals = this.#states.get(files)?.refusals ?? 0;
    this.#states.set(files, { files, isRefused: false, refusals });
  }

  states(): readonly ReloadState[] {
    return [...this.#states.values()];
  }
}

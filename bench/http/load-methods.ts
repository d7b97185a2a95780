import { ScatteredIds } from "../claim-documents.js";
import { LoadGenerator, type LoadPlan, type LoadRound, type LoadTarget } from "./load-generator.js";

/** An error as a result: on its way to another process it would lose its class. */
export interface WrongAnswer {
  readonly wrong: string;
}

/** The load of several servers, each of which is opened, loaded in any number of rounds, and closed by its name. */
export class LoadMethods {
  readonly #generators = new Map<string, LoadGenerator>();
  /** By the server's address: each server gets the same ones, and none of them twice. */
  readonly #ids = new Map<string, ScatteredIds>();

  async open({ name, target }: { readonly name: string; readonly target: LoadTarget }): Promise<void> {
    const ids = this.#ids.get(target.url) ?? new ScatteredIds();
    this.#ids.set(target.url, ids);
    this.#generators.set(name, await LoadGenerator.connect(target, ids));
  }

  async run({ name, plan }: { readonly name: string; readonly plan: LoadPlan }): Promise<LoadRound | WrongAnswer> {
    const generator = this.#generators.get(name);
    if (generator === undefined) throw new Error(`no connections to ${name} are open`);
    try {
      return await generator.run(plan);
    } catch (error) {
      return { wrong: error instanceof Error ? error.message : String(error) };
    }
  }

  close({ name }: { readonly name: string }): void {
    this.#generators.get(name)?.close();
    this.#generators.delete(name);
  }

  /** Closes them all. */
  end(): void {
    for (const generator of this.#generators.values()) generator.close();
    this.#generators.clear();
  }
}

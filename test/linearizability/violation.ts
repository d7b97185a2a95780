/**
 * What judged a history:
 *
 * - `watch`: what watchers received: each commit once, in order, whole, by both in the same way
 * - `commits`: which write made which commit
 * - `order`: what was told before an operation began holds for it, in all processes
 * - `walk`: a list over its pages, and what is watched from it on
 * - `search`: the search for an order that the model allows
 */
export type Rule = "watch" | "commits" | "order" | "walk" | "search";

/** A history that the contract does not allow. */
export class Violation extends Error {
  readonly rule: Rule;

  constructor(rule: Rule, message: string) {
    super(`${rule}: ${message}`);
    this.name = "Violation";
    this.rule = rule;
  }
}

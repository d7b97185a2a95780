import { describe, expect, it } from "vitest";
import { type ClassifiableTool, classify } from "../../src/tools/index.js";
import { wordsOf } from "../../src/tools/tool-name.js";

const isGuarded = (tool: ClassifiableTool) => classify(tool).sideEffect;

describe("a tool's name", () => {
  it("gives it away by any of the ten verbs, in every spelling", () => {
    const verbs = "send create charge post write publish transfer delete update notify".split(" ");
    for (const verb of verbs) {
      const capital = `${verb.charAt(0).toUpperCase()}${verb.slice(1)}`;
      const spellings = [
        `${verb}_it`,
        `${verb}It`,
        `${verb}-it`,
        `${capital}It`,
        `crm.${verb}_it`,
        `crm${capital}`,
        `${verb.toUpperCase()}_IT`,
        `${verb}V2`,
        `re${verb}_it`,
        `it_${verb}`,
      ];
      for (const name of spellings) {
        const annotations = { readOnlyHint: true };
        expect(isGuarded({ name, effect: "reads", annotations }), name).toBe(true);
      }
    }
  });

  it("does not do so by a noun that is spelled alike", () => {
    const nouns = [
      "list_updates",
      "get_postcode",
      "get_sender",
      "find_writer",
      "get_order",
      "search_calls",
      "list_pay",
    ];
    for (const name of nouns) expect(isGuarded({ name }), name).toBe(false);
  });

  it("counts a verb that leads it, behind the name of a service too", () => {
    for (const name of ["refund_payment", "cancelOrder", "slack_reply", "stripe.refund", "s3_put"]) {
      expect(isGuarded({ name, annotations: { readOnlyHint: true } }), name).toBe(true);
    }
  });

  it("counts a verb that is joined to another one, which it may be only if both look", () => {
    for (const name of ["fetch_and_pay", "find_and_replace", "getThenEmail", "validate-or-submit", "get_and_burn"]) {
      expect(isGuarded({ name }), name).toBe(true);
    }
    for (const name of ["find_and_list", "list_orders_and_items", "search_black_and_white"]) {
      expect(isGuarded({ name }), name).toBe(false);
    }
  });

  it("is cut into words", () => {
    expect(wordsOf("sendHTTPRequest")).toEqual(["send", "http", "request"]);
    expect(wordsOf("s3-putObject v2")).toEqual(["s3", "put", "object", "v2"]);
    expect(wordsOf("__")).toEqual([]);
  });
});

describe("what speaks for an effect", () => {
  it("is a declared effect, an interface that it wraps, a house's own one too, or a hint", () => {
    const tools: readonly ClassifiableTool[] = [
      { name: "get_quote", effect: "writes" },
      { name: "get_quote", effect: "irreversible" },
      { name: "get_quote", wraps: "Stripe" },
      { name: "get_quote", wraps: ["our internal ledger"] },
      { name: "get_quote", annotations: { readOnlyHint: false } },
      { name: "get_quote", annotations: { readOnlyHint: true, destructiveHint: true } },
      { name: "slack" },
      { name: "discord_webhook", annotations: { readOnlyHint: true } },
    ];
    for (const tool of tools) expect(classify(tool), JSON.stringify(tool)).toMatchObject({ sideEffect: true });
  });

  it("outweighs every hint: none is trusted to skip a guard that the name calls for", () => {
    const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
    const { sideEffect, reasons } = classify({ name: "create-issue", annotations });
    expect({ sideEffect, reasons: reasons[0] }).toEqual({
      sideEffect: true,
      reasons: `its name says "create", which outweighs its read-only hint`,
    });
  });

  it("is also that nothing says it only reads", () => {
    expect(classify({ name: "weather" })).toMatchObject({
      sideEffect: true,
      effect: "irreversible",
      policy: "review",
      reasons: ["nothing says that it only reads", expect.stringContaining("closed")],
    });
    expect(isGuarded({ name: "weather", annotations: { idempotentHint: true } })).toBe(true);
  });

  it("is absent from a reader, which is left alone", () => {
    const readers: readonly ClassifiableTool[] = [
      { name: "weather", effect: "reads" },
      { name: "add_numbers_up", effect: "none" },
      { name: "weather", annotations: { readOnlyHint: true } },
      { name: "get_weather" },
      { name: "searchIssues" },
      { name: "slack_search" },
      { name: "weather", effect: "reads", wraps: "Stripe" },
    ];
    const guarded = readers.filter(isGuarded).map(({ name }) => name);
    expect(guarded).toEqual(["add_numbers_up"]);
    expect(classify({ name: "get_weather" })).toEqual({
      sideEffect: false,
      effect: "reads",
      mechanism: null,
      policy: null,
      reasons: [`its name says "get"`],
      advice: [],
    });
  });
});

describe("the mechanism", () => {
  it("is the first that is offered, in the order in which to ask", () => {
    const order = ["downstream_key", "content", "transaction", "store", "saga"] as const;
    for (const [index, mechanism] of order.entries()) {
      const offered = order.slice(index).reverse();
      expect(classify({ name: "pay", mechanism: offered }).mechanism).toBe(mechanism);
    }
  });

  it("decides whether a call in doubt fires again; without one it is closed", () => {
    const policies = (["downstream_key", "content", "transaction", "store", "saga", "none"] as const).map(
      (mechanism) => classify({ name: "pay", effect: "irreversible", mechanism }).policy,
    );
    expect(policies).toEqual(["refire", "refire", "refire", "review", "review", "review"]);
    expect(classify({ name: "pay" }).policy).toBe("review");
  });

  it("gives way to a look-up, and to the tool's own word", () => {
    const reconcile = () => ({ unknown: true }) as const;
    expect(classify({ name: "pay", mechanism: "saga", reconcile }).policy).toBe("reconcile");
    expect(classify({ name: "pay", mechanism: "downstream_key", reconcile }).policy).toBe("reconcile");
    expect(classify({ name: "pay", mechanism: "saga", reconcile, policy: "review" }).policy).toBe("review");
  });

  it("is advised where the service takes keys and the tool does not say that it passes one on", () => {
    const { mechanism, advice } = classify({ name: "charge", effect: "irreversible", wraps: "Stripe" });
    expect(mechanism).toBe("none");
    expect(advice).toContainEqual(expect.stringContaining("Stripe takes idempotency keys"));
    const passing = { name: "charge", effect: "irreversible", wraps: "Stripe", mechanism: "downstream_key" } as const;
    expect(classify(passing).advice).toEqual([]);
  });
});

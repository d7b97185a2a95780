import { describe, expect, it } from "vitest";
import { KeyLocks } from "../../src/level/key-locks.js";

describe("the lock of a document", () => {
  it("runs a section at once when nobody holds the lock, and is gone afterwards", () => {
    const locks = new KeyLocks();
    const ran: number[] = [];
    locks.run(["a"], () => {
      expect(locks.size).toBe(1);
      ran.push(1);
    });
    expect(ran).toEqual([1]);
    expect(locks.size).toBe(0);
  });

  it("makes a section that is begun within another wait for it, first come, first served", () => {
    const locks = new KeyLocks();
    const order: string[] = [];
    locks.run(["a"], () => {
      locks.run(["a"], () => order.push("second"));
      locks.run(["a"], () => order.push("third"));
      locks.run(["b"], () => order.push("other document"));
      order.push("first");
    });
    expect(order).toEqual(["other document", "first", "second", "third"]);
    expect(locks.size).toBe(0);
  });

  it("takes the locks of several documents one after the other and waits for each", () => {
    const locks = new KeyLocks();
    const order: string[] = [];
    locks.run(["b"], () => {
      locks.run(["a", "b", "c"], () => order.push("batch"));
      locks.run(["a"], () => order.push("behind the batch"));
      order.push("holder");
    });
    expect(order).toEqual(["holder", "batch", "behind the batch"]);
    expect(locks.size).toBe(0);
  });

  it("is released when the section throws", () => {
    const locks = new KeyLocks();
    expect(() =>
      locks.run(["a"], () => {
        throw new Error("in the section");
      }),
    ).toThrow("in the section");
    expect(locks.size).toBe(0);
    let ran = false;
    locks.run(["a"], () => {
      ran = true;
    });
    expect(ran).toBe(true);
  });
});

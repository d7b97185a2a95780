import { expect, test } from "vitest";
import { WaitingEvents } from "../../server/waiting-events.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import { EventReader } from "../server/events.js";
import { RawConnection } from "../server/http.js";
import { startServer } from "../server/test-server.js";

/** Events that wait, and a list of what has happened to them. */
function makeEvents(bytesMax = 100, answerMs = 120_000) {
  const clock = new ManualClock();
  const events = new WaitingEvents({ clock, bytesMax, answerMs });
  const happened: string[] = [];
  const write = (name: string): void => events.whenRoom(() => happened.push(name));
  const wait = (name: string, bytes: number): (() => void) => events.wait(bytes, () => happened.push(`cut ${name}`));
  return { clock, events, happened, write, wait };
}

test("with room an event is written at once, and the last one may go beyond the bound", () => {
  const { events, happened, write, wait } = makeEvents();
  write("a");
  wait("a", 99);
  write("b");
  wait("b", 1000);
  expect(happened).toEqual(["a", "b"]);
  expect(events.bytes).toBe(1099);
});

test("without room events are written later, in the order in which they came, as far as there is room", () => {
  const { events, happened, wait, write } = makeEvents();
  const taken = wait("first", 100);
  for (const name of ["a", "b", "c"]) {
    events.whenRoom(() => {
      happened.push(name);
      if (name === "b") wait(name, 100);
    });
  }
  expect(happened).toEqual([]);
  taken();
  expect(happened).toEqual(["a", "b"]);
  // Nobody overtakes: c came before d.
  write("d");
  expect(happened).toEqual(["a", "b"]);
  expect(events.bytes).toBe(100);
});

test("one that comes while others wait for their turn does not overtake them, though there is room for it", () => {
  const { happened, events, wait } = makeEvents();
  const taken = wait("first", 100);
  events.whenRoom(() => {
    happened.push("a");
    // There is room here, and b has waited for it.
    events.whenRoom(() => happened.push("late"));
  });
  events.whenRoom(() => happened.push("b"));
  taken();
  expect(happened).toEqual(["a", "b", "late"]);
});

test("while others wait for room, readers who have not taken theirs after a second are cut, the longest waiting first", () => {
  const { clock, events, happened, wait, write } = makeEvents();
  wait("oldest", 60);
  wait("older", 60);
  clock.advance(500);
  wait("newer", 60);
  write("a");
  clock.advance(999);
  expect(happened).toEqual([]);
  clock.advance(1);
  // One is not enough for room, the second is; the third has its second still to go, and would not have to.
  expect(happened).toEqual(["cut oldest", "cut older", "a"]);
  expect([events.bytes, events.cut]).toEqual([60, 2]);
  clock.advance(100_000);
  expect(happened.length).toBe(3);
});

test("readers who began less than a second ago are not cut before their second is over", () => {
  const { clock, happened, wait, write } = makeEvents();
  wait("old", 10);
  clock.advance(1500);
  write("b");
  wait("large", 100);
  write("c");
  clock.advance(999);
  expect(happened).toEqual(["b"]);
  clock.advance(1);
  expect(happened).toEqual(["b", "cut old", "cut large", "c"]);
});

test("while nobody waits for room a slow reader has its whole time, and not a millisecond more", () => {
  const { clock, events, happened, wait } = makeEvents();
  wait("slow", 1_000_000);
  clock.advance(119_999);
  expect(happened).toEqual([]);
  clock.advance(1);
  expect(happened).toEqual(["cut slow"]);
  expect([events.bytes, events.cut]).toEqual([0, 1]);
});

test("what was taken is not cut, and what was cut is given back once", () => {
  const { clock, events, happened, wait } = makeEvents();
  const taken = wait("quick", 60);
  taken();
  taken();
  expect(events.bytes).toBe(0);
  const late = wait("slow", 60);
  clock.advance(120_000);
  late();
  expect(happened).toEqual(["cut slow"]);
  expect([events.bytes, events.cut, clock.timerCount]).toEqual([0, 1, 0]);
});

test("after finish nobody is looked for any more, and no timer of the search is left", () => {
  const { clock, events, happened, wait, write } = makeEvents();
  const taken = wait("slow", 100);
  write("a");
  expect(clock.timerCount).toBe(2);
  events.finish();
  expect(clock.timerCount).toBe(1);
  clock.advance(10_000);
  expect(happened).toEqual([]);
  taken();
  expect(happened).toEqual(["a"]);
  expect(clock.timerCount).toBe(0);
});

test("at the bound the server cuts the reader that takes nothing and not the one that reads, and neither misses an event", async () => {
  const { port, store, clock, request } = await startServer({ bounds: { waitingEventBytesMax: 100_000 } });
  const numbers = async () =>
    ((await request("GET", "/v1/stats")).json as { server: { streams: number; waiting_event_bytes: number } }).server;
  const slow = new RawConnection(port);
  slow.socket.pause();
  slow.write("GET /v1/changes?since=0 HTTP/1.1\r\nhost: localhost\r\n\r\n");
  await expect.poll(numbers, { timeout: 30_000 }).toMatchObject({ streams: 1 });
  // More than the system's buffers take, so that one event stays.
  const text = "x".repeat(1_000_000);
  for (let n = 0; n < 40; n++) await store.put({ shape: "note", id: "a", set: { n, text } });
  await expect.poll(async () => (await numbers()).waiting_event_bytes, { timeout: 30_000 }).toBeGreaterThan(1_000_000);
  const opening = EventReader.open(port, "/v1/changes");
  await expect.poll(numbers, { timeout: 30_000 }).toMatchObject({ streams: 2 });
  // There is no room for its first event; nobody has had the slow one's for a second yet.
  clock.advance(999);
  expect(await numbers()).toMatchObject({ streams: 2 });
  clock.advance(1);
  const quick = await opening;
  expect((await quick.next())?.event).toBe("bookmark");
  await expect.poll(numbers, { timeout: 30_000 }).toMatchObject({ streams: 1, waiting_event_bytes: 0 });
  for (let n = 40; n < 45; n++) {
    await store.put({ shape: "note", id: "a", set: { n, text } });
    expect((await quick.nextCommit()).revision).toBe(n + 1);
  }
  clock.advance(10_000);
  expect(await numbers()).toMatchObject({ streams: 1 });
  expect((await request("GET", "/metrics")).text).toMatch(/^oncekv_http_readers_cut_total 1$/m);
  quick.close();

  slow.socket.resume();
  // An event that is not whole is none.
  const whole = (await slow.untilClosed()).split("\n\n").slice(0, -1).join("\n\n");
  const revisions = [...whole.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id)).slice(1);
  expect(revisions).toEqual(revisions.map((_, n) => n + 1));
  expect(revisions.length).toBeLessThan(40);
  const again = await EventReader.open(port, "/v1/changes?since=0", { "last-event-id": `${revisions.length}` });
  for (let n = revisions.length; n < 45; n++) expect((await again.nextCommit()).revision).toBe(n + 1);
  again.close();
});
